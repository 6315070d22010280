"""Dual values of the relaxation as evidence of a certificate."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sdpbb.bounds.evidence import Cuts, Semidefinite
from sdpbb.bounds.sdp.cuts.cut_set import DefiningBlocks
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, cut_sums, nonnegative_part
from sdpbb.checker import cuts as checker_cuts
from sdpbb.checker.cuts import family_number

# Entries of N below this part of the largest are dropped.
NEGLIGIBLE = 1e-12
# Families whose matrices depend on what is known of a node, more than when a cut was found.
_STRICTER = ("pentagons", "point_sets", "weight_sets", "point_cliques", "weight_cliques")


def semidefinite_evidence(
    relaxation: Relaxation, dual: DualPoint, precision: DTypeLike = np.float32
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
    # In the order of the checker's families.
    active = active[np.argsort(dual.cuts.members.kind[active], kind="stable")]
    cuts = checked_cuts(dual.cuts.members.select(active), relaxation.k)
    entries = nonnegative_part(relaxation, dual) + _stricter_by(relaxation, dual, cuts)
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


def _stricter_by(
    relaxation: Relaxation, dual: DualPoint, cuts: Cuts
) -> NDArray[np.float64] | float:
    """Return the excess (m, m) of the cuts of a dual point over those of a certificate.

    It is that of the families which may be stricter in the certificate, with their multipliers, and
    is >= 0 off the cannot-links: sums of entries of Z.
    """
    places = [family_number(name) for name in _STRICTER]
    chosen = np.isin(dual.cuts.members.kind, places) & (dual.multipliers > 0.0)
    if not chosen.any():
        return 0.0
    t = dual.multipliers[chosen]
    order = np.argsort(dual.cuts.members.kind[chosen], kind="stable")
    total, absolute = cut_sums(dual.cuts.select(chosen), t, relaxation.m)
    names = [
        key for place in places for key in checker_cuts.FAMILIES[place].names if key in cuts.arrays
    ]
    theirs = Cuts.of(relaxation.k, {name: cuts.arrays[name] for name in names})
    sums = theirs.sums(t[order], relaxation.checked_node)
    less = total - sums.matrix
    less[np.abs(less) < NEGLIGIBLE * absolute] = 0.0
    return np.where(relaxation.forbidden, less, np.maximum(less, 0.0))


def checked_cuts(members: DefiningBlocks, k: int) -> Cuts:
    """Return the cuts with these defining blocks, sorted by kind, as the checker has them."""
    arrays: dict[str, NDArray[np.integer]] = {}
    for place, family in enumerate(checker_cuts.FAMILIES):
        some = members.select(np.flatnonzero(members.kind == place))
        if not len(some.kind):
            continue
        part_start, parts = _parts_once(some)
        columns = family.keys[0].columns_for(k)
        rows = some.blocks if columns is None else some.blocks.reshape(-1, columns)
        sets = part_start, parts[:, 1].astype(np.int32), parts[:, 2]
        match len(family.keys), columns:
            case 1, _:
                found: tuple[NDArray[np.integer], ...] = (rows,)
            case 2, _:
                found = some.start, some.blocks
            case 3, None:
                found = sets
            case 3, _:
                found = rows, part_start, parts.astype(np.int32)
            case _:
                found = *sets, some.start, some.blocks
        arrays |= dict(zip(family.names, found, strict=True))
    return Cuts.of(k, arrays)


def _parts_once(members: DefiningBlocks) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the starts and rows of parts, those of the same block as one."""
    count = len(members.kind)
    owner = np.repeat(np.arange(count), np.diff(members.part_start))
    place, block, measure = members.parts.T
    rows, inverse = np.unique(np.column_stack([owner, place, block]), axis=0, return_inverse=True)
    total = np.zeros(len(rows), np.int64)
    np.add.at(total, inverse.reshape(-1), measure)
    start = np.concatenate([[0], np.cumsum(np.bincount(rows[:, 0], minlength=count))])
    return start.astype(np.int64), np.column_stack([rows[:, 1:], total])
