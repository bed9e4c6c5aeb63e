"""A long run in a process of its own: ``python -m tests.statistical.long STORE ROUNDS EPSILON PATIENCE``.

Its tile pauses after so many seconds. It prints the most memory that it held, in MB.
"""

import pathlib
import resource
import sys
from functools import partial

from jaxbandits import Study, run, workers
from jaxbandits.policies import armed as policies
from jaxbandits.problems import armed, twenty_arms


def counts(state, instance):
    return state.counts


def gaps(state, instance):
    return instance.best - instance.means


def means(state, instance):
    return instance.means


def high(state, instance):
    return state.folded.high


def rest(state, instance):
    return state.total - state.folded.low


def study(horizon: int, epsilon: float) -> Study:
    return Study(
        problem=partial(armed, means=twenty_arms()),
        policies={"p": partial(policies.ldp_ucb_laplace, epsilon=epsilon)},
        seeds=64,
        horizon=horizon,
        checkpoints=[horizon // 10, horizon],
        metrics={f.__name__: f for f in (counts, gaps, means, high, rest)},
    )


def main() -> None:
    from tests.statistical import long  # so that the store of one process is the other's

    place, horizon, epsilon, patience = sys.argv[1:]
    workers._PATIENCE = float(patience)
    run(long.study(int(horizon), float(epsilon)), store=pathlib.Path(place), progress=False)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, flush=True)


if __name__ == "__main__":
    main()
