"""How to time, and where: medians of interleaved repeats, in a process of its own.

This module must not import JAX: a child imports it first, and must be pinned to a core before JAX counts the cores.
"""

import concurrent.futures
import datetime
import importlib.metadata
import math
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

T = TypeVar("T")

_LONG = 20.0
"""Seconds in two repeats or more after which a variant is measured well enough."""


class Variant(NamedTuple):
    """Something to time."""

    call: Callable[[], Any]
    work: float  # units of work in a call


def interleaved(
    variants: Mapping[str, Variant], repeats: int, at_least: float = 0.2, clock: Callable[[], float] = time.process_time
) -> dict[str, list[float]]:
    """Times variants by turns.

    Args:
      variants: what to time, by name.
      repeats: how often; a variant that takes long is not repeated as often, but at least twice if repeats is 2 or more.
      at_least: seconds for which a short call is repeated in one measurement.
      clock: what to measure, by default CPU time of the process, all threads together.

    Returns:
      nanoseconds per unit of work of each repeat, by name.
    """

    def seconds(variant: Variant, loops: int) -> float:
        start = clock()
        for _ in range(loops):
            variant.call()
        return clock() - start

    loops = dict.fromkeys(variants, 1)
    for name, variant in variants.items():
        first = seconds(variant, 1)  # compiles
        if first < 2.0 + at_least:  # short enough to be worth a look at how often it should be called
            loops[name] = max(1, math.ceil(at_least / max(seconds(variant, 1), 1e-6)))
    samples: dict[str, list[float]] = {name: [] for name in variants}
    spent = dict.fromkeys(variants, 0.0)
    for _ in range(repeats):
        for name, variant in variants.items():
            if len(samples[name]) >= 2 and spent[name] > _LONG:
                continue
            taken = seconds(variant, loops[name])
            spent[name] += taken
            samples[name].append(taken / loops[name] / variant.work * 1e9)
    return samples


def gap(a: np.ndarray, b: np.ndarray) -> float:
    """How many standard errors two samples differ by, in the mean or in the logarithm of the standard deviation.

    The spread counts because the mean alone does not tell workloads apart: the printed confidence radius is so wide that
    doubling the noise hardly moves the mean regret, but doubles its spread.
    """

    def moments(x):
        centred = np.asarray(x, np.float64) - np.mean(x)
        variance = np.mean(centred**2)
        kurtosis = np.mean(centred**4) / variance**2
        return (np.mean(x), variance / len(x)), (0.5 * np.log(variance), (kurtosis - 1.0) / (4.0 * len(x)))

    return float(max(abs(u - v) / math.sqrt(s + t) for (u, s), (v, t) in zip(moments(a), moments(b), strict=True)))


# ---- processes ---------------------------------------------------------------------------------------------------------


def in_child(function: Callable[..., T], *args: Any, pin: bool) -> T:
    """``function(*args)`` in a fresh process, on one core if asked for and if the platform can."""
    context = multiprocessing.get_context("spawn")  # JAX does not survive a fork
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context, initializer=_begin, initargs=(pin,)) as pool:
        return pool.submit(function, *args).result()


def in_process(function: Callable[..., T], *args: Any, pin: bool) -> T:
    """``function(*args)`` here and now, for trying a measurement out."""
    return function(*args)


def _begin(pin: bool) -> None:
    os.environ["JAX_PLATFORMS"] = "cpu"  # CPU time says nothing about an accelerator
    os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"
    if pin and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the lowest core serves most interrupts


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def peak_megabytes() -> float | None:
    """The most memory that this process has ever held; None where the platform does not tell."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e6 / 1024)  # bytes there, KiB elsewhere


# ---- where this was measured -------------------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """The machine, the versions, the date, and how busy the machine is."""
    import jaxbandits  # the one that runs, installed or not

    versions = {name: _version(name) for name in ("jax", "jaxlib", "numpy", "numba", "pymab")}
    return {
        "cpu": _cpu_model(),
        "cores": cores(),
        "platform": platform.platform(),
        "pinned": hasattr(os, "sched_setaffinity"),
        "versions": {"python": platform.python_version(), **versions, "jaxbandits": jaxbandits.__version__},
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
