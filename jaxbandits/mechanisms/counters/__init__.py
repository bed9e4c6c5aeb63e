"""Continual counters: noisy sums of streams, released while they grow, all with one interface (``Counter``).

On their own, for two streams, the second of which gets a 1:

```python
import jax.numpy as jnp
from jaxbandits.engine import draws
from jaxbandits.mechanisms import counters

counter = counters.hybrid(num_streams=2, epsilon=1.0)
z = draws.sample(counter.draws(1), round=1)
stream, value, where = jnp.array([1]), jnp.array([1]), jnp.array([True])
state = counter.insert(counter.init(), stream, value, where, z)
print(counter.read(state).total, counter.law(1).variance)
print(counter.scale * counter.tail(state.counts, jnp.log(2 / 0.05)))  # exceeded with probability at most 0.05
```

The noise of a block of a tree is made by ``honaker``, of all draws that bear on its sum, or by ``own_draw``, of its own draw alone.
"""

from jax.typing import ArrayLike

from jaxbandits.mechanisms.counters.batches import accumulating, adaptive_size, forgetting, lazy_size
from jaxbandits.mechanisms.counters.factorisation import square_root, square_root_factor
from jaxbandits.mechanisms.counters.interface import Counter, Law, Release, made_by
from jaxbandits.mechanisms.counters.nodes import Nodes, honaker, own_draw
from jaxbandits.mechanisms.counters.tree import binary, hybrid, merged_hybrid
from jaxbandits.mechanisms.noise import Noise, laplace

__all__ = [
    "Counter",
    "Law",
    "Nodes",
    "Release",
    "accumulating",
    "adaptive_size",
    "binary",
    "forgetting",
    "honaker",
    "hybrid",
    "lazy_size",
    "logarithmic",
    "made_by",
    "merged_hybrid",
    "own_draw",
    "square_root",
    "square_root_factor",
]


def logarithmic(*, num_streams: int, epsilon: ArrayLike, noise_scale: ArrayLike = 1.0, noise: Noise = laplace) -> Counter:
    """The logarithmic counter: a release at each power of two, with a new draw of Lap(1 / epsilon) added to those before.

    epsilon-private: an entry is in one increment. Chan, Shi, Song 2011, the logarithmic mechanism: ``accumulating`` at ratio 2.

    Args:
      num_streams: number of streams, each of up to 2^31 - 1 entries.
      epsilon: privacy level, positive; inf adds nothing.
      noise_scale: factor on the noise; any other than 1 voids the claim.
      noise: as for ``accumulating``.

    Raises:
      ValueError: if an argument is out of range.
    """
    return accumulating(num_streams=num_streams, epsilon=epsilon, noise_scale=noise_scale, noise=noise)
