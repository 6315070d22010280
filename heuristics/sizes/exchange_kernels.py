"""Moves and swaps of blocks that keep cannot-links and limits on sizes and weights.

With s and N the weighted sums and the weights of the clusters, an exchange that takes weight w and
sum d, net, out of a and into b saves

    ||s_a - d||^2 / (N_a - w) + ||s_b + d||^2 / (N_b + w) - ||s_a||^2 / N_a - ||s_b||^2 / N_b.

Inner products of blocks with the sums of the clusters are kept; those of two blocks, which swaps
need, are computed before: looking at one takes the same time in any number of dimensions.
"""

from __future__ import annotations

import numpy as np

from sdpbb.arrays import Integers, Reals
from sdpbb.jit import njit


@njit(cache=True, nogil=True)
def exchange(
    means: Reals,
    weights: Reals,
    counts: Integers,
    starts: Integers,
    neighbours: Integers,
    limits: Integers,
    is_listed: bool,
    products: Reals,
    labels: Integers,
    tolerance: float,
    most_sweeps: int,
) -> float:
    """Improve labels (m,) by moves and swaps, sweep after sweep; return what that saves.

    Parameters
    ----------
    means, weights, counts : (m, r), (m,), (m, q) of the blocks: what they have of q measures, such
        as points
    starts, neighbours : the blocks cannot-linked to i are neighbours[starts[i]:starts[i + 1]]
    limits : (q, 2) the least and the most that a cluster has of each
    is_listed : whether clusters are to have what they have of the first, in any order
    products : (m, m) inner products of means, for swaps; (0, 0) where none are looked at
    tolerance : exchanges that save no more are not made
    most_sweeps : over all blocks
    """
    m, r = means.shape
    swaps = len(products) > 0
    k = int(labels.max()) + 1
    sums, mass, sizes = np.zeros((k, r)), np.zeros(k), np.zeros((k, counts.shape[1]), np.int64)
    squares = np.empty(m)
    for i in range(m):
        c = labels[i]
        mass[c] += weights[i]
        sizes[c] += counts[i]
        squares[i] = 0.0
        for t in range(r):
            sums[c, t] += weights[i] * means[i, t]
            squares[i] += means[i, t] ** 2
    inner = np.zeros((m, k))
    for c in range(k):
        _write_inner(means, sums, c, inner)
    norms = np.empty(k)
    for c in range(k):
        norms[c] = (sums[c] ** 2).sum()
    conflicts = np.zeros((m, k), np.int64)
    for i in range(m):
        for p in range(starts[i], starts[i + 1]):
            conflicts[i, labels[neighbours[p]]] += 1
    saved = 0.0
    for _ in range(most_sweeps):
        before = saved
        for i in range(m):
            a = labels[i]
            best, best_j, best_b = tolerance, -1, -1
            for b in range(k):
                if b == a or conflicts[i, b] > 0:
                    continue
                if not _fits(sizes[a], sizes[b], counts[i], limits, is_listed):
                    continue
                e = weights[i]
                if not mass[a] > e:
                    continue
                gain = _gain(
                    norms[a] - 2.0 * e * inner[i, a] + e * e * squares[i],
                    mass[a] - e,
                    norms[b] + 2.0 * e * inner[i, b] + e * e * squares[i],
                    mass[b] + e,
                    norms[a] / mass[a] + norms[b] / mass[b],
                )
                if gain > best:
                    best, best_j, best_b = gain, -1, b
            if swaps:
                for j in range(m):
                    b = labels[j]
                    if b == a or conflicts[i, b] > 1 or conflicts[j, a] > 1:
                        continue
                    taken = counts[i] - counts[j]
                    if not _fits(sizes[a], sizes[b], taken, limits, is_listed):
                        continue
                    if conflicts[i, b] + conflicts[j, a] > 0:
                        linked = 1 if _are_linked(starts, neighbours, i, j) else 0
                        if conflicts[i, b] > linked or conflicts[j, a] > linked:
                            continue
                    e, f = weights[i], weights[j]
                    # The sums of both change by e x_i - f x_j, of which this is part of the square.
                    one_sided = e * inner[i, a] - f * inner[j, a]
                    other_sided = e * inner[i, b] - f * inner[j, b]
                    square = e * e * squares[i] + f * f * squares[j]
                    square -= 2.0 * e * f * products[i, j]
                    gain = _gain(
                        norms[a] - 2.0 * one_sided + square,
                        mass[a] - e + f,
                        norms[b] + 2.0 * other_sided + square,
                        mass[b] + e - f,
                        norms[a] / mass[a] + norms[b] / mass[b],
                    )
                    if gain > best:
                        best, best_j, best_b = gain, j, b
            if best_b < 0:
                continue
            saved += best
            _relabel(
                i,
                best_b,
                means,
                weights,
                counts,
                starts,
                neighbours,
                labels,
                sums,
                mass,
                sizes,
                conflicts,
            )
            if best_j >= 0:
                _relabel(
                    best_j,
                    a,
                    means,
                    weights,
                    counts,
                    starts,
                    neighbours,
                    labels,
                    sums,
                    mass,
                    sizes,
                    conflicts,
                )
            for c in (a, best_b):
                _write_inner(means, sums, c, inner)
                norms[c] = (sums[c] ** 2).sum()
        if not saved > before:
            break
    return saved


@njit(cache=True, nogil=True)
def _write_inner(means: Reals, sums: Reals, c: int, inner: Reals) -> None:
    """Write the inner products of all blocks with the sum of a cluster."""
    for i in range(means.shape[0]):
        product = 0.0
        for t in range(means.shape[1]):
            product += means[i, t] * sums[c, t]
        inner[i, c] = product


@njit(cache=True, nogil=True)
def _gain(square_a: float, mass_a: float, square_b: float, mass_b: float, before: float) -> float:
    """Return what two clusters of these sums and weights save."""
    return square_a / mass_a + square_b / mass_b - before


@njit(cache=True, nogil=True)
def _fits(a: Integers, b: Integers, taken: Integers, limits: Integers, is_listed: bool) -> bool:
    """Return whether clusters that have a and b may have so much less, and more, by q measures."""
    for q in range(len(taken)):
        if taken[q] == 0:
            continue
        if is_listed and q == 0:
            if a[q] - taken[q] != b[q]:
                return False
            continue
        low, high = min(a[q] - taken[q], b[q] + taken[q]), max(a[q] - taken[q], b[q] + taken[q])
        if low < limits[q, 0] or high > limits[q, 1]:
            return False
    return True


@njit(cache=True, nogil=True)
def _are_linked(starts: Integers, neighbours: Integers, i: int, j: int) -> bool:
    return bool((neighbours[starts[i] : starts[i + 1]] == j).any())


@njit(cache=True, nogil=True)
def _relabel(
    i: int,
    b: int,
    means: Reals,
    weights: Reals,
    counts: Integers,
    starts: Integers,
    neighbours: Integers,
    labels: Integers,
    sums: Reals,
    mass: Reals,
    sizes: Integers,
    conflicts: Integers,
) -> None:
    """Put block i into cluster b."""
    a = labels[i]
    for t in range(means.shape[1]):
        sums[a, t] -= weights[i] * means[i, t]
        sums[b, t] += weights[i] * means[i, t]
    mass[a] -= weights[i]
    mass[b] += weights[i]
    sizes[a] -= counts[i]
    sizes[b] += counts[i]
    for p in range(starts[i], starts[i + 1]):
        conflicts[neighbours[p], a] -= 1
        conflicts[neighbours[p], b] += 1
    labels[i] = b
