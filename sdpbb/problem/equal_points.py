"""Equal points: copies that may share a cluster, so that they are one block of their number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem.graph import connected_components
from sdpbb.problem.instance import Instance

# Odd, so that products modulo 2^64 lose nothing.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def join_equal_points(instance: Instance) -> Instance:
    """Return the instance with must-links between equal points; its least sum of squares is kept.

    Joined are points without cannot-links and soft constraints whose must-links, if there are any,
    are with points equal to them. None are where there are constraints on clusters beyond pairs, on
    sizes or weights, or where fewer than k blocks without cannot-links would be left.

    Where such points, of weights v and w, are in clusters A and B of an optimal clustering, both
    means are at them: if not, those farther from their mean, d_A >= d_B say, would save by moving,
    as N_B v / (N_B + v) d_B^2 < N_A v / (N_A - v) d_A^2. So those in A move to B for nothing; and
    if that leaves A empty, two of the k blocks without cannot-links or more are in one of the other
    k - 1 clusters, and one of these two moves to A, which never costs.
    """
    pairs = equal_points(instance)
    if not len(pairs):
        return instance
    return replace(instance, must_link=np.concatenate([instance.must_link, pairs]))


def equal_points(instance: Instance) -> NDArray[np.intp]:
    """Return the must-links (p, 2) of `join_equal_points`."""
    n, none = instance.n_points, np.empty((0, 2), np.intp)
    soft = instance.soft_cannot_link.pairs, instance.soft_must_link.pairs
    if instance.limits or instance.rules.go_beyond_pairs:
        return none
    first_equal = _first_equal(instance.points)
    if instance.k == 1 or (first_equal == np.arange(n)).all():
        return none
    block_of = connected_components(n, instance.must_link)
    first = np.unique(block_of, return_index=True)[1]
    linked, mixed = np.zeros(len(first), bool), np.zeros(len(first), bool)
    linked[block_of[np.concatenate([instance.cannot_link, instance.rules.apart, *soft])]] = True
    mixed[block_of[first_equal != first_equal[first[block_of]]]] = True
    blocks = np.flatnonzero(~linked & ~mixed)
    # The first of equal points stands for all.
    names, representative, which = np.unique(
        first_equal[first[blocks]], return_index=True, return_inverse=True
    )
    n_left = (~linked & mixed).sum() + len(names)
    if n_left < instance.k:
        return none
    stands_for, others = first[blocks][representative][which], first[blocks]
    joined = stands_for != others
    return np.column_stack([stands_for[joined], others[joined]])


def _first_equal(points: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the first row that equals each of the rows (n, d), (n,); a few may be overlooked.

    Rows are sorted by a number that is made of all their coordinates, and neighbours compared.
    """
    bits = np.ascontiguousarray(points + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
    keys = np.zeros(len(points), np.uint64)
    for column in bits.T:
        keys = (keys ^ column) * _FACTOR
        keys ^= keys >> _SHIFT
    order = np.argsort(keys, kind="stable")
    same = np.zeros(len(points), bool)
    same[1:] = np.diff(keys[order]) == 0
    candidates = np.flatnonzero(same)
    same[candidates] = (points[order[candidates]] == points[order[candidates - 1]]).all(axis=1)
    begins = np.maximum.accumulate(np.where(same, 0, np.arange(len(points))))
    first_equal = np.empty(len(points), np.intp)
    first_equal[order] = order[begins]
    return first_equal
