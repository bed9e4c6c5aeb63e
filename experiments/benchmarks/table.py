"""From measurements to the lines of a table. What the project set out to reach stands beside what was measured, met or not."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from experiments.benchmarks.rows import Sizes

Samples = Mapping[str, Sequence[float]]


class Line(NamedTuple):
    """One line of the table."""

    what: str
    value: float | None = None
    unit: str = ""
    spread: tuple[float, float] | None = None  # the smallest and the largest repeat
    reach: str = ""
    met: bool | None = None
    note: str = ""

    def __str__(self) -> str:
        value = "" if self.value is None else f"{_number(self.value)} {self.unit}"
        spread = " - ".join(_number(x) for x in self.spread) if self.spread else ""
        verdict = {None: "", True: "ok", False: "missed"}[self.met]
        return _columns(self.what, value, spread, self.reach, verdict, self.note)


def _columns(what: str, value: str, spread: str, reach: str, verdict: str = "", note: str = "") -> str:
    return f"{what:<46}{value:<13}{spread:<17}{reach:<11}{verdict:<8}{note}".rstrip()


HEADER = _columns("", "median", "range", "reach")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _nanoseconds(what: str, samples: Sequence[float], note: str = "") -> Line:
    return Line(what, statistics.median(samples), "ns", (min(samples), max(samples)), note=note)


def _times(what: str, of: Sequence[float], to: Sequence[float], least: float | None = None, note: str = "") -> Line:
    """The ratio of the medians; its range is that of the ratios of neighbouring repeats."""
    value, each = statistics.median(of) / statistics.median(to), [x / y for x, y in zip(of, to, strict=False)]
    reach, met = ("", None) if least is None else (f">= {least:g} x", value >= least)
    return Line(what, value, "x", (min(each), max(each)), reach, met, note)


def _flat(what: str, values: Sequence[float]) -> Line:
    value = max(values) / min(values)
    return Line(f"  {what}, largest over smallest", value, "x", reach="<= 1.2 x", met=value <= 1.2)


# ---- one function for each measurement ---------------------------------------------------------------------------------


def compilation(seconds: Sequence[tuple[float, float]], sizes: Sizes) -> Iterator[Line]:
    """Compiling a tile."""
    wall, cpu = zip(*seconds, strict=True)
    value, note = statistics.median(wall), f"CPU time {statistics.median(cpu):.2f} s"
    yield Line("compile a tile, nothing cached, wall", value, "s", (min(wall), max(wall)), "< 2 s", value < 2.0, note)


_YARDSTICKS = {
    "idiomatic": ("idiomatic JAX: vmap, scan, jax.random, top_k", "  engine faster than idiomatic JAX by", 12.0),
    "scalar": ("compiled scalar loop: Numba", "  engine faster than the scalar loop by", 5.0),
}


def workload(result: Mapping[str, Any], sizes: Sizes) -> Iterator[Line]:
    """The engine against the yardsticks."""
    samples, regret = result["nanoseconds"], result["regret"]

    def note(name):
        mean, error = regret[name]
        return f"regret {mean:.2f} +- {error:.2f}"

    yield _nanoseconds("engine, per lane-round", samples["engine"], note("engine"))
    for name, (what, faster, least) in _YARDSTICKS.items():
        if name in samples:
            yield _nanoseconds(what, samples[name], note(name))
            yield _times(faster, samples[name], samples["engine"], least)
        else:
            yield Line(what, note=f"not run: {result['missing'][name]}; pip install 'jaxbandits[bench]'")
    met = result["gap"] <= 4.0
    yield Line(f"  largest difference in law, T = {sizes.horizon:,}", result["gap"], "s.e.", reach="<= 4", met=met)


def arms(result: Mapping[str, Any], sizes: Sizes) -> Iterator[Line]:
    """K-armed policies against plain JAX."""
    samples = result["nanoseconds"]
    for name, gap in result["gap"].items():
        yield _nanoseconds(f"{name}, 20 arms", samples[name])
        yield _nanoseconds("  the same in idiomatic JAX", samples[f"{name}, idiomatic"])
        yield _times("  engine faster by", samples[f"{name}, idiomatic"], samples[name], 10.0)
        yield Line(f"  difference in law, T = {sizes.horizon:,}", gap, "s.e.", reach="<= 4", met=gap <= 4.0)


_LINEAR = {"5": 5.0, "10": 5.0, "20": 3.0}


def linear(result: Mapping[str, Any], sizes: Sizes) -> Iterator[Line]:
    """LDP-LinUCB against plain JAX."""
    samples = result["nanoseconds"]
    for dim, gap in result["gap"].items():
        yield _nanoseconds(f"ldp_linucb, 20 actions, {dim} features", samples[dim])
        yield _nanoseconds("  the same in idiomatic JAX, with LAPACK", samples[f"{dim}, idiomatic"])
        yield _times("  engine faster by", samples[f"{dim}, idiomatic"], samples[dim], _LINEAR.get(dim))
        yield Line(f"  difference in law, T = {sizes.linear_horizon:,}", gap, "s.e.", reach="<= 4", met=gap <= 4.0)


def federated_stretches(result: Mapping[str, Any], sizes: Sizes) -> Iterator[Line]:
    """A federated bandit a stretch at a time."""
    samples = result["nanoseconds"]
    yield _nanoseconds(f"cdp_mab, {sizes.num_agents} agents, T = {sizes.federated_horizon:,}, by stretch", samples["engine"])
    yield _nanoseconds("  the same in NumPy, an epoch at a time", samples["numpy"])
    yield _times("  engine faster by", samples["numpy"], samples["engine"])
    yield Line("  difference in law", result["gap"], "s.e.", reach="<= 4", met=result["gap"] <= 4.0)
    yield _nanoseconds(f"  slot by slot, T = {sizes.slot_horizon:,}", samples["slots"])
    yield _times("  a lane-round by stretch is cheaper by", samples["slots"], samples["engine"])


def federated_study(seconds: float, sizes: Sizes) -> Iterator[Line]:
    """A whole study."""
    yield Line(f"study of {sizes.whole_lanes:,} such lanes, compiling and all, wall", seconds, "s", reach="< 120 s", met=seconds < 120.0)


def compile_linear(seconds: Sequence[tuple[float, float]], sizes: Sizes) -> Iterator[Line]:
    """Compiling a tile of LDP-LinUCB."""
    wall, cpu = zip(*seconds, strict=True)
    value, note = statistics.median(wall), f"CPU time {statistics.median(cpu):.2f} s"
    what = f"compile ldp_linucb, {max(sizes.dims)} features, wall"
    yield Line(what, value, "s", (min(wall), max(wall)), "< 5 s", value < 5.0, note)


def threads(samples: Samples, sizes: Sizes) -> Iterator[Line]:
    """Two workers against one."""
    what = f"two threads over one, {sizes.thread_tiles} tiles, wall"
    yield _times(what, samples["1"], samples["2"], 1.7)


def lanes(samples: Samples, sizes: Sizes) -> Iterator[Line]:
    """Flat in the number of lanes."""
    for count, values in samples.items():
        yield _nanoseconds(f"{int(count):,} lanes, T = {sizes.lane_horizon:,}", values)
    yield _flat("time over lanes", [statistics.median(s) for s in samples.values()])


def rounds(samples: Samples, sizes: Sizes) -> Iterator[Line]:
    """Flat in the horizon."""
    for horizon, values in samples.items():
        yield _nanoseconds(f"T = {int(horizon):,}, {sizes.lanes} lanes", values)
    yield _flat("time over T", [statistics.median(s) for s in samples.values()])


def memory(megabytes: Mapping[str, float | None], sizes: Sizes) -> Iterator[Line]:
    """Flat memory."""
    for horizon, peak in megabytes.items():
        yield Line(f"peak memory, T = {int(horizon):,}", peak, "MB", note="this platform does not tell" if peak is None else "")
    peaks = [peak for peak in megabytes.values() if peak is not None]
    if peaks:
        yield _flat("memory over T", peaks)


_MOST = {"first_dp_ucb1": 2.2, "first_dp_kl_ucb": 4.0, "first_ldp_kl_ucb": 4.0, "cascade_kl_ucb": 4.0}
"""What a policy may cost, as a multiple of workload A."""


def costs(samples: Samples, sizes: Sizes) -> Iterator[Line]:
    """What else costs, as a multiple of workload A."""
    for name, values in samples.items():
        if name != "A":
            line = _times(f"{name} over A", values, samples["A"], note=f"{statistics.median(values):.3g} ns")
            most = _MOST.get(name)
            yield line if most is None or line.value is None else line._replace(reach=f"<= {most:g} x", met=line.value <= most)


LINES: Mapping[str, Callable[[Any, Sizes], Iterator[Line]]] = {
    "compile": compilation,
    "workload": workload,
    "threads": threads,
    "lanes": lanes,
    "rounds": rounds,
    "memory": memory,
    "arms": arms,
    "linear": linear,
    "compile_linear": compile_linear,
    "federated_stretches": federated_stretches,
    "federated_study": federated_study,
    "policies": costs,
    "semi_bandit_costs": costs,
    "selection": costs,
}
"""From a measurement to its lines, by name, in the order of the table."""
