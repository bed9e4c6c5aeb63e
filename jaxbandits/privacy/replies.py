"""The replies of audited users: checked, or chosen."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxbandits.core import Problem, PyTree


def default(like: PyTree, problem: Problem, present: int) -> tuple[Any, ...]:
    """Replies that tend to be far apart.

    Clicks at both ends and none, bits of 0 and 1, of the first agent alone, rewards and losses at the ends of their range, several
    numbers with a 1 first or last, previews of different items.

    Args:
      like: shape and type of a reply.
      problem: which users play.
      present: the round of the audited user; 0 for previews.

    Raises:
      ValueError: if replies are not a single array.
    """
    if not hasattr(like, "shape") or (present == 0 and len(like.shape) != 1):
        raise ValueError(f"users must be given for a problem whose users reply {like}: two or more such replies")
    if present == 0:
        ends = np.zeros((2, *like.shape)).astype(like.dtype)
        ends[0, 0] = 1
        ends[1, -1] = len(ends[1]) > 1  # of a single item 1 and 0
        return tuple(ends)
    if "num_agents" in problem.sizes:  # neighbours differ in one agent
        ends = np.zeros((2, *like.shape), like.dtype)
        ends[1, 0] = 1
        return tuple(ends)
    if like.shape and np.issubdtype(like.dtype, np.integer):
        return np.zeros(like.shape, like.dtype), np.ones(like.shape, like.dtype)
    if like.shape:  # several numbers may be compared, such as two losses
        ends = np.zeros((2, *like.shape), like.dtype)
        ends[0, ..., 0] = ends[1, ..., -1] = 1
        return tuple(ends)
    if np.issubdtype(like.dtype, np.floating):  # the ends of the range, where the problem tells it
        link, bound = problem.shared.get("link"), problem.shared.get("loss_bound")
        return (link.low, link.high) if link is not None else (-bound, bound) if bound is not None else (0.0, 1.0)
    last = problem.sizes.get("list_len", 1)
    return (0, 1, last) if last > 1 else (0, 1)


def checked(users: Any, like: PyTree, problem: Problem, present: int) -> tuple[PyTree, ...]:
    """Two or more different replies, as arrays of the shapes and types of a reply.

    Raises:
      ValueError: if they are not, a click is at no position of the list, or a bit is none.
    """
    if isinstance(users, str) or not isinstance(users, Iterable) or len(given := tuple(users)) < 2:
        raise ValueError(f"users must be two replies or more; got {users!r}")
    replies = tuple(_reply(user, like) for user in given)
    leaves = [jax.tree.leaves(reply) for reply in replies]
    for i, first in enumerate(leaves):
        for second in leaves[:i]:
            if all(np.array_equal(a, b) for a, b in zip(first, second, strict=True)):
                raise ValueError(f"users must be different replies; got {given[i]!r} twice")
    if hasattr(like, "shape") and np.issubdtype(like.dtype, np.integer):
        _check_range(replies, problem.sizes, bool(present) and not like.shape)
        if present and "num_agents" in problem.sizes and np.any(np.sum(np.ptp(replies, axis=0) != 0) > 1):
            raise ValueError(f"users must differ in the reward of one agent, since a claim is for one; got {given!r}")
    return replies


def _check_range(replies: Sequence[np.ndarray], sizes: Mapping[str, int], single: bool) -> None:
    """Whole numbers are clicks, if a single one is replied about a list, or bits."""
    last = sizes.get("list_len")
    for reply in replies:
        if single and last is not None and not 0 <= reply <= last:
            raise ValueError(f"users must click at a position from 0 to {last - 1}, or {last} for none; got {int(reply)}")
        if not (single and last is not None) and not np.all((reply == 0) | (reply == 1)):
            raise ValueError(f"users must reply bits, 0 or 1; got {reply.tolist()}")


def _reply(user: Any, like: PyTree) -> PyTree:
    wanted = ", ".join(f"{leaf.dtype}{list(leaf.shape)}" for leaf in jax.tree.leaves(like))
    given: Sequence[Any] = jax.tree.leaves(user)
    single = hasattr(like, "shape")  # then a list of numbers is an array
    if not single and jax.tree.structure(user) != jax.tree.structure(like):
        raise ValueError(f"users must reply like {jax.tree.structure(like)} of {wanted}; got {user!r}")
    values = [user] if single else given

    def array(value, leaf):
        try:
            exact = np.asarray(value, np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"users must reply {wanted}; got {user!r}") from None
        if exact.shape != leaf.shape:
            raise ValueError(f"users must reply {wanted}; got {user!r}")
        with np.errstate(invalid="ignore"):
            found = exact.astype(leaf.dtype)
        whole = np.issubdtype(leaf.dtype, np.integer) or leaf.dtype == bool
        if not np.all(np.isfinite(exact)) or (whole and not np.array_equal(found, exact)) or not np.all(np.isfinite(found)):
            raise ValueError(f"users must reply {wanted}, finite; got {user!r}")
        return found

    arrays = [array(value, leaf) for value, leaf in zip(values, jax.tree.leaves(like), strict=True)]
    return jax.tree.unflatten(jax.tree.structure(like), arrays)
