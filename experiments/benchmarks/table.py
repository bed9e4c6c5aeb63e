"""From measurements to the lines of a table. What the project set out to reach stands beside what was measured, met or not."""

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from .jobs import Sizes
from .versus import ENGINE

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
    wanted: Literal["more", "less"] = "less"

    def __str__(self) -> str:
        value = "" if self.value is None else f"{number(self.value)} {self.unit}"
        spread = " - ".join(number(x) for x in self.spread) if self.spread else ""
        verdict = {None: "", True: "ok", False: "missed"}[self.met]
        return _columns(self.what, value, spread, self.reach, verdict, self.note)


def _columns(what: str, value: str, spread: str, reach: str, verdict: str = "", note: str = "") -> str:
    return f"{what:<50}{value:<13}{spread:<17}{reach:<11}{verdict:<8}{note}".rstrip()


HEADER = _columns("", "median", "range", "reach")


def number(value: float) -> str:
    """Three digits, and all digits of what is large."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _nanoseconds(what: str, samples: Sequence[float], note: str = "") -> Line:
    return Line(what, statistics.median(samples), "ns", (min(samples), max(samples)), note=note)


def _times(what: str, of: Sequence[float], to: Sequence[float], note: str = "") -> Line:
    """The ratio of the medians; its range is that of the ratios of neighbouring repeats."""
    value, each = statistics.median(of) / statistics.median(to), [x / y for x, y in zip(of, to, strict=False)]
    return Line(what, value, "x", (min(each), max(each)), note=note)


def _faster(what: str, of: Sequence[float], to: Sequence[float], least: float | None = None) -> Line:
    """As many times as fast, of which more is better."""
    line = _times(what, of, to)._replace(wanted="more")
    return line if least is None or line.value is None else line._replace(reach=f">= {least:g} x", met=line.value >= least)


def _flat(what: str, values: Sequence[float]) -> Line:
    value = max(values) / min(values)
    return Line(f"  {what}, largest over smallest", value, "x", reach="<= 1.2 x", met=value <= 1.2)


# ---- one function for each measurement ---------------------------------------------------------------------------------


def compilation(seconds: Sequence[tuple[float, float]], sizes: Sizes) -> Iterator[Line]:
    """Compiling a tile."""
    wall, cpu = zip(*seconds, strict=True)
    value, note = statistics.median(wall), f"CPU time {statistics.median(cpu):.2f} s"
    yield Line("compile a tile, nothing cached, wall", value, "s", (min(wall), max(wall)), "< 2 s", value < 2.0, note)


WAYS = {
    "idiomatic": ("idiomatic JAX", "idiomatic JAX"),
    "scalar": ("scalar loop, Numba", "the scalar loop"),
    "pymab": ("PyMAB: Rust, every round recorded and checked", "PyMAB"),
    "numpy": ("NumPy, an epoch at a time", "NumPy"),
}
"""The yardsticks, by their names in measurements: what they are, and in short."""


def _versus(what: str, result: Mapping[str, Any], least: Mapping[str, float] | None = None) -> Iterator[Line]:
    """The engine against yardsticks, the least it should be faster by, and whether all have the same law."""
    samples = result["nanoseconds"]

    def note(name):
        mean, error = result["regret"][name]
        return f"regret {mean:.2f} +- {error:.2f}"

    yield _nanoseconds(what, samples[ENGINE], note(ENGINE))
    for name, (way, short) in WAYS.items():
        if name in samples:
            yield _nanoseconds(f"  {way}", samples[name], note(name))
            yield _faster(f"  engine faster than {short} by", samples[name], samples[ENGINE], (least or {}).get(name))
        elif name in result["missing"]:
            yield Line(f"  {way}", note=f"not run: {result['missing'][name]}; pip install 'jaxbandits[bench]'")
    yield Line("  largest difference in law", result["gap"], "s.e.", reach="<= 4", met=result["gap"] <= 4.0)


def workload(result: Mapping[str, Any], sizes: Sizes) -> Iterator[Line]:
    """Workload A."""
    yield from _versus(f"A: engine, T = {sizes.horizon:,}", result, {"idiomatic": 12.0, "scalar": 5.0})


def central(result: Mapping[str, Any], sizes: Sizes) -> Iterator[Line]:
    """Workload B."""
    yield from _versus(f"B: engine, T = {sizes.horizon:,}", result)


def arms(results: Mapping[str, Any], sizes: Sizes) -> Iterator[Line]:
    """K-armed policies."""
    for name, result in results.items():
        yield from _versus(f"{name}, 20 arms, T = {sizes.horizon:,}", result, {"idiomatic": 10.0})


def peer(result: Mapping[str, Any], sizes: Sizes) -> Iterator[Line]:
    """UCB1, with another library."""
    yield from _versus(f"ucb1, 20 arms, T = {sizes.peer_horizon:,}", result)


_LINEAR = {"5": 5.0, "10": 5.0, "20": 3.0}


def linear(results: Mapping[str, Any], sizes: Sizes) -> Iterator[Line]:
    """LDP-LinUCB. Plain JAX has LAPACK."""
    for dim, result in results.items():
        least = {"idiomatic": _LINEAR[dim]} if dim in _LINEAR else None
        yield from _versus(f"ldp_linucb, 20 actions, {dim} features, T = {sizes.linear_horizon:,}", result, least)


def federated_stretches(result: Mapping[str, Any], sizes: Sizes) -> Iterator[Line]:
    """A federated bandit a stretch at a time."""
    samples = result["nanoseconds"]
    yield from _versus(f"cdp_mab, {sizes.num_agents} agents, T = {sizes.federated_horizon:,}, by stretch", result)
    yield _nanoseconds(f"  slot by slot, T = {sizes.slot_horizon:,}", samples["slots"])
    yield _faster("  a lane-round by stretch is cheaper by", samples["slots"], samples[ENGINE])


def federated_study(seconds: float, sizes: Sizes) -> Iterator[Line]:
    """A whole study."""
    yield Line(f"a study of {sizes.whole_lanes:,} such lanes as a whole, wall", seconds, "s", reach="< 120 s", met=seconds < 120.0)


def compile_linear(seconds: Sequence[tuple[float, float]], sizes: Sizes) -> Iterator[Line]:
    """Compiling a tile of LDP-LinUCB."""
    wall, cpu = zip(*seconds, strict=True)
    value, note = statistics.median(wall), f"CPU time {statistics.median(cpu):.2f} s"
    what = f"compile ldp_linucb, {max(sizes.dims)} features, wall"
    yield Line(what, value, "s", (min(wall), max(wall)), "< 5 s", value < 5.0, note)


def threads(samples: Samples, sizes: Sizes) -> Iterator[Line]:
    """More workers against one."""
    for count, values in samples.items():
        if count != "1":
            least = 1.7 if count == "2" else None
            yield _faster(f"{'two' if count == '2' else count} threads over one, many tiles, wall", samples["1"], values, least)


def _curve(curves: Mapping[str, Samples], what: Callable[[int], str]) -> Iterator[Line]:
    for size, values in curves[ENGINE].items():
        there = {WAYS[name][1]: curve[size] for name, curve in curves.items() if name != ENGINE and size in curve}
        note = ", ".join(f"{short} {number(statistics.median(theirs))} ns" for short, theirs in there.items())
        yield _nanoseconds(what(int(size)), values, note)


def lanes(curves: Mapping[str, Samples], sizes: Sizes) -> Iterator[Line]:
    """Flat in the number of lanes, once they fill a tile."""
    yield from _curve(curves, lambda count: f"{count:,} lanes, T = {sizes.lane_horizon:,}")
    yield _flat("time over lanes", [statistics.median(curves[ENGINE][str(n)]) for n in sizes.lane_counts])


def rounds(curves: Mapping[str, Samples], sizes: Sizes) -> Iterator[Line]:
    """Flat in the horizon."""
    yield from _curve(curves, lambda horizon: f"T = {horizon:,}, {sizes.lanes} lanes")
    yield _flat("time over T", [statistics.median(values) for values in curves[ENGINE].values()])


def items(curves: Mapping[str, Samples], sizes: Sizes) -> Iterator[Line]:
    """More items, and where the engine is ahead by least."""
    yield from _curve(curves, lambda count: f"lists of 4 of {count} items, T = {sizes.lane_horizon:,}")
    for name, curve in curves.items():
        if name != ENGINE:
            ratios = [statistics.median(values) / statistics.median(curves[ENGINE][size]) for size, values in curve.items()]
            yield Line(f"  engine faster than {WAYS[name][1]} by at least", min(ratios), "x", wanted="more")


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
    "central": central,
    "threads": threads,
    "lanes": lanes,
    "rounds": rounds,
    "items": items,
    "memory": memory,
    "arms": arms,
    "peer": peer,
    "linear": linear,
    "compile_linear": compile_linear,
    "federated_stretches": federated_stretches,
    "federated_study": federated_study,
    "policies": costs,
    "semi_bandit_costs": costs,
    "selection": costs,
}
"""From a measurement to its lines, by name, in the order of the table."""


def keyed(lines: Iterable[Line]) -> dict[str, Line]:
    """The lines of one row by names that differ: an indented line is named after the one it belongs to."""
    named, head = {}, ""
    for line in lines:
        if not line.what.startswith(" "):
            head = line.what
        named[line.what if line.what == head else f"{head}: {line.what.strip()}"] = line
    return named
