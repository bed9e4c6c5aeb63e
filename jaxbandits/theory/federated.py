"""Regret and communication of federated bandits. On the host, in float64.

| function               | gives                                            | status                                   |
|------------------------|--------------------------------------------------|------------------------------------------|
| `cdp_mab_paper`        | regret of CDP-MAB as printed, from above         | proved, constants of this project        |
| `cdp_mab_calibrated`   | the same with the smaller radius                 | proved, constants of this project        |
| `cdp_mab`              | the same, private                                | proved, constants of this project        |
| `cdp_mab_secure_sum`   | the same with secure aggregation                 | proved, constants of this project        |
| `cdp_mab_printed`      | max(sum of log T / gap, K (log T)^1.5 / (epsilon sqrt(M))) | printed, an order              |
| `regime_switch_printed`| the gap below which sampling dominates           | printed, an order                        |
| `communication_rounds` | ceil(log2(1 / gap) + 1)                          | printed; base of the logarithm is ours   |
| `server_cost`          | c1 M a round                                     | printed                                  |
| `graph_cost_printed`   | c2 d_G |E| a round                               | printed: every link in every slot        |
| `hybrid_cost`          | c1 Q + c2 links a round                          | this project's                           |

M agents, K arms with means in [0, 1], regret in sum over the agents. Privacy-Preserving Communication-Efficient Federated Multi-Armed
Bandits, arXiv 2111.01570, whose available text lacks all constants. The algorithms know the horizon, so that each number of an array
is another run; an order has no constant, and may lie below what is measured.

How the upper bounds come about: with probability 1 - 2 / T all means are within C(r) of the true ones in all epochs. Then the best arm
stays, and an arm of gap D is gone after the first epoch with C(r) < D / 4, having been pulled S(r) times by each agent. Where means
travel for d slots, agents pull arms of gaps at most 4 C(r - 1) meanwhile.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from jaxbandits import validate
from jaxbandits.theory.armed_local import gaps_of
from jaxbandits.theory.cascade import Curve, log_horizon
from jaxbandits.theory.federated_epochs import CALIBRATED, MOST_EPOCHS, PAPER, SOUND, Mode, epochs, gap_guesses


def _at(horizon: int, means: ArrayLike, num_agents: int, epsilon: float, mode: Mode, delay: int, single_noise: bool) -> float:
    gaps, num_arms = gaps_of(means), len(np.asarray(means))
    if not len(gaps):
        return 0.0
    scale = mode.scale(num_agents, epsilon)
    lengths, radii = epochs(num_arms, horizon, num_agents, scale, mode, gap_guesses(None, None, horizon), single_noise=single_noise)
    reached, radii = np.cumsum(lengths)[:MOST_EPOCHS], radii[:MOST_EPOCHS]
    gone = radii < gaps[:, None] / 4.0
    last = np.where(gone.any(axis=1), np.argmax(gone, axis=1), MOST_EPOCHS - 1)
    pulls = np.where(gone.any(axis=1), reached[last], horizon)  # a gap that no epoch looks for is never found
    pulled = float(np.sum(gaps * np.minimum(pulls, horizon)))
    left = np.concatenate([[gaps.max()], np.minimum(4.0 * radii[: int(last.max())], gaps.max())])
    waited = delay * float(np.sum(left))
    return num_agents * min(pulled + waited + 2.0 * float(gaps.max()), float(gaps.max()) * horizon)


def _curve(
    horizon: ArrayLike, means: ArrayLike, num_agents: int, epsilon: float, delay: int, mode: Mode, *, single_noise: bool = False
) -> Curve:
    log_horizon(horizon)
    num_agents = validate.size("num_agents", num_agents, 1, validate.MOST_AGENTS)
    delay = validate.size("delay", delay, 0)
    validate.epsilon(epsilon)
    rounds = np.asarray(horizon, np.float64)
    values = [_at(int(t), means, num_agents, float(epsilon), mode, delay, single_noise) for t in rounds.ravel()]
    return np.asarray(values).reshape(rounds.shape) if rounds.ndim else values[0]


def cdp_mab_paper(*, horizon: ArrayLike, means: ArrayLike, num_agents: int, epsilon: float, delay: int = 0) -> Curve:
    """Upper bound on the regret of CDP-MAB as printed, and of DDP- and HDP-MAB with their delay.

    Args:
      horizon: number of rounds, at least 1; a number or an array. The algorithm knows it, so each number is another run.
      means: [num_arms], in any order.
      num_agents: M.
      epsilon: nominal level, positive; inf is no noise.
      delay: slots that means travel.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _curve(horizon, means, num_agents, epsilon, delay, PAPER)


def cdp_mab_calibrated(*, horizon: ArrayLike, means: ArrayLike, num_agents: int, epsilon: float, delay: int = 0) -> Curve:
    """Upper bound on the regret of CDP-MAB with the noise of the paper and a smaller radius.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.
      num_agents: M.
      epsilon: nominal level, positive; inf is no noise.
      delay: slots that means travel.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _curve(horizon, means, num_agents, epsilon, delay, CALIBRATED)


def cdp_mab(*, horizon: ArrayLike, means: ArrayLike, num_agents: int, epsilon: float, delay: int = 0) -> Curve:
    """Upper bound on the regret of CDP-MAB with epsilon-DP for each agent.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.
      num_agents: M.
      epsilon: privacy level, positive; inf is no noise.
      delay: slots that means travel.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _curve(horizon, means, num_agents, epsilon, delay, SOUND)


def cdp_mab_secure_sum(*, horizon: ArrayLike, means: ArrayLike, num_agents: int, epsilon: float) -> Curve:
    """Upper bound on the regret of CDP-MAB with secure aggregation.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.
      num_agents: M.
      epsilon: privacy level, positive; inf is no noise.

    Raises:
      ValueError: if an argument is out of range.
    """
    return _curve(horizon, means, num_agents, epsilon, 0, SOUND, single_noise=True)


def cdp_mab_printed(*, horizon: ArrayLike, means: ArrayLike, num_agents: int, epsilon: float) -> Curve:
    """Order of the regret of CDP-MAB: the larger of the sum over arms of log T / gap and K (log T)^1.5 / (epsilon sqrt(M)).

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      means: [num_arms], in any order.
      num_agents: M.
      epsilon: nominal level, positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    num_agents = validate.size("num_agents", num_agents, 1, validate.MOST_AGENTS)
    log_t, gaps = log_horizon(horizon), gaps_of(means)
    by_noise = len(np.asarray(means)) * log_t**1.5 / (epsilon * math.sqrt(num_agents))
    return np.maximum(float(np.sum(1.0 / gaps)) * log_t, by_noise)


def regime_switch_printed(*, horizon: ArrayLike, num_agents: int, epsilon: float) -> Curve:
    """The gap below which sampling dominates, and above which privacy does: epsilon sqrt(M) / sqrt(log T), an order; inf at T = 1.

    Args:
      horizon: number of rounds, at least 1; a number or an array.
      num_agents: M.
      epsilon: nominal level, positive.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.epsilon(epsilon)
    num_agents = validate.size("num_agents", num_agents, 1, validate.MOST_AGENTS)
    with np.errstate(divide="ignore"):
        return epsilon * math.sqrt(num_agents) / np.sqrt(log_horizon(horizon))


def communication_rounds(smallest_gap: float) -> int:
    """Rounds of communication until the best arm is alone, with high probability: ceil(log2(1 / gap) + 1).

    Args:
      smallest_gap: between the best and the second arm, above 0 and at most 1.

    Raises:
      ValueError: if it is out of range.
    """
    validate.scalar("smallest_gap", smallest_gap, "above 0 and at most 1", lambda g: 0 < g <= 1)
    return math.ceil(math.log2(1.0 / float(smallest_gap)) + 1.0)


def server_cost(*, num_agents: int, price: float = 1.0) -> float:
    """Cost of a round with a server: c1 M.

    Args:
      num_agents: M.
      price: c1, of an agent's message.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.scale("price", price)
    return price * validate.size("num_agents", num_agents, 1, validate.MOST_AGENTS)


def graph_cost_printed(*, diameter: int, num_links: int, price: float = 1.0) -> float:
    """Cost of a round of flooding, as printed: c2 d_G |E|. ``networks.flood`` counts what is really used, which is at most that.

    Args:
      diameter: d_G.
      num_links: |E|.
      price: c2, of a link in a slot.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.scale("price", price)
    return price * validate.size("diameter", diameter, 0) * validate.size("num_links", num_links, 0)


def hybrid_cost(*, num_components: int, links_used: int, server_price: float = 1.0, link_price: float = 1.0) -> float:
    """Cost of a round with sinks: c1 Q + c2 times the links used, each counted once for a slot of use (``networks.collect``).

    Args:
      num_components: Q.
      links_used: in all components.
      server_price: c1, of a sink's message to the server.
      link_price: c2, of a link in a slot.

    Raises:
      ValueError: if an argument is out of range.
    """
    validate.scale("server_price", server_price)
    validate.scale("link_price", link_price)
    return server_price * validate.size("num_components", num_components, 1) + link_price * validate.size("links_used", links_used, 0)
