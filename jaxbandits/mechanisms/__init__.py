"""How a value or a running sum is kept private: local randomisers, counters, and how much noise that takes.

## Add a mechanism

A local mechanism is a ``Randomiser``: the random numbers it needs, what it sends, and its claim. The claim is the author's word. Here it
has a proof: the density of the noise is a staircase that falls by e^epsilon over every stretch of length 1, so moving it by at most 1
changes it by a factor of at most e^epsilon. "Add an algorithm" in the README says how a policy is written, and how a central one puts a
counter of ``counters`` to use.

```python
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jaxbandits as jb
from jaxbandits import mechanisms, privacy
from jaxbandits.engine import draws, lanes


def staircase(*, epsilon) -> mechanisms.Randomiser:
    '''Staircase noise on a value in [0, 1], epsilon finite. Geng, Viswanath: The Optimal Mechanism in Differential Privacy, 2014.'''
    width = 1 / (1 + jnp.exp(epsilon / 2))  # of the high part of a stair; this one makes the mean size of the noise smallest

    def send(value, z):
        stair = jnp.floor(-jnp.log(z["stair"]) / epsilon)  # k or more with probability e^(-k epsilon)
        high = z["part"] * (width + (1 - width) * jnp.exp(-epsilon)) < width
        place = jnp.where(high, width * z["place"], width + (1 - width) * z["place"])
        return value + jnp.where(z["sign"] < 0.5, -1, 1) * (stair + place)

    return mechanisms.Randomiser(
        draws={name: draws.uniform() for name in ("stair", "part", "place", "sign")},
        send=send,
        claim=jb.Claim(
            status="sound", trust="local", relation="any two rewards, one round", sensitivity="one value in [0, 1]", epsilon=epsilon
        ),
    )


class Seen(NamedTuple):
    counts: jax.Array  # [num_arms], int32: pulls
    sums: jax.Array  # [num_arms], float32: of the noisy rewards


def staircase_ucb(*, num_arms: int, epsilon) -> jb.Policy:
    '''UCB on noisy rewards, cut to [0, 1] before.'''
    noise = mechanisms.clipped(staircase(epsilon=epsilon))

    def act(state, round_, z):
        pulls = state.counts.astype(jnp.float32)
        radius = (1 + 2 / epsilon) * jnp.sqrt(2 * jnp.log(round_.t.astype(jnp.float32)) / pulls)
        return lanes.top_k(jnp.where(pulls == 0, jnp.inf, state.sums / pulls + radius), 1)

    def update(state, t, action, message, z):
        return Seen(counts=lanes.count_at(state.counts, action), sums=lanes.add_at(state.sums, action, message[None]))

    return jb.Policy(
        claim=noise.claim,
        device_draws=noise.draws,
        server_draws={},
        init=lambda preview: Seen(counts=jnp.zeros(num_arms, jnp.int32), sums=jnp.zeros(num_arms, jnp.float32)),
        act=act,
        report=lambda round_, action, reward, z: noise.send(reward, z),
        update=update,
    )


problem = partial(jb.problems.armed, means=[0.8, 0.5, 0.2])
study = jb.Study(
    problem=problem,
    policies={"staircase": staircase_ucb, "LDP-KL-UCB": jb.policies.armed.ldp_kl_ucb},
    grid={"epsilon": [1.0]},
    horizon=2_000,
)
print(jb.run(study, progress=False)["regret"].isel(round=-1).mean("seed").to_series())
print(privacy.audit(partial(staircase_ucb, epsilon=1.0), problem, runs=20_000))
```

The audit comes close to 1 and does not exceed it. With half the noise it would, and say ``REFUTED``: try ``staircase(epsilon=2 * epsilon)``
under a claim of ``epsilon``.
"""

from jaxbandits.mechanisms import calibrate, categorical, counters, noise, regression, shares, tails
from jaxbandits.mechanisms.randomiser import Randomiser, bernoulli, clipped, gaussian, laplace, squashed
from jaxbandits.mechanisms.sphere import ball_to_sphere

__all__ = [
    "Randomiser",
    "ball_to_sphere",
    "bernoulli",
    "calibrate",
    "categorical",
    "clipped",
    "counters",
    "gaussian",
    "laplace",
    "noise",
    "regression",
    "shares",
    "squashed",
    "tails",
]
