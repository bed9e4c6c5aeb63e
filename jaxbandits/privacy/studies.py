"""The privacy table of a study: what each policy guarantees at each grid point, and what that comes to for a user who comes again."""

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from jaxbandits import validate
from jaxbandits.privacy.ledger import MOST, Budget, covered, spent_on

LEVELS = ("claim", "guaranteed_epsilon", "guaranteed_delta", "user_epsilon", "user_delta")
SAID = ("status", "trust", "relation", "sensitivity", "flaw")
"""What a claim says beside its privacy level."""


def _said(claims: dict[str, list[dict[str, Any]]], point: xr.DataArray) -> dict[str, Any]:
    """The claim of a policy at a grid point."""
    for claim in claims.get(str(point["policy"].item()), []):
        if all(_same(point.coords[axis].item(), value) for axis, value in claim["at"].items() if axis in point.coords):
            return claim
    raise ValueError(f"dataset must keep the names of its policies and grid; {point['policy'].item()!r} has no claim")


def _same(label: Any, value: Any) -> bool:
    return str(label) == str(value) or (isinstance(value, float | int) and isinstance(label, float | int) and label == value)


def _spent_at(each: Budget, trust: str, rounds: int, delta: float | None) -> Budget:
    """``spent_on``; infinite at a delta below what the rounds' own add up to."""
    local = delta if trust == "local" else None
    if local is not None and not covered(each, rounds, local):
        return Budget(math.inf, local)
    return spent_on(each, trust, rounds, local)


def table(dataset: xr.Dataset, *, rounds: int = 1, delta: float | None = None) -> pd.DataFrame:
    """The privacy table of a study: a row for each policy and grid point.

    Its columns: the policy and the grid axes; ``claim``, as the legends have it; ``guaranteed_epsilon`` and ``guaranteed_delta``, of one
    round of one user, NaN where there is no guarantee; ``user_epsilon`` and ``user_delta``, what is ``spent`` on a user who takes part in
    ``rounds`` rounds, infinite where the claim alone says nothing at this delta; ``status``, sound, calibrated, paper or non-private;
    ``trust``, local, agent, central, joint or none; ``relation``, who are neighbours; ``sensitivity``, what the noise is scaled to;
    ``flaw``, why there is no guarantee. For a federated policy a user is the one whose reward an agent gets in a round.
    A grid axis named like one of these columns is marked as one.

    Args:
      dataset: what ``run`` returned, or a part of it.
      rounds: in which the user takes part, at least 1.
      delta: of all rounds together, for the policies under local privacy; by default epsilons and deltas add up.

    Raises:
      ValueError: if an argument is out of range, or the dataset is not one of a study.
    """
    if not isinstance(dataset, xr.Dataset) or "claims" not in dataset.attrs or not {"guaranteed_epsilon", "policy"} <= set(dataset.coords):
        raise ValueError(f"dataset must be what run returned, with its attributes and coordinates; got {validate.short(dataset)}")
    rounds = validate.size("rounds", rounds, 1, MOST)
    if delta is not None:
        validate.scalar("delta", delta, "at least 0 and below 1", lambda d: 0 <= d < 1)
    claims, labels, rows = json.loads(dataset.attrs["claims"]), dataset["claim"], []
    axes = [str(d) for d in labels.dims if d != "policy"]
    for place in np.ndindex(labels.shape):
        point = labels[place]
        said = _said(claims, point)
        each = Budget(float(point["guaranteed_epsilon"]), float(point["guaranteed_delta"]))
        user = each if math.isnan(each.epsilon) else _spent_at(each, said["trust"], rounds, delta)
        rows.append(
            {
                "policy": str(point["policy"].item()),
                **{f"{axis} (grid)" if axis in (*SAID, *LEVELS) else axis: point[axis].item() for axis in axes},
                "claim": str(point.item()),
                "guaranteed_epsilon": each.epsilon,
                "guaranteed_delta": each.delta,
                "user_epsilon": user.epsilon,
                "user_delta": user.delta,
                **{name: said[name] for name in SAID},
            }
        )
    return pd.DataFrame(rows)
