"""The valid inequalities of a certificate, as one matrix.

For a vector y of whole numbers, one per block, and any clustering, with y(C) the sum over C,

    y'Z y - sum of y_i Z_ii = sum over the clusters C of y(C) (y(C) - 1) / |C|,

where no summand is negative, as y(C) is a whole number. Stars are half of this for y = 1_T - 1_i,
cliques for y = 1_Q: there the y(C) of k clusters add up to k + 1, so that one is at least 2 and the
sum at least 2 / |C| >= 2 / (n - k + 1). Blocks may occur more than once in T and Q, and i in T.

Pentagons are another matter: see `pentagons`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .arithmetic import down, sum_down
from .evidence import Cuts
from .pentagons import checked_pentagons, pentagon_terms
from .rejection import Rejected

Floats = NDArray[np.float64]

# Terms looked at together, to bound the memory that long stars take; the longest of these; and all
# terms, to bound the time: seconds.
_TERMS_AT_ONCE, _LONGEST, _TERMS = 2**22, 2**12, 2**27


# What the cuts of m blocks may have of starts of stars, blocks, rows times columns, all of them
# together: so many times m^2 + 100,000, and no more than the other number.
_ENTRIES_PER_PAIR, _MAX_ENTRIES = 64, 2**24


def require_moderate(m: int, *shapes: tuple[int, ...]) -> None:
    """`Rejected` where the arrays of the cuts of m blocks are of shapes that take much memory."""
    most = min(_ENTRIES_PER_PAIR * (m * m + 100_000), _MAX_ENTRIES)
    if sum(map(math.prod, shapes)) > most:
        raise Rejected(f"the cuts have more than {most} entries")


def checked_cuts(cuts: Cuts, k: int, sizes: Floats, adjacency: NDArray[np.bool_]) -> None:
    """`Rejected` unless every cut is a valid inequality for k clusters of blocks of these sizes
    (m,) with these cannot-links."""
    m = len(adjacency)
    start, pentagons = cuts.star_start, cuts.pentagons
    families = (start, cuts.star_blocks, cuts.cliques, cuts.complements)
    estimated = (pentagons.cycles, pentagons.start, pentagons.estimates)
    require_moderate(m, *(array.shape for array in (*families, *estimated)))
    if start.ndim != 1 or start.dtype.kind != "i" or len(start) == 0 or start[0] != 0:
        raise Rejected("the starts of stars are no list of whole numbers that begins with 0")
    within = (start >= 0).all() and (start <= cuts.star_blocks.size).all()
    if not within or (np.diff(start) < 2).any() or cuts.star_blocks.shape != (start[-1],):
        raise Rejected("a star has no leaves, or the starts of stars do not fit their blocks")
    lengths = np.diff(start)
    if lengths.max(initial=0) > _LONGEST:
        raise Rejected(f"a star of more than {_LONGEST} blocks")
    if cuts.cliques.ndim != 2 or cuts.cliques.shape[1] != k + 1:
        raise Rejected(f"cliques of shape {cuts.cliques.shape} for {k} clusters")
    if int(np.square(lengths).sum()) + len(cuts.cliques) * (k + 1) ** 2 > _TERMS:
        raise Rejected(f"the stars and cliques have more than {_TERMS} pairs of blocks")
    if cuts.complements.ndim != 2 or cuts.complements.shape[1] != 3:
        raise Rejected(f"complements of shape {cuts.complements.shape}, not rows of 3")
    for blocks in (cuts.star_blocks, cuts.cliques, cuts.complements):
        if blocks.dtype.kind != "i" or (blocks < 0).any() or (blocks >= m).any():
            raise Rejected(f"a cut has a block that is none of 0..{m - 1}")
    if len(cuts.complements):
        _, j, h = cuts.complements.T
        if k != 2 or not adjacency[j, h].all():
            raise Rejected("a complement cut needs two clusters, and a cannot-linked pair")
    checked_pentagons(pentagons, sizes)


def right_hand_side(cuts: Cuts, t: Floats, n: int, k: int) -> float:
    """At most the sum of multipliers times right-hand sides."""
    stars = len(cuts.star_start) - 1
    cliques = down(sum_down(t[stars : stars + len(cuts.cliques)].tolist()) / (n - k + 1))
    pentagons = t[len(t) - len(cuts.pentagons) :]
    return sum_down([cliques, *(-2.0 * pentagons).tolist()])


def cut_sums(
    cuts: Cuts, t: Floats, sizes: Floats, adjacency: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats]:
    """(m, m) sum of t_c B_c, rounded; the sums of the absolute values of its terms; their numbers.

    Every term is rounded once at most; an entry of s terms is off by at most gamma_(s + 1) times
    that of the second.
    """
    m, stars = len(sizes), len(cuts.star_start) - 1
    cliques = stars + len(cuts.cliques)
    sums = _Sums(m)
    lengths = np.diff(cuts.star_start)
    for length in np.unique(lengths).tolist():
        chosen = np.flatnonzero(lengths == length)
        at_once = max(1, _TERMS_AT_ONCE // length**2)
        signs = np.ones(length)
        signs[0] = -1.0
        for first in range(0, len(chosen), at_once):
            some = chosen[first : first + at_once]
            blocks = cuts.star_blocks[cuts.star_start[some, None] + np.arange(length)]
            sums.add_products(blocks, signs, t[some])
    at_once = max(1, _TERMS_AT_ONCE // cuts.cliques.shape[1] ** 2)
    for first in range(0, len(cuts.cliques), at_once):
        blocks = cuts.cliques[first : first + at_once]
        weights = t[stars + first : stars + first + len(blocks)]
        sums.add_products(blocks, np.ones(blocks.shape[1]), weights)
    i, j, h = cuts.complements.T
    complements = cliques + len(cuts.complements)
    weights = t[cliques:complements]
    sums.add(i, i, -weights)
    for other in (j, h):
        sums.add(i, other, np.where(i == other, weights, 0.5 * weights))
    if len(cuts.pentagons):
        owner, i, j, coefficients = pentagon_terms(cuts.pentagons, sizes, adjacency)
        weights = t[complements:][owner] * coefficients
        sums.add(i, j, np.where(i == j, weights, 0.5 * weights))
    return tuple(np.triu(A) + np.triu(A, 1).T for A in sums.matrices)  # type: ignore[return-value]


class _Sums:
    """Sums of terms at the entries of the upper triangle of a matrix."""

    def __init__(self, m: int) -> None:
        self.m = m
        self.matrices = (np.zeros((m, m)), np.zeros((m, m)), np.zeros((m, m)))

    def add_products(self, blocks: NDArray[np.integer], signs: Floats, t: Floats) -> None:
        """Half of t_c (y y' - diag(y)) for the rows of blocks, y the sum of signs_p 1_(block p):
        products of two different positions, and what remains of equal ones where the sign is -1."""
        p, q = np.triu_indices(blocks.shape[1], 1)
        i, j = blocks[:, p], blocks[:, q]
        weights = np.outer(t, signs[p] * signs[q])
        weights[i != j] *= 0.5
        self.add(i.ravel(), j.ravel(), weights.ravel())
        for at in np.flatnonzero(signs < 0.0):
            self.add(blocks[:, at], blocks[:, at], t)

    def add(self, i: NDArray[np.integer], j: NDArray[np.integer], weights: Floats) -> None:
        m = self.m
        position = np.minimum(i, j).astype(np.int64) * m + np.maximum(i, j)
        for matrix, values in zip(
            self.matrices, (weights, np.abs(weights), (weights != 0.0)), strict=True
        ):
            matrix += np.bincount(position, values, m * m).reshape(m, m)
