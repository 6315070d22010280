"""Dual values of the relaxation as evidence of a certificate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sdpbb.bounds.sdp.cuts.cliques import extreme_sizes
from sdpbb.bounds.sdp.cuts.cut_set import KINDS, DefiningBlocks, kind_number
from sdpbb.bounds.sdp.cuts.pentagons import CIRCLE
from sdpbb.bounds.sdp.cuts.sizes import size_pair_entries
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, cut_sums, nonnegative_part
from sdpbb.checker.kernel.arithmetic import down, up
from sdpbb.checker.kernel.cuts import Cuts
from sdpbb.checker.kernel.cuts.capacities import MeasureRows, SetCliques, Sets
from sdpbb.checker.kernel.cuts.inequalities import Group
from sdpbb.checker.kernel.cuts.lifted import LiftedPentagons, SoftTerms
from sdpbb.checker.kernel.cuts.templates import Templates, Vectors
from sdpbb.checker.kernel.dual import Semidefinite
from sdpbb.checker.kernel.sizes import SizeLimits
from sdpbb.problem import Contraction

# Entries of N below this part of the largest are dropped.
NEGLIGIBLE = 1e-12
# Kinds whose matrices depend on facts of the node. A child may know more facts than the node that
# found the cut.
_STRICTER = ("pentagons", "point_sets", "weight_sets", "point_cliques", "weight_cliques")


def checkable(contraction: Contraction, evidence: Any) -> Iterator[Any]:
    """Yield the evidence of a bound as the checker reads it, the shortest first.

    Dual values come in single precision, then in double precision, which may prove more. Other
    evidence has the checker's form already.
    """
    if not isinstance(evidence, DualPoint):
        yield evidence
        return
    relaxation = Relaxation.of(contraction)
    for precision in (np.float32, np.float64):
        yield semidefinite_evidence(relaxation, evidence, precision)


def semidefinite_evidence(
    relaxation: Relaxation, dual: DualPoint, precision: DTypeLike
) -> Semidefinite:
    """Return a dual point as evidence, in the requested precision.

    Any N >= 0 and multipliers >= 0 prove a bound. Once it has converged, their rounding changes it
    only to second order.

    The checker writes pentagons by the cannot-links of the node, and cuts on sets by the limits on
    clusters. In a child they may be stricter than in the node that found the cut. The difference is
    added to N.
    """
    # A power of two, so that the change of units is exact.
    unit = math.ldexp(1.0, round(math.log2(relaxation.scale)))
    factor = relaxation.scale / unit
    active = np.flatnonzero(dual.multipliers > 0.0)
    cuts, order = checked_cuts(dual.cuts.members.select(active), relaxation)
    active = active[order]
    entries = nonnegative_part(relaxation, dual) + _stricter_by(relaxation, dual)
    N = entries[np.triu_indices(relaxation.m)] * factor
    # Drop rounding errors of the method between blocks of one cluster: a sixth of all entries.
    N[np.abs(N) < NEGLIGIBLE * np.abs(N).max(initial=0.0)] = 0.0
    with np.errstate(over="ignore"):  # the checker detects infinite numbers
        return Semidefinite(
            unit=unit,
            N=N.astype(precision),
            cuts=cuts,
            multipliers=(dual.multipliers[active] * factor).astype(precision),
        )


def _stricter_by(relaxation: Relaxation, dual: DualPoint) -> NDArray[np.float64] | float:
    """Return the excess (m, m) of the cuts of a dual point over the cuts of a certificate.

    Only kinds that may be stricter in the certificate have one. It is multiplied by the
    multipliers, and >= 0 off the cannot-links.
    """
    places = [kind_number(kind) for kind in _STRICTER]
    chosen = np.isin(dual.cuts.members.kind, places) & (dual.multipliers > 0.0)
    if not chosen.any():
        return 0.0
    t = dual.multipliers[chosen]
    total, absolute = cut_sums(dual.cuts.select(chosen), t, relaxation.m)
    theirs, order = checked_cuts(dual.cuts.select(chosen).members, relaxation)
    sums = theirs.sums(t[order], relaxation.node)
    less = total - sums.matrix
    less[np.abs(less) < NEGLIGIBLE * absolute] = 0.0
    return np.where(relaxation.forbidden, less, np.maximum(less, 0.0))


def checked_cuts(members: DefiningBlocks, relaxation: Relaxation) -> tuple[Cuts, NDArray[np.intp]]:
    """Return the cuts with these defining blocks in the form of a certificate, and their order."""
    groups, order = [], [np.empty(0, np.intp)]
    for number in np.unique(members.kind):
        of_kind = np.flatnonzero(members.kind == number)
        for group, own in _groups(KINDS[number], members.select(of_kind), relaxation):
            groups.append(group)
            order.append(of_kind[own])
    return Cuts(tuple(groups)), np.concatenate(order)


def _groups(
    kind: str, members: DefiningBlocks, relaxation: Relaxation
) -> Iterator[tuple[Group, NDArray[np.intp]]]:
    """Yield groups of cuts, all of one kind, and their positions."""
    count, rows = len(members.kind), _rows_once(members)
    if kind not in ("vectors", "largest_cliques", "smallest_cliques"):
        yield _group(kind, rows, count, relaxation), np.arange(count)
        return
    cut, _, block, number = rows
    cut, _, block, number = rows[:, np.lexsort((block, number, cut))]
    lengths = np.bincount(cut, minlength=count)
    for length in np.unique(lengths).tolist():
        own, is_own = np.flatnonzero(lengths == length), lengths[cut] == length
        blocks, y = (each[is_own].reshape(-1, length) for each in (block, number))
        vectors, which = np.unique(y, axis=0, return_inverse=True)
        for position, vector in enumerate(vectors.tolist()):
            alike = which.reshape(-1) == position
            of_vector = blocks[alike].astype(np.int32), tuple(vector)
            yield Vectors(*of_vector, *_factors(kind, relaxation)), own[alike]


def _factors(kind: str, relaxation: Relaxation) -> tuple[int, int]:
    """Return alpha and beta of integer vectors (`sdpbb.checker.kernel.cuts.templates`)."""
    if kind == "vectors":
        return 1, 0
    assert isinstance(relaxation.limits, SizeLimits)
    assert relaxation.limits.exact is not None
    return extreme_sizes(relaxation.limits.exact, kind == "largest_cliques")[1:]


def _group(kind: str, rows: NDArray[np.int64], count: int, relaxation: Relaxation) -> Group:
    """Return the group of all cuts of a kind, from the rows of `_rows_once`."""
    cut, place, block, number = rows
    limits, unit = relaxation.limits, "points" if kind.startswith("point") else "units"
    lists = np.column_stack([cut, block]).astype(np.int32)
    is_first = place == 0
    match kind:
        case "point_sets" | "weight_sets":
            return Sets(rows[[0, 2, 3]].T, count, unit)
        case "point_cliques" | "weight_cliques":
            leaves = np.repeat(lists[~is_first], number[~is_first], axis=0)
            return SetCliques(rows[[0, 2, 3]].T[is_first], count, unit, leaves)
        case "pentagons":
            is_circle = place >= CIRCLE[0]
            circles = lists[is_circle, 1].reshape(count, -1)
            return LiftedPentagons(circles, rows.T[~is_circle].astype(np.int32))
    blocks = lists[:, 1].reshape(count, -1)
    match kind:
        case "soft_cannot_links" | "soft_must_links":
            return SoftTerms(blocks, kind.split("_")[1])
        case "most_point_rows" | "least_point_rows":
            return MeasureRows(blocks, kind.split("_")[0])
    assert limits is not None
    match kind:
        case "most_points":
            return Templates(blocks, 1, ((0, 0, 1.0),), down(1.0 / float(limits.most)))
        case "least_points":
            return Templates(blocks, 1, ((0, 0, -1.0),), -up(1.0 / float(limits.least)))
    return Templates(blocks, 2, size_pair_entries(limits), 0.0)


def _rows_once(members: DefiningBlocks) -> NDArray[np.int64]:
    """Return the rows (4, number) of all cuts: cut, place, block and number, in this order.

    Rows with the same place and block of a cut become one, and their numbers add up.
    """
    rows = np.stack([members.owner, members.place, members.block, members.number]).astype(np.int64)
    rows = rows[:, np.lexsort(rows[2::-1])]
    is_new = np.append(True, (np.diff(rows[:3]) != 0).any(axis=0))[: rows.shape[1]]
    once = rows[:, is_new]
    once[3] = np.add.reduceat(rows[3], np.flatnonzero(is_new))
    return once
