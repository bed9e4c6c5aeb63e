"""What figures show of a run: which policies, with which bands, labels and styles.

Every label says what its policy claims: an epsilon only where it is a guarantee, else "no guarantee" or "non-private".
"""

import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
import xarray as xr
from matplotlib.ticker import EngFormatter, FuncFormatter

from jaxbandits import validate
from jaxbandits.core import without_epsilon

STYLE: dict[Any, Any] = dict(matplotlib.rc_params_from_file(pathlib.Path(__file__).with_name("style.mplstyle"), use_default_template=False))
"""Settings for ``plt.rc_context``, those of ``plt.style.use("jaxbandits.style")``."""
COLOURS: tuple[str, ...] = tuple(STYLE["axes.prop_cycle"].by_key()["color"])
"""Colours that stay apart for the colour-blind."""


_PREFIXED = EngFormatter(sep="")


@FuncFormatter
def counted(value: float, place: int | None = None) -> str:
    """The text of a tick: 20k for 20,000, but 0.5 and not 500m."""
    return f"{value:g}" if abs(value) < 1 else _PREFIXED(value, place)


def label(dataset: xr.Dataset, policy: str) -> str:
    """The policy with its claim, for a legend."""
    claims = np.unique(dataset["claim"].sel(policy=policy).values.astype(str))
    if len(claims) == 1:
        return f"{policy} ({claims[0]})"
    kinds = {without_epsilon(claim) for claim in claims}
    return f"{policy} ({' / '.join(sorted(kinds))})"


def policies_of(dataset: xr.Dataset, policies: Iterable[str] | None) -> list[str]:
    """The policies to show, in order; all by default."""
    known = [str(p) for p in np.atleast_1d(dataset["policy"].values)]
    validate.instance("policies", [] if policies is None else policies, Iterable, f"names among {', '.join(known)}")
    wanted = known if policies is None else list(policies)
    for policy in wanted:
        validate.one_of("policies", policy, known)
    return wanted


def checked(dataset: xr.Dataset) -> xr.Dataset:
    """What ``run`` returned, or a selection of it."""
    if not isinstance(dataset, xr.Dataset) or not {"regret", "policy", "claim"} <= {*dataset.variables}:
        raise ValueError(f"dataset must be what run returned, with its coordinates; got {validate.short(dataset)}")
    return dataset


def selected(dataset: xr.Dataset, keep: Sequence[str]) -> xr.Dataset:
    """The dataset with a policy dimension, once every grid axis but those in ``keep`` has been chosen."""
    dataset = checked(dataset)
    if "policy" not in dataset.dims:  # one policy was selected
        dataset = dataset.reset_coords("claim").expand_dims("policy").set_coords("claim")
    left = [d for d in dataset["regret"].dims if d not in ("policy", "seed", "round", *keep)]
    if left:
        values = [v.item() if hasattr(v, "item") else v for v in dataset[left[0]].values[:8]]
        raise ValueError(f"dataset must have one value of {left[0]!r} chosen, as by dataset.sel({left[0]}={values[0]!r}); it has {values}")
    return dataset


_BAND = "a function of values with a seed dimension that gives a Dataset of mean, low and high, such as stats.normal_band"


def style_of(styles: Any, policy: str, **usual: Any) -> dict[str, Any]:
    """The line arguments of a policy."""
    styles = {} if styles is None else styles
    validate.instance("styles", styles, Mapping, "a mapping from policies to line arguments")
    own = styles.get(policy, {})
    validate.instance(f"styles[{policy!r}]", own, Mapping, "a mapping of line arguments")
    return {**usual, **own}


def lines_of(dataset: xr.Dataset, values: xr.DataArray, policies: Any, band: Any, styles: Any, **usual: Any) -> list[tuple[Any, str, Any]]:
    """The band, label and style of each policy."""
    lines = []
    for i, policy in enumerate(policies_of(dataset, policies)):
        found = validate.called("band", band, _BAND, values.sel(policy=policy))
        if not isinstance(found, xr.Dataset) or not {"mean", "low", "high"} <= {*found.data_vars}:
            raise ValueError(f"band must be {_BAND}; it gave {validate.short(found)}")
        lines.append((found, label(dataset, policy), style_of(styles, policy, color=COLOURS[i % len(COLOURS)], **usual)))
    return lines
