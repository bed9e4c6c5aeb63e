"""The arguments that mean something else in one function, module or package."""

from hypothesis import strategies as st

from tests.bad_input.kinds import COUNT, POSITIVE, SCALE, but, made, mapping, number, rounds, size, vector, words
from tests.bad_input.meanings import MEANINGS

MEANINGS_OF = {
    "Claim.delta": lambda: number(0, 1),
    "Claim.epsilon": lambda: number(0, unlimited=True),
    "Claim.sensitivity": words,
    "links.linear.noise": SCALE,
    "mechanisms.ball_to_sphere.dim": COUNT,
    "mechanisms.counters.epsilon": lambda: number(0, 1e10, above=True, unlimited=True),
    "mechanisms.calibrate.composed_delta.epsilon": lambda: number(0),
    "mechanisms.calibrate.composed_delta.epsilon_each": lambda: number(0),
    "mechanisms.noise.checked.noise": made,
    "plot.audit.audits": lambda: {**mapping(), "empty": st.just({}), "of others": st.just({"p": 1.0})},
    "plot.bound.rounds": vector,
    "plot.bound.values": vector,
    "plot.save.path": lambda: {
        "None": st.none(),
        "a number": st.sampled_from([3, 1.5]),
        "an object": st.builds(object),
        "another format": st.sampled_from(["figure.foo", "figure.csv"]),
        "nowhere": st.just("nowhere/figure.png"),
        "empty": st.just(""),
    },
    "policies.cascade.composition_ucb.epsilon_each": lambda: number(0, 1e10, above=True, unlimited=True),
    "policies.cascade.composition_ucb_calibrated.epsilon_each": lambda: number(0, 1e10, above=True, unlimited=True),
    "policies.federated.num_comm_rounds": lambda: number(1, 2**31, unlimited=True),
    "privacy.audit.delta": lambda: number(0, 1, below=True),
    "privacy.judge.delta": lambda: number(0, 1, below=True),
    "privacy.ledger.composed.delta": lambda: number(0, 1, below=True),
    "privacy.ledger.concentrated_pure.epsilon": lambda: number(0, unlimited=True),
    "privacy.spent.delta": lambda: number(0, 1, below=True),
    "privacy.spent.rounds": lambda: size(1, 2**53),
    "privacy.table.delta": lambda: number(0, 1, below=True),
    "privacy.table.rounds": lambda: size(1, 2**53),
    "problems.linear.high": lambda: number(0, 1),
    "problems.linear.low": lambda: number(0, 1),
    "problems.losses.linear.slope": POSITIVE,
    "problems.read_ratings.num_items": COUNT,
    "problems.simulate_ratings.num_users": lambda: size(1, 1_000_000),
    "problems.two_level.base_prob": lambda: number(0, 1),
    "problems.two_level.gap": lambda: number(0, 1),
    "theory.contextual.ldp_glm_printed.slope": POSITIVE,
    "theory.dim": size,
    "theory.horizon": rounds,
    "theory.convex.horizon": lambda: size(1, 2**31 - 1),
    "theory.convex.reduction_order.horizon": rounds,
    "theory.num_arms": size,
    "theory.num_base_arms": size,
}


def bad(name, argument, optional):
    """kind -> strategy, for an argument of a function; what it means there, in its module, in its package, or everywhere."""
    parts = name.split(".")
    places = [".".join([*parts[:depth], argument]) for depth in range(len(parts), 0, -1)]
    kinds = next((MEANINGS_OF[place] for place in places if place in MEANINGS_OF), MEANINGS.get(argument))()
    return but(kinds, "None") if optional else kinds
