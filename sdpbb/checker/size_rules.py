"""Rules as they follow from what is stated about the sizes of clusters."""

from __future__ import annotations

import numpy as np

from .rules import Limit, Rules
from .sizes import CheckedSizes, StatedSizes


def with_size_limits(rules: Rules, n: int, k: int) -> Rules:
    """Return rules on k clusters of n points, with the limits on sizes that follow from them.

    Statements about sizes become `CheckedSizes` and a `Limit` on the number of points, narrower
    than those stated. Limits that all points count for are among the statements.
    """
    statements = [rule for rule in rules if isinstance(rule, StatedSizes)]
    most = [
        rule.most for rule in rules if isinstance(rule, Limit) and bool((rule.weights >= 1).all())
    ]
    if not statements and not most:
        return rules
    limits = CheckedSizes.of(
        n,
        k,
        max((stated.least for stated in statements), default=1),
        min(most, default=n),
        [stated.listed for stated in statements if stated.listed],
    )
    others = tuple(rule for rule in rules if not isinstance(rule, StatedSizes | CheckedSizes))
    if limits is None:
        return others
    counted = Limit(np.ones(n, np.int64), np.empty((0, 2), np.int64), max(limits.most, 0))
    return (*others, counted, limits)


def of_parts(rules: Rules) -> Rules:
    """Return the rules that also hold for parts of clusters: all but least and listed sizes."""
    return tuple(rule for rule in rules if not isinstance(rule, StatedSizes | CheckedSizes))


def size_limits(rules: Rules) -> CheckedSizes | None:
    """Return the limits on sizes among rules, if there are any."""
    return next((rule for rule in rules if isinstance(rule, CheckedSizes)), None)
