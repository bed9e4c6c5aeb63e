"""CDP-MAB: agents explore, a server averages their noisy means and drops arms.

Privacy-Preserving Communication-Efficient Federated Multi-Armed Bandits, arXiv 2111.01570, Algorithm 1. In epoch r each agent pulls each
arm that is left S(r) - S(r - 1) times and sends the noisy mean of all its pulls; the server drops the arms whose mean over the agents is
more than 2 C(r) below the largest. With l = log(2 K T r (r + 1)) and g = 2^-r, the gap that an
epoch looks for, C(r) = sqrt(l / (2 M S)) + W / (M S) and
S(r) = max(8 l / (M g^2), 4 W / (M g)), W a bound on the sum of all noises on the sums of rewards, so that C(r) <= g / 2. Numbers of
pulls are rounded up to 24 binary digits. The source lacks the constants of S and C; they are rebuilt to the orders in its text.
Communication takes no slot.
"""

from jax.typing import ArrayLike

from jaxbandits.core import Policy
from jaxbandits.policies.federated.assemble import Options, assemble
from jaxbandits.theory.federated_epochs import CALIBRATED, PAPER, SOUND


def cdp_mab_paper(
    *,
    num_arms: int,
    num_agents: int,
    epsilon: ArrayLike,
    horizon: int,
    participation: ArrayLike = 1.0,
    num_comm_rounds: ArrayLike | None = None,
    smallest_gap: ArrayLike | None = None,
    course: ArrayLike | None = None,
) -> Policy:
    """CDP-MAB as printed, which gives an agent M times the epsilon that it names.

    Noise Lap(1 / (M epsilon)) on an agent's sum of an epoch, and W = sqrt(8 r M) l / (M epsilon). Regret O(max(sum over arms of log T /
    gap, K (log T)^1.5 / (epsilon sqrt(M)))). No guarantee: an upload is M epsilon-DP, as the paper says, and its gain of sqrt(M) is
    bought by that. arXiv 2111.01570, Algorithm 1.

    Args:
      num_arms: number of arms, K.
      num_agents: number of agents, M.
      epsilon: nominal level, positive; inf adds no noise.
      horizon: T, number of rounds; a study fills it in.
      participation: p, share of the agents that send means, from 1e-6 to 1: always the same pM, rounded, and one at least, which stands for
        M in the formulas, in the noise too. All agents pull.
      num_comm_rounds: R, communication rounds allowed, up to 64: g = smallest_gap^(r / R), and after the last one the arm of the largest
        mean is kept. By default, or inf, as many as it takes.
      smallest_gap: the gap that R rounds arrive at, from 1e-9 to 0.999; by default 1 / T, with which the first of few
        epochs is longer than the run.
      course: lengths and radii of the epochs, derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    return assemble(
        num_arms=num_arms,
        num_agents=num_agents,
        epsilon=epsilon,
        horizon=horizon,
        mode=PAPER,
        status="paper",
        course=course,
        options=Options(participation=participation, num_comm_rounds=num_comm_rounds, smallest_gap=smallest_gap),
    )


def cdp_mab_calibrated(
    *,
    num_arms: int,
    num_agents: int,
    epsilon: ArrayLike,
    horizon: int,
    participation: ArrayLike = 1.0,
    num_comm_rounds: ArrayLike | None = None,
    smallest_gap: ArrayLike | None = None,
    course: ArrayLike | None = None,
) -> Policy:
    """CDP-MAB with the noise of the paper and a smaller radius.

    W = sqrt(8 l) max(sqrt(r M), sqrt(l)) / (M epsilon). Privacy part of the regret O(K sqrt(log T log(1 / gap)) / (epsilon sqrt(M))).
    No guarantee, as ``cdp_mab_paper``: an upload is M epsilon-DP. arXiv 2111.01570, Algorithm 1, with the tail bound of Chan, Shi, Song
    2011.

    Args:
      num_arms: number of arms, K.
      num_agents: number of agents, M.
      epsilon: nominal level, positive; inf adds no noise.
      horizon: T, number of rounds; a study fills it in.
      participation: p, share of the agents that send means, from 1e-6 to 1: always the same pM, rounded, and one at least, which stands for
        M in the formulas, in the noise too. All agents pull.
      num_comm_rounds: R, communication rounds allowed, up to 64: g = smallest_gap^(r / R), and after the last one the arm of the largest
        mean is kept. By default, or inf, as many as it takes.
      smallest_gap: the gap that R rounds arrive at, from 1e-9 to 0.999; by default 1 / T, with which the first of few
        epochs is longer than the run.
      course: lengths and radii of the epochs, derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    return assemble(
        num_arms=num_arms,
        num_agents=num_agents,
        epsilon=epsilon,
        horizon=horizon,
        mode=CALIBRATED,
        status="calibrated",
        course=course,
        options=Options(participation=participation, num_comm_rounds=num_comm_rounds, smallest_gap=smallest_gap),
    )


def cdp_mab(
    *,
    num_arms: int,
    num_agents: int,
    epsilon: ArrayLike,
    horizon: int,
    newest_epoch: bool = False,
    participation: ArrayLike = 1.0,
    num_comm_rounds: ArrayLike | None = None,
    smallest_gap: ArrayLike | None = None,
    course: ArrayLike | None = None,
) -> Policy:
    """CDP-MAB with noise for one agent.

    Noise Lap(1 / epsilon) on an agent's sum of an epoch, and W = sqrt(8 l) max(sqrt(r M), sqrt(l)) / epsilon. Privacy part of the
    regret O(K sqrt(M) sqrt(log T log(1 / gap)) / epsilon), in sum over the agents. Sound: epsilon-DP for each agent, against the server
    and all others: each reward enters one noisy sum. Relation: one reward of one agent substituted, one slot. arXiv 2111.01570,
    Algorithm 1, corrected.

    Args:
      num_arms: number of arms, K.
      num_agents: number of agents, M.
      epsilon: privacy level of each agent, positive; inf adds no noise.
      horizon: T, number of rounds; a study fills it in.
      newest_epoch: compare the means of the newest epoch alone: M noises in a mean instead of r M, and no use of older rewards.
      participation: p, share of the agents that send means, from 1e-6 to 1: always the same pM, rounded, and one at least, which stands for
        M in the formulas, in the noise too. All agents pull.
      num_comm_rounds: R, communication rounds allowed, up to 64: g = smallest_gap^(r / R), and after the last one the arm of the largest
        mean is kept. By default, or inf, as many as it takes.
      smallest_gap: the gap that R rounds arrive at, from 1e-9 to 0.999; by default 1 / T, with which the first of few
        epochs is longer than the run.
      course: lengths and radii of the epochs, derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    return assemble(
        num_arms=num_arms,
        num_agents=num_agents,
        epsilon=epsilon,
        horizon=horizon,
        mode=SOUND,
        status="sound",
        course=course,
        options=Options(newest_epoch=newest_epoch, participation=participation, num_comm_rounds=num_comm_rounds, smallest_gap=smallest_gap),
    )


def cdp_mab_secure_sum(
    *,
    num_arms: int,
    num_agents: int,
    epsilon: ArrayLike,
    horizon: int,
    newest_epoch: bool = False,
    participation: ArrayLike = 1.0,
    num_comm_rounds: ArrayLike | None = None,
    smallest_gap: ArrayLike | None = None,
    course: ArrayLike | None = None,
) -> Policy:
    """CDP-MAB with secure aggregation: the server sees the sum over the agents only.

    The sum of an epoch has a single noise Lap(1 / epsilon). Every agent adds a share of the noise (``mechanisms.shares``); what is
    simulated is their sum, whose law that is. W = sqrt(8 l) max(sqrt(r), sqrt(l)) / epsilon. Privacy part of the regret about K log T /
    epsilon in sum over the agents: the gain that the paper wants. Sound: epsilon-DP for each agent against the server, given that the
    aggregation reveals the sum alone and all agents add their shares. Relation: one reward of one agent substituted, one slot. arXiv
    2111.01570, Algorithm 1, corrected.

    Args:
      num_arms: number of arms, K.
      num_agents: number of agents, M.
      epsilon: privacy level of each agent, positive; inf adds no noise.
      horizon: T, number of rounds; a study fills it in.
      newest_epoch: compare the means of the newest epoch alone: one noise in a mean instead of r, and no use of older rewards.
      participation: p, share of the agents that send means, from 1e-6 to 1: always the same pM, rounded, and one at least, which stands for
        M in the formulas, in the noise too. All agents pull.
      num_comm_rounds: R, communication rounds allowed, up to 64: g = smallest_gap^(r / R), and after the last one the arm of the largest
        mean is kept. By default, or inf, as many as it takes.
      smallest_gap: the gap that R rounds arrive at, from 1e-9 to 0.999; by default 1 / T, with which the first of few
        epochs is longer than the run.
      course: lengths and radii of the epochs, derived; leave it out.

    Raises:
      ValueError: if an argument is out of range.
    """
    return assemble(
        num_arms=num_arms,
        num_agents=num_agents,
        epsilon=epsilon,
        horizon=horizon,
        mode=SOUND,
        status="sound",
        course=course,
        options=Options(
            newest_epoch=newest_epoch,
            secure_sum=True,
            participation=participation,
            num_comm_rounds=num_comm_rounds,
            smallest_gap=smallest_gap,
        ),
    )
