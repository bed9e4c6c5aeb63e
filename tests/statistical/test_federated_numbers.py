"""CDP-MAB against independently simulated numbers: T = 1e6, five arms of means 0.9 to 0.5, regret in sum over the agents.

A result must lie within 4 standard errors of the difference plus 3 % of the reference. The mix of three and four epochs makes the law
two-humped, so that few trials say little; a trial costs nothing here.
"""

from functools import partial

import numpy as np
import pytest

from jaxbandits import Study, metrics, problems, run
from jaxbandits.policies import federated as policies

MEANS = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
NUMBERS = {  # (agents, policy): regret, its standard error, epochs
    (1, "paper"): (11291, 181, 3.3),
    (1, "calibrated"): (9664, 53, 4.0),
    (1, "sound"): (9664, 53, 4.0),
    (16, "paper"): (7763, 34, 4.0),
    (16, "calibrated"): (2336, 17, 3.0),
    (16, "sound"): (11793, 222, 3.5),
}
PLAYED = {"paper": policies.cdp_mab_paper, "calibrated": policies.cdp_mab_calibrated, "sound": policies.cdp_mab}


def final(num_agents, seeds, by_stretch=True, names=tuple(PLAYED)):
    found = run(
        Study(
            problem=partial(problems.federated, means=MEANS, num_agents=num_agents, by_stretch=by_stretch),
            policies={name: PLAYED[name] for name in names},
            grid={"epsilon": (0.1,)},
            seeds=seeds,
            horizon=10**6,
            checkpoints=(10**6,),
            metrics={"epochs": metrics.communications},
        ),
        progress=False,
    )
    return found.isel(round=-1, epsilon=0)


def far(found, num_agents, numbers, names=tuple(PLAYED)):
    """What does not agree."""
    wrong = []
    for name in names:
        reference, spread, epochs = numbers[num_agents, name]
        one = found.sel(policy=name)
        error = np.hypot(float(one["regret"].std("seed")) / np.sqrt(one.sizes["seed"]), spread)
        if abs(float(one["regret"].mean()) - reference) > 4 * error + 0.03 * reference:
            wrong.append(name)
        if abs(float(one["epochs"].mean()) - epochs) > 0.2:
            wrong.append(f"epochs of {name}")
    return wrong


@pytest.mark.parametrize("num_agents", [1, 16])
def test_server(num_agents):
    found = final(num_agents, 400)
    assert far(found, num_agents, NUMBERS) == []
    assert len(far(found, 17 - num_agents, NUMBERS)) >= 3, "the test must tell one agent from sixteen"
    # The best arm is kept: losing it would cost at least a tenth of all rounds.
    assert float(found["regret"].max()) < 0.05 * num_agents * 10**6


@pytest.mark.full
def test_server_slot_by_slot():
    """A hundred trials of the slots themselves."""
    assert far(final(16, 100, by_stretch=False, names=("paper", "calibrated")), 16, NUMBERS, ("paper", "calibrated")) == []
    assert far(final(1, 100, by_stretch=False), 1, NUMBERS) == []
