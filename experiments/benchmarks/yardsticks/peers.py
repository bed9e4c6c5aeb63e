"""Other libraries that simulate what this one does, to the same law."""

import numpy as np

from .ways import Simulation


def pymab(means: np.ndarray, horizon: int, num_lanes: int, exploration: float = 2.0) -> Simulation:
    """UCB1 in PyMAB 2, as its documentation runs it: loops in Rust, a record of every round and arm, which Python then checks.

    Index mean + sqrt(exploration log t / N); at 2 it is that of ``jaxbandits.policies.armed.ucb1``. Of arms with the same index it
    draws one, which has the law of the lowest number in a random order. Most of the time goes into checking the record.

    Args:
      means: [num_arms], mean rewards.
      horizon: number of rounds.
      num_lanes: number of lanes.
      exploration: the factor in the index.

    Raises:
      ImportError: if PyMAB is not installed.
    """
    from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig
    from pymab.policies import UCBPolicy

    experiment = Experiment(
        environment=BanditEnvironment(means=np.asarray(means, np.float64), reward_model=BernoulliReward()),
        policies={"UCB1": UCBPolicy(n_arms=len(means), c=exploration)},
        config=ExperimentConfig(horizon=horizon, n_replicates=num_lanes, seed=0, backend="rust"),
    )
    return lambda: experiment.run().regret[:, :, 0].sum(axis=1)
