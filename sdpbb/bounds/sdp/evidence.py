"""Dual values of the relaxation as evidence of a certificate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sdpbb.bounds.evidence import Cuts, Semidefinite
from sdpbb.bounds.sdp.cuts.cliques import extreme_sizes
from sdpbb.bounds.sdp.cuts.cut_set import KINDS, DefiningBlocks, kind_number
from sdpbb.bounds.sdp.cuts.sizes import difference_down
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, cut_sums, nonnegative_part
from sdpbb.checker.kernel.arithmetic import down, up
from sdpbb.checker.kernel.cuts.capacities import MeasureRows, SetCliques, Sets, Traces
from sdpbb.checker.kernel.cuts.inequalities import Group
from sdpbb.checker.kernel.cuts.lifted import LiftedPentagons, SoftTerms
from sdpbb.checker.kernel.cuts.templates import Templates, Vectors
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
    groups: list[tuple[Group, NDArray[np.intp]]] = []
    for number in np.unique(members.kind):
        groups += _groups_of_kind(members, relaxation, number)
    if not groups:
        return Cuts(), np.empty(0, np.intp)
    return Cuts(tuple(group for group, _ in groups)), np.concatenate([at for _, at in groups])


def _groups_of_kind(
    members: DefiningBlocks, relaxation: Relaxation, number: int
) -> Iterator[tuple[Group, NDArray[np.intp]]]:
    """Yield groups of the cuts of a kind, and their positions among all."""
    chosen = np.flatnonzero(members.kind == number)
    some = members.select(chosen)
    match KINDS[number]:
        case "stars":
            lengths = np.diff(some.start)
            for length in np.unique(lengths).tolist():
                own = np.flatnonzero(lengths == length)
                rows = some.select(own).blocks.reshape(-1, length)
                yield Vectors(rows, (-1, *[1] * (length - 1))), chosen[own]
        case "vectors":
            parts = _parts_once(some)
            cuts_of: dict[tuple[int, ...], list[int]] = {}
            blocks = []
            for cut, row in enumerate(np.split(parts, np.flatnonzero(np.diff(parts[:, 0])) + 1)):
                cuts_of.setdefault(tuple(row[:, 3].tolist()), []).append(cut)
                blocks.append(row[:, 2].astype(np.int32))
            for vector, cuts in cuts_of.items():
                yield Vectors(np.stack([blocks[cut] for cut in cuts]), vector), chosen[cuts]
        case kind:
            yield _group(kind, some, relaxation), chosen


def _group(kind: str, members: DefiningBlocks, relaxation: Relaxation) -> Group:
    """Return the group of all cuts of a kind."""
    count, limits = len(members.kind), relaxation.cluster_limits
    parts = _parts_once(members)
    owner = np.repeat(np.arange(count), np.diff(members.start))
    lists = np.column_stack([owner, members.blocks]).astype(np.int32)
    match kind:
        case "traces":
            return Traces(lists, count)
        case "point_sets" | "weight_sets":
            return Sets(parts[:, [0, 2, 3]], count, _UNITS[kind.split("_")[0]])
        case "point_cliques" | "weight_cliques":
            return SetCliques(parts[:, [0, 2, 3]], count, _UNITS[kind.split("_")[0]], lists)
    rows = members.blocks.reshape(count, -1)
    match kind:
        case "cliques":
            return Vectors(rows, (1,) * (relaxation.k + 1))
        case "largest_cliques" | "smallest_cliques":
            assert relaxation.size_limits is not None
            exact = relaxation.size_limits.exact
            assert exact is not None
            sizes = extreme_sizes(exact, kind == "largest_cliques")
            return Vectors(rows, (1,) * (sizes.count + 1), sizes.on_pairs, sizes.on_entries)
        case "complements":
            return Templates(rows, 3, ((0, 0, -1.0), (0, 1, 1.0), (0, 2, 1.0)), 0.0)
        case "pentagons":
            return LiftedPentagons(rows, parts.astype(np.int32))
        case "soft_cannot_links" | "soft_must_links":
            return SoftTerms(rows, kind.split("_")[1])
        case "most_point_rows" | "least_point_rows":
            return MeasureRows(rows, kind.split("_")[0])
    assert limits is not None
    least, most = float(limits.least), float(limits.most)
    match kind:
        case "most_points":
            return Templates(rows, 1, ((0, 0, 1.0),), down(1.0 / most))
        case "least_points":
            return Templates(rows, 1, ((0, 0, -1.0),), -up(1.0 / least))
    apart = -difference_down(most, least)
    return Templates(rows, 2, ((0, 0, most), (1, 1, -least), (0, 1, apart)), 0.0)


_UNITS = {"point": "points", "weight": "units"}


def _parts_once(members: DefiningBlocks) -> NDArray[np.int64]:
    """Return the parts (number, 4): cut, place, block, measure.

    Those of the same place and block of a cut are one.
    """
    owner = np.repeat(np.arange(len(members.kind)), np.diff(members.part_start))
    place, block, measure = members.parts.T
    rows, inverse = np.unique(np.column_stack([owner, place, block]), axis=0, return_inverse=True)
    total = np.zeros(len(rows), np.int64)
    np.add.at(total, inverse.reshape(-1), measure)
    return np.column_stack([rows, total])
