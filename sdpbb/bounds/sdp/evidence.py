"""Dual values of the relaxation as evidence of a certificate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sdpbb.bounds.evidence import Cuts, Semidefinite
from sdpbb.bounds.sdp.cuts.cut_set import KINDS, DefiningBlocks, kind_number
from sdpbb.bounds.sdp.cuts.sizes import difference_down
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, cut_sums, nonnegative_part
from sdpbb.checker.kernel.arithmetic import down, up
from sdpbb.checker.kernel.cuts.capacities import SetCliques, Sets
from sdpbb.checker.kernel.cuts.inequalities import Group
from sdpbb.checker.kernel.cuts.lifted import LiftedPentagons, SoftTerms
from sdpbb.checker.kernel.cuts.measures import ListedCliques, MeasureRows, Traces
from sdpbb.checker.kernel.cuts.templates import Cliques, Templates, Vectors
from sdpbb.problem import Contraction

# Entries of N below this part of the largest are dropped.
NEGLIGIBLE = 1e-12
# Kinds whose matrices depend on what is known of a node, more than when a cut was found.
_STRICTER = ("pentagons", "point_sets", "weight_sets", "point_cliques", "weight_cliques")


def checkable(contraction: Contraction, evidence: Any) -> Iterator[Any]:
    """Yield the evidence of a bound as the checker reads it, the shortest first.

    Dual values come in single precision, then in double precision, which may prove more. Other
    evidence is as the checker reads it.
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
    """Return a dual point as evidence, in the precision asked for.

    Any N >= 0 and multipliers >= 0 prove something, and where the bound has converged their
    rounding moves it to second order only.

    The checker writes pentagons for the cannot-links of the node, and cuts on sets for what is
    known of the weights of clusters. Where a child knows more than the node that found a cut, the
    checker's cut is stricter. The difference goes to N.
    """
    # A power of two, so that nothing is lost by the change of units.
    unit = math.ldexp(1.0, round(math.log2(relaxation.scale)))
    factor = relaxation.scale / unit
    active = np.flatnonzero(dual.multipliers > 0.0)
    cuts, order = checked_cuts(dual.cuts.members.select(active), relaxation)
    active = active[order]
    entries = nonnegative_part(relaxation, dual) + _stricter_by(relaxation, dual)
    N = entries[np.triu_indices(relaxation.m)] * factor
    # What the method's rounding has left where blocks share clusters: a sixth of all entries.
    N[np.abs(N) < NEGLIGIBLE * np.abs(N).max(initial=0.0)] = 0.0
    with np.errstate(over="ignore"):  # what is infinite proves nothing, and is detected
        return Semidefinite(
            unit=unit,
            N=N.astype(precision),
            cuts=cuts,
            multipliers=(dual.multipliers[active] * factor).astype(precision),
        )


def _stricter_by(relaxation: Relaxation, dual: DualPoint) -> NDArray[np.float64] | float:
    """Return the excess (m, m) of the cuts of a dual point over those of a certificate.

    It is that of the kinds which may be stricter in the certificate, with their multipliers, and
    is >= 0 off the cannot-links: sums of entries of Z.
    """
    places = [kind_number(kind) for kind in _STRICTER]
    chosen = np.isin(dual.cuts.members.kind, places) & (dual.multipliers > 0.0)
    if not chosen.any():
        return 0.0
    t = dual.multipliers[chosen]
    total, absolute = cut_sums(dual.cuts.select(chosen), t, relaxation.m)
    theirs, order = checked_cuts(dual.cuts.select(chosen).members, relaxation)
    sums = theirs.sums(t[order], relaxation.checked_node)
    less = total - sums.matrix
    less[np.abs(less) < NEGLIGIBLE * absolute] = 0.0
    return np.where(relaxation.forbidden, less, np.maximum(less, 0.0))


def checked_cuts(members: DefiningBlocks, relaxation: Relaxation) -> tuple[Cuts, NDArray[np.intp]]:
    """Return the cuts with these defining blocks as a certificate has them, and their order."""
    none, groups, order = Cuts(), list[Group](), [np.empty(0, np.intp)]
    blocks: list[NDArray[np.integer]] = [none.blocks]
    own_parts, estimates = [none.parts], [none.estimates]
    for number in np.unique(members.kind):
        chosen = np.flatnonzero(members.kind == number)
        for group, own in _groups_of_kind(KINDS[number], members.select(chosen), relaxation):
            some = members.select(chosen[own])
            parts = _parts_once(some)[0]
            if isinstance(group, LiftedPentagons):
                estimates.append(parts.astype(np.int32))
            elif isinstance(group, Sets):
                own_parts.append(parts[:, 2])
                blocks.append(parts[:, 1])
            elif isinstance(group, Vectors) and not len(some.blocks):
                blocks.append(parts[:, 1])  # their numbers are the parts
            blocks.append(some.blocks)
            groups.append(group)
            order.append(chosen[own])
    cuts = Cuts(
        tuple(groups),
        np.concatenate(blocks).astype(np.int32),
        np.concatenate(own_parts).astype(np.int64),
        np.concatenate(estimates),
    )
    return cuts, np.concatenate(order)


def _groups_of_kind(
    kind: str, members: DefiningBlocks, relaxation: Relaxation
) -> Iterator[tuple[Group, Any]]:
    """Yield groups of the cuts of a kind, and their positions or a slice of these."""
    match kind:
        case "stars":
            lengths = np.diff(members.start)
            for length in np.unique(lengths).tolist():
                own = np.flatnonzero(lengths == length)
                yield Vectors(len(own), (-1, *[1] * (length - 1))), own
        case "vectors":
            rows, lengths = _parts_once(members)
            numbers: dict[tuple[int, ...], list[int]] = {}
            for cut, row in enumerate(np.split(rows[:, 2], np.cumsum(lengths)[:-1])):
                numbers.setdefault(tuple(row.tolist()), []).append(cut)
            for vector, cuts in numbers.items():
                yield Vectors(len(cuts), vector), cuts
        case _:
            yield _group(kind, members, relaxation), slice(None)


def _group(kind: str, members: DefiningBlocks, relaxation: Relaxation) -> Group:
    """Return the group of all cuts of a kind."""
    count, limits = len(members.kind), relaxation.cluster_limits
    own = tuple(np.diff(members.start).tolist())
    parts = tuple(_parts_once(members)[1].tolist())
    match kind:
        case "cliques":
            return Cliques(count)
        case "complements":
            return Templates(count, 3, ((0, 0, -1.0), (0, 1, 1.0), (0, 2, 1.0)), 0.0)
        case "pentagons":
            return LiftedPentagons(parts)
        case "soft_cannot_links" | "soft_must_links":
            return SoftTerms(count, kind.split("_")[1])
        case "most_point_rows" | "least_point_rows":
            return MeasureRows(count, kind.split("_")[0])
        case "traces":
            return Traces(own)
        case "largest_cliques" | "smallest_cliques":
            return ListedCliques(count, own[0], kind.split("_")[0])
        case "point_sets" | "weight_sets":
            return Sets(parts, _UNITS[kind.split("_")[0]])
        case "point_cliques" | "weight_cliques":
            return SetCliques(parts, _UNITS[kind.split("_")[0]], own)
    assert limits is not None
    least, most = float(limits.least), float(limits.most)
    match kind:
        case "most_points":
            return Templates(count, 1, ((0, 0, 1.0),), down(1.0 / most))
        case "least_points":
            return Templates(count, 1, ((0, 0, -1.0),), -up(1.0 / least))
    apart = -difference_down(most, least)
    return Templates(count, 2, ((0, 0, most), (1, 1, -least), (0, 1, apart)), 0.0)


_UNITS = {"point": "points", "weight": "units"}


def _parts_once(members: DefiningBlocks) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return the rows of parts, those of the same place and block of a cut as one.

    With them comes how many each cut has.
    """
    owner = np.repeat(np.arange(len(members.kind)), np.diff(members.part_start))
    place, block, measure = members.parts.T
    rows, inverse = np.unique(np.column_stack([owner, place, block]), axis=0, return_inverse=True)
    total = np.zeros(len(rows), np.int64)
    np.add.at(total, inverse.reshape(-1), measure)
    lengths = np.bincount(rows[:, 0], minlength=len(members.kind))
    return np.column_stack([rows[:, 1:], total]), lengths
