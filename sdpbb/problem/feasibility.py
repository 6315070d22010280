"""Feasibility: whether k clusters can hold the blocks, subject to cannot-links and limits.

Without limits on sizes and weights this is k-colourability of the cannot-link graph. A greedy
method finds packings within limits. A binary programme, or a search in integers, also proves that
no packing exists.

Sources: PC-SOS-SDP, section 3.3, for colourability. Horowitz and Sahni, Computing partitions with
applications to the knapsack problem, Journal of the ACM 21 (1974), for sums of subsets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import BackendFailure
from sdpbb.problem.colouring import decide, sparse_graph
from sdpbb.problem.contraction import Contraction
from sdpbb.problem.infeasibility import Infeasibility, InfeasibilityKind
from sdpbb.problem.programme import (
    Amounts,
    assignment_rows,
    clique_cover,
    with_soft_pairs,
)
from sdpbb.problem.quantities import Quantity
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.backends.milp import solve_binary_programme
from sdpbb.runtime.backends.programme import (
    ROW_TOLERANCE,
    BinaryProgramme,
    MilpSolution,
    MilpStatus,
    unit,
)
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, no_limit

# Maximum number of blocks times clusters for an integer programme if sizes have no minimum: with
# 30,000, for 300 points with a maximum diameter, it did not end in two minutes.
FEW_VARIABLES = 2_000
# Maximum number of blocks times clusters for an integer programme under a time limit: HiGHS does
# not check the clock while it presolves.
MOST_VARIABLES = 300_000
# Maximum sum for which one unit is more than the tolerance of entries, 10^-6.
FEW_UNITS = 1_000_000
# Rows with larger sums are wider or narrower by this part of the largest cluster: ten tolerances.
MARGIN = 1e-5
# Largest distance of a value of a vertex from 0 or 1 that counts as rounding.
INTEGRAL = 1e-6
# Maximum number of blocks in a half, and of sums in a whole search. Below: the fixed cost of a
# search for sets, in sums, and the number of sets that are handled together.
HALF, WORK = 20, 2**23
_SEARCH, _AT_ONCE = 256, 2**14

# The least and the most that a cluster has of each quantity.
Bounds = tuple[tuple[int, int], ...]


def find_feasible(
    contraction: Contraction, time_left: TimeLeft = no_limit, nodes: int = 0
) -> NDArray[np.intp] | Infeasibility | None:
    """Find k clusters of the blocks that satisfy cannot-links, and limits where these are decided.

    Without limits, clusterings are the proper colourings of the cannot-link graph that use all k
    colours (problem (11) of PC-SOS-SDP). As m >= k, a proper colouring with fewer colours becomes
    such a clustering: blocks that share a colour receive unused colours. So feasibility is
    k-colourability.

    If quantities are limited (`Contraction.limited_amounts`), a greedy method and then an integer
    programme search for a colouring within the limits. A large programme is not solved if all
    minima are at most 1. The returned colouring may then exceed the maxima: callers check
    `keeps_sizes`. Other constraints on clusters are ignored.

    Parameters
    ----------
    time_left : for integer programmes. With a limit, programmes too large for HiGHS to presolve in
        that time are skipped; programmes that exceed it are abandoned
    nodes : as for `sdpbb.problem.colouring.decide`

    Returns
    -------
    labels (m,); or the Infeasibility: CLIQUE or NOT_COLOURABLE, with the first points of the
    blocks that cannot be coloured, or SIZES; or None if integer programmes took too long or were
    stopped, so that feasibility is unknown.

    Raises
    ------
    BackendFailure
        If the integer programming solver fails.
    """
    graph = sparse_graph(contraction.n_blocks, contraction.cannot_link)
    found = decide(graph, contraction.k, nodes, time_left)
    if found.vertices is not None:
        clique, other = InfeasibilityKind.CLIQUE, InfeasibilityKind.NOT_COLOURABLE
        points = contraction.representatives[found.vertices]
        return Infeasibility(clique if found.is_clique else other, tuple(points.tolist()))
    if not contraction.limited_amounts:
        return None if found.labels is None else use_every_colour(found.labels, contraction.k)
    if found.labels is not None:
        packed = packed_greedily(contraction, found.labels)
        if packed is not None:
            return packed
    limits = [quantity.limits for quantity in contraction.limited_amounts]
    is_only_maximum = all(each.listed is None and each.least <= 1 for each in limits)
    if is_only_maximum and contraction.n_blocks * contraction.k > FEW_VARIABLES:
        # A search can start from a clustering of other sizes, and bounds consider the maximum.
        return found.labels
    if time_left() <= 0.0:
        return None
    packing = packed_exactly(contraction, None, time_left)
    if not packing.is_impossible:
        return packing.labels
    return Infeasibility(InfeasibilityKind.SIZES, tuple(contraction.representatives.tolist()))


def use_every_colour(labels: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    """Return labels in which vertices that shared a colour have received the unused colours."""
    labels = labels.copy()
    counts = np.bincount(labels, minlength=k)
    for colour in np.flatnonzero(counts == 0):
        crowded = int(np.argmax(counts))
        labels[np.argmax(labels == crowded)] = colour
        counts[crowded] -= 1
        counts[colour] = 1
    return labels


class Packing(NamedTuple):
    """Outcome of an integer programme; proofs are by a solver in floating point.

    labels : (m,), or None
    is_impossible : whether it is proven that no labels are within the limits
    is_cheapest : whether it is proven that the labels are the cheapest within the limits
    """

    labels: NDArray[np.intp] | None
    is_impossible: bool = False
    is_cheapest: bool = False


def packed_exactly(
    contraction: Contraction,
    costs: NDArray[np.float64] | None = None,
    time_left: TimeLeft = no_limit,
    soft: SoftBlocks | None = None,
) -> Packing:
    """Pack the blocks by an integer programme, subject to limits and cannot-links.

    Parameters
    ----------
    costs : (m, k) the cost of each block in each cluster. None: no costs; then the blocks of a
        greedy clique are assigned to fixed clusters if all clusters have the same limits
    time_left : with a limit, a programme of more than MOST_VARIABLES is not started
    soft : soft pairs; weights of violated pairs add to the costs, without the constant

    With costs the linear relaxation is solved first. Its vertex is often integral, as clusters of
    single points without cannot-links are a flow.

    A unit of weight may be less than the tolerance of the programme. If there are no costs, a
    search in integers is tried first then (`packed_in_units`). The programme itself allows
    clusters a little beyond the limits, so that it still proves infeasibility. If its labels
    violate the limits, a programme with narrower limits follows. If that is infeasible, existence
    is unknown, and the labels a little beyond the limits are returned.

    Raises
    ------
    BackendFailure
        If the integer programming solver fails.
    """
    m, k = contraction.n_blocks, contraction.k
    if time_left() < math.inf and m * k > MOST_VARIABLES:
        return Packing(None)
    many = any(_is_fine(quantity) for quantity in contraction.limited_amounts)
    if many and costs is None:
        with suppress(UndecidedPacking, OutOfTime):
            found = packed_in_units(contraction, time_left)
            return Packing(found, found is None)
    beyond = None
    for slack in (MARGIN, -MARGIN) if many else (0.0,):
        is_proof = slack >= 0.0
        programme = _programme(contraction, slack, costs is None)
        if costs is not None:
            programme = replace(programme, objective=costs.reshape(-1))
            programme = with_soft_pairs(programme, k, soft or SoftBlocks())
        solution = None if costs is None else _integral_vertex(programme, time_left)
        solution = solution or solve_binary_programme(programme, time_left)
        if solution.x is None:
            return Packing(beyond, is_proof and solution.status is MilpStatus.INFEASIBLE)
        labels = solution.x[: m * k].reshape(m, k).argmax(axis=1)
        if contraction.keeps_sizes(labels):
            is_cheapest = is_proof and solution.status is MilpStatus.OPTIMAL
            return Packing(labels, is_cheapest=is_cheapest)
        beyond = labels
    return Packing(beyond)


def packed_in_units(
    contraction: Contraction, time_left: TimeLeft = no_limit
) -> NDArray[np.intp] | None:
    """Return labels (m,) that satisfy limits and cannot-links; None if no labels do.

    The search uses integers only.

    Raises
    ------
    UndecidedPacking
        If the search ends undecided, after about a second.
    OutOfTime
        If the time limit is reached before.
    """
    at_step = partial(check_time, time_left)
    return ClusterPacking(contraction.limited_amounts, contraction.adjacency, at_step).labels()


def _is_fine(quantity: Quantity) -> bool:
    """Return whether a unit is less than the tolerances of a programme."""
    return quantity.limits.n > FEW_UNITS


def _integral_vertex(programme: BinaryProgramme, time_left: TimeLeft) -> MilpSolution | None:
    """Return an optimal vertex of the linear relaxation; None: fractional, or out of time."""
    from sdpbb.runtime.backends.highs import LinearModel  # most runs do not need HiGHS

    objective = programme.objective / unit(programme.objective)
    try:
        x = LinearModel(programme).minimise(objective, time_left).x
    except BackendFailure:  # of the linear relaxation alone: the integer programme follows
        return None
    if x is None or np.abs(x - np.round(x)).max() > INTEGRAL:
        return None
    is_solution = programme.satisfied_by(np.round(x))
    return MilpSolution(MilpStatus.OPTIMAL, np.round(x)) if is_solution else None


def _programme(contraction: Contraction, slack: float, is_free: bool) -> BinaryProgramme:
    """Return the programme of packings, without costs.

    slack : part of a limit on many units by which clusters may exceed it; negative: must stay below
    is_free : whether blocks have no costs, so that clusters with the same limits are equivalent
    """
    m, k, quantities = contraction.n_blocks, contraction.k, contraction.limited_amounts
    sizes = [_rows(quantity, slack) for quantity in quantities]
    if all(map(_is_fine, quantities)):
        # Each cluster needs a block. Scaled rows alone cannot require that: a unit is within their
        # tolerance.
        sizes.append((np.ones(m), np.ones(k), np.full(k, m)))
    are_alike = is_free and all(quantity.limits.listed is None for quantity in quantities)
    fixed = _some_clique(contraction) if are_alike else ()
    rows = assignment_rows(m, k, contraction.cannot_link, sizes, fixed)
    return replace(rows, row_tolerance=MARGIN / 10.0 if slack else ROW_TOLERANCE)


def _rows(quantity: Quantity, slack: float) -> Amounts:
    """Return the amounts of blocks, and the least and most of clusters, with the slack."""
    least, most = quantity.bounds
    if not _is_fine(quantity):
        return quantity.linear, least, most
    scale = 1.0 / quantity.limits.most
    return quantity.linear * scale, least * scale * (1.0 - slack), most * scale * (1.0 + slack)


def _some_clique(contraction: Contraction) -> list[int]:
    """Return a clique of cannot-linked blocks, or the largest block alone."""
    cover = clique_cover(contraction.n_blocks, contraction.cannot_link)
    # Cliques of more than k blocks make the programme infeasible; they are not fixed here.
    fitting = [clique for clique in cover if len(clique) <= contraction.k]
    return max(fitting, key=len, default=[int(contraction.counts.argmax())])


def packed_greedily(
    contraction: Contraction, labels: NDArray[np.intp] | None
) -> NDArray[np.intp] | None:
    """Return labels (m,) within the limits, or None if greedy choices fail.

    Each limited quantity in turn guides the choices.

    labels : a colouring (m,) of the blocks; may be None without cannot-links
    """
    packed = (_packed_by(each, contraction, labels) for each in contraction.limited_amounts)
    return next((found for found in packed if found is not None), None)


def _packed_by(
    quantity: Quantity, contraction: Contraction, labels: NDArray[np.intp] | None
) -> NDArray[np.intp] | None:
    """Return labels (m,) within the limits, or None if greedy choices by one quantity fail.

    Cannot-linked blocks of one colour stay together. The other blocks, largest first, join the
    cluster with most room.
    """
    counts, k = quantity.linear, contraction.k
    least, most = quantity.bounds
    sizes = np.zeros(k, np.intp)
    found = np.full(contraction.n_blocks, -1, np.intp)
    linked = np.unique(contraction.cannot_link)
    if len(linked):
        assert labels is not None
        of_colours = np.bincount(labels[linked], counts[linked], k).astype(np.intp)
        # The largest colour becomes the cluster with most room.
        cluster_of = np.empty(k, np.intp)
        cluster_of[np.argsort(-of_colours, kind="stable")] = np.argsort(-most, kind="stable")
        found[linked] = cluster_of[labels[linked]]
        sizes[cluster_of] = of_colours
    free = np.flatnonzero(found < 0)
    free = free[np.argsort(-counts[free], kind="stable")]
    are_single = counts[free] == 1
    for block in free[~are_single].tolist():
        cluster = int(np.argmax(most - sizes))
        found[block] = cluster
        sizes[cluster] += counts[block]
    # Single points first fill clusters up to their minimum, then up to their maximum.
    single = free[are_single]
    lacking = np.maximum(least - sizes, 0)
    room = np.concatenate([lacking, np.maximum(most - sizes - lacking, 0)])
    ends = np.cumsum(np.minimum(room, len(single)))
    place = np.searchsorted(ends, np.arange(len(single)), "right")
    found[single] = np.where(place < 2 * k, place % k, -1)
    return found if (found >= 0).all() and contraction.keeps_sizes(found) else None


class UndecidedPacking(Exception):
    """Search for a packing that ended undecided."""


class ClusterPacking:
    """Depth-first search for a packing in whole numbers, a cluster at each depth.

    Each cluster in turn receives the largest remaining block and a set of others. These sets are
    found by their sums of one quantity. The other blocks are divided into two halves; each subset
    of one half is matched with subsets of the other, sorted by their sums, that make up the rest.
    So narrow limits are met without enumerating all sets: for 40 blocks, a million subsets of
    either half.

    quantities : one or more; every block has some of each
    adjacency : (m, m) symmetric, the cannot-links
    at_step : called between steps; what it raises ends the search
    """

    def __init__(
        self,
        quantities: Sequence[Quantity],
        adjacency: NDArray[np.bool_],
        at_step: Callable[[], None] = lambda: None,
    ) -> None:
        self._values = np.array([each.linear for each in quantities], np.int64)
        self._bounds = tuple(zip(*(each.limits.bounds() for each in quantities), strict=True))
        self._adjacency = adjacency
        self._work, self._at_step = WORK, at_step
        # The quantity with the largest sum distinguishes most sets.
        self._finest = int(self._values.sum(axis=1).argmax())

    def labels(self) -> NDArray[np.intp] | None:
        """Return a packing, the cluster (m,) of each block; None if no packing exists.

        Raises
        ------
        UndecidedPacking
            If the search ends undecided.
        """
        order = np.argsort(-self._values[self._finest], kind="stable")
        return next(self._packings(order, self._bounds, np.full(len(order), -1, np.intp)), None)

    def _packings(
        self, blocks: NDArray[np.intp], bounds: tuple[Bounds, ...], labels: NDArray[np.intp]
    ) -> Iterator[NDArray[np.intp]]:
        """Yield the packings of blocks (q,), sorted largest first, into clusters of these bounds.

        labels : (m,) the clusters of the blocks that are packed already
        """
        if not bounds:
            yield labels
        for own in dict.fromkeys(bounds):
            at = bounds.index(own)
            others = bounds[:at] + bounds[at + 1 :]
            for members in self._clusters(blocks, own, others):
                packed = labels.copy()
                packed[blocks[members]] = len(others)
                yield from self._packings(blocks[~members], others, packed)

    def _clusters(
        self,
        blocks: NDArray[np.intp],
        bounds: Bounds,
        others: tuple[Bounds, ...],
    ) -> Iterator[NDArray[np.bool_]]:
        """Yield the sets with the first block that may be a cluster, as masks (q,).

        The remaining blocks are within the total limits of the other clusters.
        """
        if not len(blocks):
            return
        values = self._values[:, blocks]
        total = values.sum(axis=1)
        of_others = np.array(others, np.int64).reshape(len(others), len(bounds), 2).sum(axis=0)
        low = np.maximum([least for least, _ in bounds], total - of_others[:, 1])
        high = np.minimum([most for _, most in bounds], total - of_others[:, 0])
        near, adjacent = values[self._finest], self._adjacency[np.ix_(blocks, blocks)]
        for sets in self._sets_between(
            near[1:], int(low[self._finest] - near[0]), int(high[self._finest] - near[0])
        ):
            members = np.concatenate([np.ones((len(sets), 1), np.bool_), sets], axis=1)
            sums = members.astype(np.int64) @ values.T
            fits = ((low <= sums) & (sums <= high)).all(axis=1)
            members = members[fits]
            linked = members.astype(np.float32) @ adjacent.astype(np.float32) > 0.0
            yield from members[~(linked & members).any(axis=1)]

    def _sets_between(
        self, values: NDArray[np.int64], low: int, high: int
    ) -> Iterator[NDArray[np.bool_]]:
        """Yield the sets (s, q) of positions of values (q,) whose sums are from low to high."""
        self._at_step()
        if len(values) > 2 * HALF:
            raise UndecidedPacking("too many blocks to look at all sets of them")
        half = len(values) // 2
        one, other = _sums_of_subsets(values[:half]), _sums_of_subsets(values[half:])
        order = np.argsort(other, kind="stable")
        other = other[order]
        begin = np.searchsorted(other, low - one, "left")
        count = np.searchsorted(other, high - one, "right") - begin
        np.maximum(count, 0, out=count)
        self._work -= _SEARCH + len(one) + len(other) + int(count.sum())
        if self._work < 0:
            raise UndecidedPacking("not decided within the work of a search")
        first = np.repeat(np.arange(len(one)), count)
        position = np.arange(len(first)) - np.repeat(np.cumsum(count) - count, count)
        second = order[position + np.repeat(begin, count)]
        bits = np.arange(HALF)
        for start in range(0, len(first), _AT_ONCE):
            self._at_step()
            chosen = slice(start, start + _AT_ONCE)
            marks = [
                (codes[chosen, None] >> bits[:width] & 1).astype(np.bool_)
                for codes, width in ((first, half), (second, len(values) - half))
            ]
            yield np.concatenate(marks, axis=1)


def _sums_of_subsets(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sums (2^q,) of all subsets of values (q,): bit i of a position means value i."""
    sums = np.zeros(1, np.int64)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums
