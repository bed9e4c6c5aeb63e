"""CUCB: the non-private combinatorial semi-bandit algorithm.

Chen, Wang, Yuan: Combinatorial Multi-Armed Bandit: General Framework and Applications, 2013, Algorithm 1.
"""

from jaxbandits.core import NON_PRIVATE, Policy
from jaxbandits.oracles import Oracle, check
from jaxbandits.policies import index as indices
from jaxbandits.policies import responses
from jaxbandits.policies.semi_bandit.assemble import numbers_policy, widened


def cucb(*, oracle: Oracle) -> Policy:
    """CUCB: index mean + sqrt(1.5 log t / N) for an arm with N observations. Non-private.

    Deviation: rather than one round for each arm at the start, an arm without data has index +inf, so that the first rounds cover all
    arms. Regret in ``theory.semi_bandit.cucb``.

    Args:
      oracle: chooses a super arm for the indices; a study passes that of the problem.

    Raises:
      ValueError: if it is not an Oracle.
    """
    return numbers_policy(
        oracle=check(oracle),
        randomiser=responses.RAW,
        index=lambda mean, counts, t: widened(mean, counts, indices.ucb1_width(t)),
        claim=NON_PRIVATE,
    )
