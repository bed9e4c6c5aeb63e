"""Where users come from: one file a problem.

## Add a problem

A problem is a factory that returns a ``core.Problem``: pure functions for one lane, that is one seed at one grid point. Its ``sizes`` say
which family of policies plays it, and ``help(jb.Policy)`` what their actions and feedback are. Random numbers are declared, not drawn;
``respond`` has no others, and what it returns is raw: a policy's ``report`` makes it private. Here arms pay bits, as in ``armed``, but
their means rise and fall, and regret is measured against the best arm of each round. "Add an algorithm" in the README is the counterpart
for policies.

```python
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jaxbandits as jb
from jaxbandits.engine import draws, lanes
from jaxbandits.policies import armed


class Drift(NamedTuple):
    phases: jax.Array  # [num_arms], float32, in turns


def drifting(*, num_arms: int, period) -> jb.Problem:
    '''Arms whose means rise and fall in ``period`` rounds, each with a phase drawn for the seed.'''

    def means(instance, t):
        turns = (t % jnp.int32(period)).astype(jnp.float32) / period  # of a long run float32 would lose the round
        return 0.5 + 0.4 * jnp.cos(2 * jnp.pi * (turns + instance.phases))

    def mean(instance, round_, action):
        return lanes.take(means(instance, round_.t), action)[0]

    return jb.Problem(
        sizes={"num_arms": num_arms},
        setup_draws={"phases": draws.uniform((num_arms,)), "preview": draws.uniform((num_arms,))},
        draws={"reward": draws.uniform()},
        setup=lambda z: Drift(phases=z["phases"]),
        preview=lambda instance, z: (z["preview"] < means(instance, jnp.int32(1))).astype(jnp.int32),
        context=lambda instance, t, z: (),
        respond=lambda instance, round_, action, z: (z["reward"] < mean(instance, round_, action)).astype(jnp.int32),
        regret=lambda instance, round_, action: jnp.max(means(instance, round_.t)) - mean(instance, round_, action),
        legal=lambda instance, action: (action[0] >= 0) & (action[0] < num_arms),
    )


study = jb.Study(
    problem=partial(drifting, num_arms=4),
    policies={"LDP-KL-UCB": armed.ldp_kl_ucb, "Tsallis-INF": armed.tsallis_inf},
    grid={"period": [1_000, 100_000], "epsilon": [1.0]},
    horizon=5_000,
)
results = jb.run(study, progress=False).sel(epsilon=1.0)
print(results["regret"].isel(round=-1).mean("seed").to_series())
```

``period`` has no annotation ``int``, so it may be swept; ``num_arms`` has one, since shapes depend on it. In the package
``problems/armed.py`` is a model, which checks its arguments too and draws the order of the arms for each seed, for policies that break
ties by number.
"""

from jaxbandits.problems import contexts, losses, rewards
from jaxbandits.problems.armed import ArmedInstance, armed
from jaxbandits.problems.cascade import CascadeInstance, cascade, uniform_cascade
from jaxbandits.problems.clicks import ClickLog, from_clicks, simulate_clicks
from jaxbandits.problems.contextual import ContextualInstance, contextual, ratings
from jaxbandits.problems.convex import ConvexInstance, one_point, two_point
from jaxbandits.problems.federated import federated
from jaxbandits.problems.instances import linear, twenty_arms, two_level
from jaxbandits.problems.rating_tables import read_ratings, simulate_ratings
from jaxbandits.problems.semi_bandit import SemiBanditInstance, semi_bandit

__all__ = [
    "ArmedInstance",
    "CascadeInstance",
    "ClickLog",
    "ContextualInstance",
    "ConvexInstance",
    "SemiBanditInstance",
    "armed",
    "cascade",
    "contexts",
    "contextual",
    "federated",
    "from_clicks",
    "linear",
    "losses",
    "one_point",
    "ratings",
    "read_ratings",
    "rewards",
    "semi_bandit",
    "simulate_clicks",
    "simulate_ratings",
    "twenty_arms",
    "two_level",
    "two_point",
    "uniform_cascade",
]
