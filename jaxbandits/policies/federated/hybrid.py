"""HDP-MAB: agents explore, sinks collect the noisy means of their components, a server averages what the sinks send.

arXiv 2111.01570, Algorithm 4. Epochs, noise, S(r) and C(r) are those of CDP-MAB. Collecting takes as many slots as the largest radius of a
component, in which each agent pulls its own best arm and keeps nothing of it. Sinks, weighted by the agents of their components, stand
for all agents. Components of one agent each give CDP-MAB. What is sent is counted by ``networks.collect``.
"""

from jax.typing import ArrayLike

from jaxbandits import networks
from jaxbandits.core import Policy
from jaxbandits.networks import Network, interface
from jaxbandits.policies.federated.assemble import Options, assemble
from jaxbandits.theory.federated_epochs import CALIBRATED, PAPER, SOUND


def hdp_mab_paper(
    *,
    num_arms: int,
    num_agents: int,
    network: Network,
    epsilon: ArrayLike,
    horizon: int,
    num_comm_rounds: ArrayLike | None = None,
    smallest_gap: ArrayLike | None = None,
    course: ArrayLike | None = None,
) -> Policy:
    """HDP-MAB as printed: agents that wait pull the arm of their best raw mean.

    Noise and W are those of ``cdp_mab_paper``. Regret that of CDP-MAB plus O(M times the largest radius). No guarantee: an upload is M
    epsilon-DP, and the pulls of agents that wait show their raw means. arXiv 2111.01570, Algorithm 4.

    Args:
      num_arms: number of arms, K.
      num_agents: number of agents, M.
      network: components with links inside, such as ``networks.disjoint(...)``.
      epsilon: nominal level, positive; inf adds no noise.
      horizon: T, number of rounds; a study fills it in.
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
        delay=networks.collect(interface.checked(network, num_agents, connected=False)).slots,
        options=Options(num_comm_rounds=num_comm_rounds, smallest_gap=smallest_gap),
    )


def hdp_mab_calibrated(
    *,
    num_arms: int,
    num_agents: int,
    network: Network,
    epsilon: ArrayLike,
    horizon: int,
    num_comm_rounds: ArrayLike | None = None,
    smallest_gap: ArrayLike | None = None,
    course: ArrayLike | None = None,
) -> Policy:
    """HDP-MAB with the noise of the paper and a smaller radius.

    Noise and W are those of ``cdp_mab_calibrated``. No guarantee, as ``hdp_mab_paper``: an upload is M epsilon-DP, and the pulls of
    agents that wait show their raw means. arXiv 2111.01570, Algorithm 4, with the tail bound of Chan, Shi, Song 2011.

    Args:
      num_arms: number of arms, K.
      num_agents: number of agents, M.
      network: components with links inside, such as ``networks.disjoint(...)``.
      epsilon: nominal level, positive; inf adds no noise.
      horizon: T, number of rounds; a study fills it in.
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
        delay=networks.collect(interface.checked(network, num_agents, connected=False)).slots,
        options=Options(num_comm_rounds=num_comm_rounds, smallest_gap=smallest_gap),
    )


def hdp_mab(
    *,
    num_arms: int,
    num_agents: int,
    network: Network,
    epsilon: ArrayLike,
    horizon: int,
    newest_epoch: bool = False,
    num_comm_rounds: ArrayLike | None = None,
    smallest_gap: ArrayLike | None = None,
    course: ArrayLike | None = None,
) -> Policy:
    """HDP-MAB with noise for one agent, on which it waits too.

    Noise and W are those of ``cdp_mab``. Regret that of ``cdp_mab`` plus O(M times the largest radius). Sound: epsilon-DP for each
    agent, against sinks, server and all that see its pulls: each reward enters one noisy sum, and everything else is a function of
    these. Relation: one reward of one agent substituted, one slot. arXiv 2111.01570, Algorithm 4, corrected.

    Args:
      num_arms: number of arms, K.
      num_agents: number of agents, M.
      network: components with links inside, such as ``networks.disjoint(...)``.
      epsilon: privacy level of each agent, positive; inf adds no noise.
      horizon: T, number of rounds; a study fills it in.
      newest_epoch: compare the means of the newest epoch alone: M noises in a mean instead of r M, and no use of older rewards.
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
        delay=networks.collect(interface.checked(network, num_agents, connected=False)).slots,
        options=Options(newest_epoch=newest_epoch, num_comm_rounds=num_comm_rounds, smallest_gap=smallest_gap),
    )
