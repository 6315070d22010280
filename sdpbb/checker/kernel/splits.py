"""Least splits and most filled clusters of a set of points, where sizes are limited.

Let q(C) be the measure of a cluster C, a whole number: its points, or its units of weight. Limits
say which measures the k clusters may have. Of a cluster of measure s, a set of measure t holds a
part x_C, and y_C = s - x_C is outside of it:

    f(t) = least sum of x_C y_C / s_C over the clusters,

where 0 <= x_C <= s_C, the x_C add up to t, and the s_C are k measures within the limits. For given
s_C that is a concave function of the x_C. It is least at a vertex, where all clusters but one are
in the set or outside of it as a whole. With x y / (x + y) for that one, which grows with x and with
y, and p clusters of a to b in the set as a whole, x and y are as small as they can be,

    x >= t - p b,    y >= n - t - (k - p - 1) b,    x + y >= a.

Where the last one binds, x y is concave on the line x + y = a, and least at an end of what the
others leave of it. Where single sizes are listed, the sums that whole clusters can have are
enumerated.

The set fills x_C / s_C of a cluster, and of all of them together at most

    g(t) = i + (t - P_i) / (P_(i+1) - P_i)    for P_i <= t <= P_(i+1),

P_i being the least measure that i clusters can have: the i least ends of their ranges, or i a, and
at least what the others leave, n - (k - i) b. For given s_C, filling the smallest first is best.
That takes i clusters in the set as a whole where it measures as much as the i smallest, P_i at
least; between such measures it rises along a line, which is not above g, as the steps of P grow.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .sizes import SizeLimits

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]
Part = tuple[Integers, Integers, NDArray[np.bool_]]

# Sums of listed sizes are enumerated where that takes so many steps of 64 bits at most, which is a
# tenth of a second. Elsewhere what holds for all sizes from the least to the most of them is used.
_STEPS = 1e8
# Part by which values are rounded down: the quotient of whole numbers below 2^52 is rounded twice.
_DOWN = 1.0 - 2.0**-50
_UP = 1.0 + 2.0**-50


def least_splits(limits: SizeLimits, measures: Integers) -> Reals:
    """Return f(t) of sets of measures t, (number,), rounded down.

    measures : (number,) whole numbers in 0..n
    limits : that k measures are within, not empty
    """
    parts = _of_listed(limits, measures) if _has_few_sums(limits) else _of_range(limits, measures)
    least = np.full(len(measures), np.inf)
    for x, y, exists in parts:
        with np.errstate(invalid="ignore", divide="ignore"):  # where it does not exist
            value = x.astype(np.float64) * y.astype(np.float64) / (x + y)
        np.minimum(least, np.where(exists, value, np.inf), out=least)
    return np.where(np.isfinite(least), least, 0.0) * _DOWN


def _has_few_sums(limits: SizeLimits) -> bool:
    """Return whether single sizes are listed, and have sums that are enumerated."""
    listed = limits.exact
    if listed is None:
        return False
    return len(set(listed)) * len(listed) * (limits.n // 64 + 1) <= _STEPS


def _of_range(limits: SizeLimits, t: Integers) -> Iterator[Part]:
    """Yield x and y, and whether they exist, for each number p of clusters in the set."""
    n, k, a, b = limits.n, limits.k, limits.least, limits.most
    for inside in range(k):
        outside = k - 1 - inside
        x_least, x_most = np.maximum(0, t - min(n, inside * b)), t - inside * a
        y_least, y_most = np.maximum(0, n - t - min(n, outside * b)), n - t - outside * a
        exists = (x_least <= x_most) & (y_least <= y_most) & (x_most + y_most >= a)
        exists &= x_least + y_least <= b
        if not exists.any():
            continue
        is_free = x_least + y_least >= a
        for x in (np.maximum(x_least, a - y_most), np.minimum(x_most, a - y_least)):
            yield np.where(is_free, x_least, x), np.where(is_free, y_least, a - x), exists


def _of_listed(limits: SizeLimits, t: Integers) -> Iterator[Part]:
    """Yield x and y, and whether they exist, for each size of the cluster in part in the set."""
    n, listed = limits.n, limits.exact
    assert listed is not None
    for size in sorted(set(listed)):
        others = list(listed)
        others.remove(size)
        sums = 1  # its bit w says whether some of the other clusters have w points
        for other in others:
            sums |= sums << other
        packed = np.frombuffer(sums.to_bytes(n // 8 + 1, "little"), np.uint8)
        found = np.flatnonzero(np.unpackbits(packed, bitorder="little")).astype(np.int64)
        below = found[np.searchsorted(found, t, "right") - 1]
        above = found[np.minimum(np.searchsorted(found, t - size), len(found) - 1)]
        for whole in (below, above):
            x = t - whole
            yield x, size - x, (x >= 0) & (x <= size)


def most_filled(limits: SizeLimits, measures: Integers) -> Reals:
    """Return g(t) of sets of measures t, (number,), rounded up.

    measures : (number,) whole numbers in 0..n
    limits : that k measures are within, not empty
    """
    least = np.array(limits.least_of_some(), np.int64)
    whole = np.searchsorted(least, measures, "right") - 1
    step = np.append(np.diff(least), 1)[whole]
    rest = measures - least[whole]
    # Quotient, sum and product are each rounded once; where nothing is left they are exact.
    return np.asarray((whole + rest / step) * np.where(rest > 0, _UP, 1.0), np.float64)
