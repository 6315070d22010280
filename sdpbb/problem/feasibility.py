"""Feasibility: whether k clusters can hold the blocks, cannot-linked ones apart, within limits.

Without limits on sizes and weights it is k-colourability of the cannot-link graph. Packings within
limits are found greedily; by a binary programme, or in whole units, their absence is proven, too.

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

from sdpbb.checker.kernel.sizes import SizeLimits
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

# Blocks times clusters up to which integer programmes pack blocks where sizes have no minimum: one
# of 30,000, of 300 points with a maximum diameter, did not end in two minutes.
FEW_VARIABLES = 2_000
# Blocks times clusters that an integer programme is solved for under a time limit: HiGHS looks at
# no clock while it presolves.
MOST_VARIABLES = 300_000
# Maximum sums whose units differ by more than the tolerance of entries, 10^-6.
FEW_UNITS = 1_000_000
# Part of the largest cluster by which rows of more units are wider, and narrower: ten times that.
MARGIN = 1e-5
# Values of a vertex so near to 0 and 1 are these.
INTEGRAL = 1e-6
# Blocks of a half; sums that are looked at, in all; what a search for sets takes besides, in sums;
# sets that are handled at once.
HALF, WORK = 20, 2**23
_SEARCH, _AT_ONCE = 256, 2**14

# Of each block by some measure, and the limits on clusters by it.
Measure = tuple[NDArray[np.integer], SizeLimits]
# Of a cluster, the least and the most by each measure.
Bounds = tuple[tuple[int, int], ...]


def find_feasible(
    contraction: Contraction, time_left: TimeLeft = no_limit, nodes: int = 0
) -> NDArray[np.intp] | Infeasibility | None:
    """Find a clustering of the blocks into exactly k clusters that satisfies cannot-links.

    Clusterings are the proper colourings of the cannot-link graph that use all k colours (problem
    (11) of PC-SOS-SDP). As m >= k, any proper colouring with fewer colours becomes one by giving
    unused colours to blocks that share theirs; so the answer is that of k-colourability.

    If quantities are limited (`Contraction.limited_amounts`), a colouring within the limits is
    searched for greedily, then by an integer programme. If that programme would be large, and no
    least above 1 follows from the limits (`SizeLimits`), the colouring returned may exceed their
    maxima: callers ask `keeps_sizes`. Other constraints on clusters are ignored.

    Parameters
    ----------
    time_left : for integer programmes. With a limit, none is solved that is too large for HiGHS to
        presolve in that time; when it is over, they are given up
    nodes : as for `sdpbb.problem.colouring.decide`

    Returns
    -------
    labels (m,), or the Infeasibility: CLIQUE or NOT_COLOURABLE, with the first points of the
    blocks that cannot be coloured, or SIZES; None if integer programmes took too long or were
    stopped, so that nothing is known.

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
        # A search can begin with a clustering of other sizes, and bounds know of the maximum.
        return found.labels
    if time_left() <= 0.0:
        return None
    packing = packed_exactly(contraction, None, time_left)
    if not packing.is_impossible:
        return packing.labels
    return Infeasibility(InfeasibilityKind.SIZES, tuple(contraction.representatives.tolist()))


def use_every_colour(labels: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    """Return the labels with unused colours given to vertices that share theirs."""
    labels = labels.copy()
    counts = np.bincount(labels, minlength=k)
    for colour in np.flatnonzero(counts == 0):
        crowded = int(np.argmax(counts))
        labels[np.argmax(labels == crowded)] = colour
        counts[crowded] -= 1
        counts[colour] = 1
    return labels


class Packing(NamedTuple):
    """Outcome of an integer programme; what is proven is so by a solver in floating point.

    labels : (m,), or None
    is_impossible : whether it is proven that no labels are within the limits
    is_cheapest : whether it is proven that the labels are within them, and none there cost less
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
    """Return labels (m,) within the limits that keep the cannot-links, and what is proven.

    By an integer programme.

    Parameters
    ----------
    costs : (m, k) the cost of each block in each cluster, or None. Without any, blocks of a
        greedy clique have fixed clusters where all of these are alike
    time_left : with a limit, no programme of more than MOST_VARIABLES is begun
    soft : pairs whose weights count, if they are violated, besides costs; its constant is left out

    With costs the linear relaxation is solved first: its vertex is often one of zeros and ones, as
    clusters of single points without cannot-links are a flow.

    Where units of weight are so small that its tolerances are more than one of them, a search in
    whole units is tried before, if there are no costs (`packed_in_units`); and the programme
    allows clusters a little beyond the limits, so that it still proves infeasibility. One
    that allows a little less is solved next where its labels are not within the limits themselves.
    Where that has no solution, it is not known whether there are any, and the labels are those a
    little beyond.

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

    By a search in whole numbers.

    Raises
    ------
    UndecidedPacking
        If that is not decided within the work of the search: about a second.
    OutOfTime
        If the time is over before.
    """
    measures = [(each.linear, each.limits) for each in contraction.limited_amounts]
    at_step = partial(check_time, time_left)
    return ClusterPacking(measures, contraction.adjacency, at_step=at_step).labels()


def _is_fine(quantity: Quantity) -> bool:
    """Return whether a unit is less than what the tolerances of a programme can tell."""
    return quantity.limits.n > FEW_UNITS


def _integral_vertex(programme: BinaryProgramme, time_left: TimeLeft) -> MilpSolution | None:
    """Return an optimal vertex of the linear relaxation; None if it is fractional, or time over."""
    from sdpbb.runtime.backends.highs import LinearModel  # HiGHS, which most runs do without

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

    slack : part of a limit on many units that clusters may be beyond it
    is_free : whether there are no costs, so that clusters with the same limits are alike
    """
    m, k, quantities = contraction.n_blocks, contraction.k, contraction.limited_amounts
    sizes = [_rows(quantity, slack) for quantity in quantities]
    if all(map(_is_fine, quantities)):
        # Without blocks a cluster lacks a unit, or a few, which rows in parts do not tell from 0.
        sizes.append((np.ones(m), np.ones(k), np.full(k, m)))
    are_alike = is_free and all(quantity.limits.listed is None for quantity in quantities)
    fixed = _some_clique(contraction) if are_alike else ()
    rows = assignment_rows(m, k, contraction.cannot_link, sizes, fixed)
    return replace(rows, row_tolerance=MARGIN / 10.0 if slack else ROW_TOLERANCE)


def _rows(quantity: Quantity, slack: float) -> Amounts:
    """Return the amounts of blocks, and their least and most in clusters, with the slack."""
    least, most = quantity.bounds
    if not _is_fine(quantity):
        return quantity.linear, least, most
    scale = 1.0 / quantity.limits.most
    return quantity.linear * scale, least * scale * (1.0 - slack), most * scale * (1.0 + slack)


def _some_clique(contraction: Contraction) -> list[int]:
    """Return a clique of cannot-linked blocks, or the largest block alone."""
    cover = clique_cover(contraction.n_blocks, contraction.cannot_link)
    # One of more than k blocks is for the programme to refuse.
    fitting = [clique for clique in cover if len(clique) <= contraction.k]
    return max(fitting, key=len, default=[int(contraction.counts.argmax())])


def packed_greedily(
    contraction: Contraction, labels: NDArray[np.intp] | None
) -> NDArray[np.intp] | None:
    """Return labels (m,) within the limits, or None where greedy choices find none.

    By each limited quantity, points or weight, in turn.

    labels : a colouring (m,) of the blocks; None where there are no cannot-links
    """
    packed = (_packed_by(each, contraction, labels) for each in contraction.limited_amounts)
    return next((found for found in packed if found is not None), None)


def _packed_by(
    quantity: Quantity, contraction: Contraction, labels: NDArray[np.intp] | None
) -> NDArray[np.intp] | None:
    """Return labels (m,) within the limits, or None where a greedy choice finds none.

    Blocks that are cannot-linked keep together as labels (m,), a colouring, have them; the others
    go where most room remains, the largest first.
    """
    counts, k = quantity.linear, contraction.k
    least, most = quantity.bounds
    sizes = np.zeros(k, np.intp)
    found = np.full(contraction.n_blocks, -1, np.intp)
    linked = np.unique(contraction.cannot_link)
    if len(linked):
        assert labels is not None
        of_colours = np.bincount(labels[linked], counts[linked], k).astype(np.intp)
        # The largest colour goes where most room is.
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
    # Single points go where sizes lack some to the least, then where room is to the most.
    single = free[are_single]
    lacking = np.maximum(least - sizes, 0)
    room = np.concatenate([lacking, np.maximum(most - sizes - lacking, 0)])
    ends = np.cumsum(np.minimum(room, len(single)))
    place = np.searchsorted(ends, np.arange(len(single)), "right")
    found[single] = np.where(place < 2 * k, place % k, -1)
    return found if (found >= 0).all() and contraction.keeps_sizes(found) else None


class UndecidedPacking(Exception):
    """A search for a packing that its work does not suffice for."""


class ClusterPacking:
    """Depth-first search for a packing in whole numbers, a cluster at each depth.

    Each cluster in turn takes the largest block that remains, with a set of others. These are found
    by their sums of one measure: the blocks are dealt out to two halves, and each subset of one is
    met by the subsets of the other, sorted by their sums, that make up what is missing. So narrow
    limits are met without a look at all sets: of 40 blocks, a million subsets of either half.

    measures : one or more, whole numbers (m,) >= 1 of the blocks and the limits on their sums
    adjacency : (m, m) symmetric, the cannot-links
    at_step : called between steps; what it raises ends the search
    """

    def __init__(
        self,
        measures: Sequence[Measure],
        adjacency: NDArray[np.bool_],
        work: int = WORK,
        at_step: Callable[[], None] = lambda: None,
    ) -> None:
        self._values = np.array([of_block for of_block, _ in measures], np.int64)
        self._bounds = tuple(zip(*(limits.bounds() for _, limits in measures), strict=True))
        self._adjacency = adjacency
        self._work, self._at_step = work, at_step
        # Sets are looked for by the measure that tells most of them apart.
        self._finest = int(self._values.sum(axis=1).argmax())

    def labels(self) -> NDArray[np.intp] | None:
        """Return a packing: the cluster (m,) of each block; None if there is none.

        Raises
        ------
        UndecidedPacking
            If that is not decided within the work of a search.
        """
        order = np.argsort(-self._values[self._finest], kind="stable")
        return next(self._packings(order, self._bounds, np.full(len(order), -1, np.intp)), None)

    def _packings(
        self, blocks: NDArray[np.intp], bounds: tuple[Bounds, ...], labels: NDArray[np.intp]
    ) -> Iterator[NDArray[np.intp]]:
        """Yield the packings of blocks (q,), the largest first, into clusters of these bounds.

        labels : (m,) of what is packed already
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
        """Yield the sets with the first block that may be a cluster, as marks (q,).

        They leave as much to the others as these may have.
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
    """Return the sums (2^q,) of all subsets of values (q,): bit i of a position is value i."""
    sums = np.zeros(1, np.int64)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums
