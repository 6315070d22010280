"""Fixing by reduced costs: pairs of blocks that are apart in all clusterings below the cutoff."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import Pairs, ProvenBound
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, nonnegative_part
from sdpbb.problem import Contraction
from sdpbb.runtime.arrays import Booleans, Reals
from sdpbb.runtime.jit import njit

_EPS = float(np.finfo(np.float64).eps)


def pairs_apart(
    relaxation: Relaxation, dual: DualPoint, bound: ProvenBound, cutoff: float
) -> NDArray[np.intp]:
    """Return the pairs of blocks that share a cluster in no clustering that costs less than cutoff.

    dual, bound : dual values and `safe_bound` of them, for this relaxation

    A clustering with matrix Z costs at least bound + scale <N, Z> (what the multipliers of its
    entries add to the dual function), and every cluster C has its own part in <N, Z>, none of them
    negative. So in a clustering cheaper than cutoff each cluster has, with
    budget = (cutoff - bound) / scale,

        sum of N_pq over p, q in C < budget |C|.

    i and j are apart if no C that holds both can satisfy this. Dropping what N is between two
    others, the best C takes the others p whose own part is negative,

        N_ii + N_jj + 2 N_ij - budget (e_i + e_j)
            + sum over p of min(0, N_pp + 2 N_ip + 2 N_jp - budget e_p),

    where p goes through the blocks that may join both: pairs found make more pairs findable, and
    the test is repeated until it finds none. (The part of the pair alone, 2 N_ij / (n - k + 1), is
    hundreds of times weaker: a block pays for all members of a cluster that is not its own.)

    No eigenvalue problem is solved. Returns (number, 2) pairs i < j, sorted, without those that
    are cannot-linked; none if the bound closes the node anyway.
    """
    budget = (cutoff - bound.value) / relaxation.scale
    # The subtraction and the division round, and the bound's margin does not cover them.
    budget += 4.0 * _EPS * (abs(cutoff) + abs(bound.value)) / relaxation.scale
    if not 0.0 < budget < np.inf:
        return np.empty((0, 2), np.intp)
    N = nonnegative_part(relaxation, dual)
    apart = relaxation.forbidden.copy()
    _exclude_pairs(N, relaxation.weights, budget, apart)
    return np.argwhere(np.triu(apart & ~relaxation.forbidden)).astype(np.intp)


@njit(cache=True)
def _exclude_pairs(N: Reals, weights: Reals, budget: float, apart: Booleans) -> int:
    """Set apart[i, j] for all pairs that `pairs_apart` excludes; return their number.

    Passes over the pairs go on until one finds no more. N : (m, m) symmetric, >= 0 where not apart.
    """
    m = len(weights)
    # Sums of m terms lose at most that share of the sum of their absolute values.
    rounding = 4.0 * (m + 4) * np.finfo(np.float64).eps
    near = np.empty(m, np.int64)
    total = 0
    while True:
        found = 0
        for i in range(m):
            reach = 0
            for p in range(m):
                own = N[p, p] + 2.0 * N[i, p] - budget * weights[p]
                # What rounds to 0 or a little more may be less.
                if p != i and own < rounding * budget * weights[p] and not apart[i, p]:
                    near[reach] = p
                    reach += 1
            for j in range(i):
                if apart[i, j]:
                    continue
                paid = N[i, i] + N[j, j] + 2.0 * N[i, j]
                spent = budget * (weights[i] + weights[j])
                for a in range(reach):
                    if not paid - spent > rounding * (paid + spent):
                        break
                    p = near[a]
                    if p == j or apart[j, p]:
                        continue
                    others = N[p, p] + 2.0 * (N[i, p] + N[j, p])
                    if others < budget * weights[p]:
                        paid += others
                        spent += budget * weights[p]
                if paid - spent > rounding * (paid + spent):
                    apart[i, j] = apart[j, i] = True
                    found += 1
        total += found
        if found == 0:
            return total


def far_apart(contraction: Contraction, cutoff: float) -> Pairs:
    """Return the pairs of blocks, (p, 2) with i < j, that their distance alone keeps apart.

    They are apart in every clustering that costs less than cutoff.

    A cluster that holds i and j costs at least as much as the two of them, and so a clustering at
    least e_i e_j / (e_i + e_j) |c_i - c_j|^2 and the scatter inside all blocks. No pair of ordinary
    data is that far apart; outliers are.
    """
    e, c = contraction.weights, contraction.means
    # Means are known to a few units in the last places of their block's coordinates, and sums over
    # r terms to r more.
    known = 1.0 - 4.0 * (c.shape[1] + 16) * _EPS
    length = np.sqrt((c**2).sum(axis=1) + contraction.scatter / e)
    scatter = float(contraction.scatter.sum())
    # Sums inside of blocks have as many terms as the block has points.
    own = scatter * (known - float(contraction.counts.max()) * _EPS)
    pairs = []
    for i in range(len(e) - 1):
        rest = slice(i + 1, None)
        distance = np.linalg.norm(c[rest] - c[i], axis=1)
        distance = np.maximum(distance - 8.0 * _EPS * (length[i] + length[rest]), 0.0)
        cost = own + known * (e[i] * e[rest] / (e[i] + e[rest])) * distance**2
        far = np.flatnonzero((cost > cutoff) & ~contraction.adjacency[i, rest])
        pairs.append(np.column_stack([np.full(len(far), i), far + i + 1]))
    return np.concatenate(pairs).astype(np.intp) if pairs else np.empty((0, 2), np.intp)
