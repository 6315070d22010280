"""Pairs of blocks that every clustering cheaper than a cutoff links in the same way."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import Pairs, ProvenBound
from sdpbb.bounds.sdp import kernels
from sdpbb.bounds.sdp.admm import Admm, AdmmState
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, nonnegative_part, safe_bound
from sdpbb.problem import Contraction

_EPS = float(np.finfo(np.float64).eps)

# Blocks that share this part of their clusters are expected to be together.
TIE = 0.97
# When a pair kept apart is judged, in iterations of the method: most proofs come between 20 and 60.
CHECKS = (20, 40, 60)
# The parts of the way to the pair's dual values at which it is judged. The whole way overshoots
# early on; as the dual function is concave, parts of it prove pairs 10 to 20 iterations sooner.
STEPS = (1.0, 0.5, 0.25)
# A pair is given up when 20 iterations did not bring the bound this part of the way to the cutoff.
LEAST_GAIN = 0.1


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
    kernels.exclude_pairs(N, relaxation.sizes, budget, apart)
    return np.argwhere(np.triu(apart & ~relaxation.forbidden)).astype(np.intp)


def pairs_together(
    relaxation: Relaxation,
    state: AdmmState,
    parameters: SdpParameters,
    cutoff: float,
    candidates: Pairs,
) -> Pairs:
    """Return the candidates that share a cluster in every clustering that costs less than cutoff.

    state : of the method on this relaxation
    candidates : (c, 2) pairs of blocks that are not cannot-linked

    For each, the clusterings that keep i and j apart have Z_ij = 0: N_ij is free, and the bound of
    any such dual values that reaches the cutoff proves the pair. Lowering N_ij alone proves next to
    nothing (see docs/relaxation.md): the multipliers of the cuts have to follow it. So they are
    found by a few iterations of the method from its state, without new cuts, and judged on the way
    there from the present ones, where they are better than at its end.

    The candidates cost 20 to 60 iterations each, with 3 to 9 bounds.
    """
    if not np.isfinite(cutoff):
        return np.empty((0, 2), np.intp)
    start = Admm(relaxation, parameters.admm, parameters.spectrum, state).dual_point()
    least = safe_bound(relaxation, start).value
    proven = [
        pair
        for pair in candidates.tolist()
        if _proven_together(relaxation, state, parameters, cutoff, pair, start, least)
    ]
    return np.array(proven, np.intp).reshape(-1, 2)


def _proven_together(
    relaxation: Relaxation,
    state: AdmmState,
    parameters: SdpParameters,
    cutoff: float,
    pair: list[int],
    start: DualPoint,
    least: float,
) -> bool:
    i, j = pair
    forbidden = relaxation.forbidden.copy()
    forbidden[i, j] = forbidden[j, i] = True
    apart = replace(relaxation, forbidden=forbidden)
    moving = copy.deepcopy(state)
    admm = Admm(apart, parameters.admm, parameters.spectrum, moving)
    for check in CHECKS:
        while moving.n_iterations - state.n_iterations < check:
            admm.iterate()
            if moving.n_iterations % parameters.balance_period == 0:
                admm.balance()
        end = admm.dual_point()
        best = -np.inf
        for step in STEPS:
            best = max(best, safe_bound(apart, _between(start, end, step)).value)
            if best >= cutoff:
                return True
        if best - least < LEAST_GAIN * (check / CHECKS[0]) * (cutoff - least):
            return False
    return False


def _between(start: DualPoint, end: DualPoint, step: float) -> DualPoint:
    """Return dual values of the same cuts, a part of the way from one point to another."""
    return DualPoint(
        start.N + step * (end.N - start.N),
        start.cuts,
        start.multipliers + step * (end.multipliers - start.multipliers),
    )


def tied_pairs(relaxation: Relaxation, Z: NDArray[np.float64]) -> Pairs:
    """Return candidates for `pairs_together`, the most promising first: each block that shares
    almost all of its cluster with a larger one (i, j), by what it would cost to move one of the two
    to the best other cluster. Z : (m, m) affinity of the method's iterate."""
    e, diagonal = relaxation.sizes, np.diag(Z)
    head = np.full(len(e), -1)
    for i in np.argsort(-e, kind="stable"):
        if head[i] < 0:
            head[(head < 0) & (Z[i] >= TIE * np.maximum(diagonal[i], diagonal))] = i
            head[i] = i
    tied = np.flatnonzero(head != np.arange(len(e)))
    cost = _moving_costs(relaxation, Z)
    order = np.argsort(-np.minimum(cost[tied], cost[head[tied]]), kind="stable")
    return np.column_stack([head[tied], tied])[order].astype(np.intp)


def _moving_costs(relaxation: Relaxation, Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (m,) estimates of the cost of moving each block alone to another cluster; the clusters
    are the rows of Z: of 1/Z_hh points, around the mean with the weights e_j Z_hj."""
    e, r = relaxation.sizes, relaxation.inverse_roots
    gram = r[:, None] * relaxation.K * r
    diagonal = np.maximum(np.diag(Z), 1e-3 / relaxation.n)
    weights = Z * e
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-3)
    to_centre = gram @ weights.T
    to_centre = np.diag(gram)[:, None] - 2.0 * to_centre + (weights * to_centre.T).sum(axis=1)
    size = 1.0 / diagonal
    own = np.diag(to_centre) * size / np.maximum(size - e, 1e-9)
    other = to_centre * (size / (size + e[:, None]))
    barred = relaxation.forbidden.astype(np.float64) @ weights.T > 0.3
    share = Z / diagonal
    other[barred | (share > 0.1)] = np.inf
    return np.asarray(e * (other.min(axis=1) - own))


def far_apart(contraction: Contraction, cutoff: float) -> Pairs:
    """Return the pairs of blocks, (p, 2) with i < j, whose distance alone keeps them apart in every
    clustering that costs less than cutoff.

    A cluster that holds i and j costs at least as much as the two of them, and so a clustering at
    least e_i e_j / (e_i + e_j) |c_i - c_j|^2 and the scatter inside all blocks. No pair of ordinary
    data is that far apart; outliers are.
    """
    e, c = contraction.sizes, contraction.means
    # Means are known to a few units in the last places of their block's coordinates, and sums over
    # r terms to r more.
    known = 1.0 - 4.0 * (c.shape[1] + 16) * _EPS
    length = np.sqrt((c**2).sum(axis=1) + contraction.scatter / e)
    scatter = float(contraction.scatter.sum())
    # Sums inside of blocks have as many terms as the block has points.
    own = scatter * (known - float(contraction.sizes.max()) * _EPS)
    pairs = []
    for i in range(len(e) - 1):
        rest = slice(i + 1, None)
        distance = np.linalg.norm(c[rest] - c[i], axis=1)
        distance = np.maximum(distance - 8.0 * _EPS * (length[i] + length[rest]), 0.0)
        cost = own + known * (e[i] * e[rest] / (e[i] + e[rest])) * distance**2
        far = np.flatnonzero((cost > cutoff) & ~contraction.adjacency[i, rest])
        pairs.append(np.column_stack([np.full(len(far), i), far + i + 1]))
    return np.concatenate(pairs).astype(np.intp) if pairs else np.empty((0, 2), np.intp)
