"""From tables of lanes to a labelled Dataset, with the claims of the policies."""

import importlib.metadata
import itertools
import json
from typing import Any

import numpy as np
import xarray as xr

from jaxbandits.core import Claim
from jaxbandits.study import Plan, Study

GUARANTEE = ("guaranteed_epsilon", "guaranteed_delta")
"""Coordinates: what each policy guarantees at each grid point, NaN if nothing."""


def assemble(study: Study, results: dict[str, dict[str, np.ndarray]]) -> xr.Dataset:
    """The labelled Dataset of a study, from {policy: {quantity: [points, seeds, round, ...]}}."""
    coordinates = {axis: list(values) for axis, values in study.axes.items()}
    coordinates |= {"seed": np.arange(study.seeds), "round": np.asarray(study.rounds)}
    per_policy = []
    for name, values in results.items():
        plan, data = study.plans[name], {}
        for quantity, value in values.items():
            extra = [f"{quantity}_{i}" for i in range(value.ndim - 3)]
            shaped = value.reshape((*plan.shape, *value.shape[1:]))
            data[quantity] = ([*plan.axes, "seed", "round", *extra], shaped)
        used = {k: v for k, v in coordinates.items() if k in (*plan.axes, "seed", "round")}
        data["claim"] = (list(plan.axes), np.asarray([claim.label() for claim in plan.claims]).reshape(plan.shape))
        promised = np.asarray([claim.guarantee() if claim.guaranteed else (np.nan, np.nan) for claim in plan.claims])
        for part_of, promise in zip(GUARANTEE, promised.T, strict=True):
            data[part_of] = (list(plan.axes), promise.reshape(plan.shape))
        part = xr.Dataset(data, coords=used)
        full = {axis: coordinates[axis] for axis in study.axes if axis not in plan.axes}
        per_policy.append(part.expand_dims({"policy": [name], **full}))
    dataset = xr.concat(per_policy, dim="policy", join="outer", coords="minimal", compat="override", data_vars="all")
    dataset = dataset.set_coords(["claim", *GUARANTEE]).transpose("policy", *study.axes, "seed", "round", ...)
    dataset["regret"].attrs = {"long_name": "cumulative expected regret", "units": "reward"}
    if "realised_regret" in dataset:
        dataset["realised_regret"].attrs = {"long_name": "cumulative realised regret", "units": "reward"}
    dataset["round"].attrs = {"long_name": "round t"}
    dataset["guaranteed_epsilon"].attrs = {"long_name": "epsilon of one round of one user; NaN if there is no guarantee"}
    dataset.attrs = {
        "study": json.dumps(study.describe()),
        "claims": json.dumps(claims(study)),
        "versions": json.dumps({p: importlib.metadata.version(p) for p in ("jaxbandits", "jax", "jaxlib", "numpy", "xarray")}),
    }
    return dataset


def claims(study: Study) -> dict[str, list[dict[str, Any]]]:
    """What each policy claims at each of its grid points, as JSON types.

    ``at`` is the grid point. The epsilon of a claim without a guarantee is called ``nominal_epsilon``.
    """
    return {
        name: [{"at": point, **_claim(claim)} for point, claim in zip(_points(study, plan), plan.claims, strict=True)]
        for name, plan in study.plans.items()
    }


def _points(study: Study, plan: Plan) -> list[dict[str, Any]]:
    """The labels of each grid point of a policy, in the order of its claims, as JSON types."""
    labels = [[v.item() if hasattr(v, "item") else v for v in study.axes[axis]] for axis in plan.axes]
    return [dict(zip(plan.axes, point, strict=True)) for point in itertools.product(*labels)]


def _claim(claim: Claim) -> dict[str, Any]:
    prefix = "" if claim.guaranteed else "nominal_"
    parameters = {} if claim.status == "non-private" else {f"{prefix}epsilon": float(claim.epsilon), f"{prefix}delta": float(claim.delta)}
    return {
        "label": claim.label(),
        "status": claim.status,
        "trust": claim.trust,
        "relation": claim.relation,
        "sensitivity": claim.sensitivity,
        **{k: v if np.isfinite(v) else repr(v) for k, v in parameters.items()},
        "noise_scale": float(claim.noise_scale),
        "flaw": claim.flaw,
    }
