"""Implications of feasible constraints: pairs that they force together, and redundant ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from sdpbb.problem import Contraction, Infeasibility, Instance, contract
from sdpbb.problem.graph import connected_components, spanning_forest
from sdpbb.problem.statements import Catalogue, Statement
from sdpbb.run.explanation.explain import diagnose
from sdpbb.runtime.time_left import TimeLeft


@dataclass(frozen=True)
class ForcedPair:
    """Two points that share a cluster in every clustering that keeps the constraints.

    No path of must-links connects them.

    Attributes
    ----------
    rows, names : the points, by number and as the user calls them
    reasons : constraints that force them together, none of which can be left out; () if that was
        not decided in time
    """

    rows: tuple[int, int]
    names: tuple[str, ...]
    reasons: tuple[Statement, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return plain values; rows are named as the user does."""
        reasons = [reason.to_dict() for reason in self.reasons]
        return {"rows": list(self.names), "reasons": reasons}


def forced_pairs(instance: Instance, contraction: Contraction) -> list[tuple[int, int]]:
    """Return the pairs (i, j) of points that propagation has found to share a cluster.

    Each point is the first of its must-linked group. There is one pair for each group, with the
    first of those it is joined with.
    """
    n = instance.n_points
    group = connected_components(n, instance.must_link)
    first = np.unique(group, return_index=True)[1]
    joined = contraction.representatives[contraction.block_of[first]]
    return [(int(i), int(j)) for i, j in zip(joined, first, strict=True) if i != j]


def forced_pair(instance: Instance, pair: tuple[int, int], seconds: float) -> ForcedPair:
    """Return a forced pair with its reasons.

    These are the constraints that contradict a cannot-link between the two points.
    """
    names = tuple(instance.origin.rows(pair))
    apart = np.concatenate([instance.cannot_link, np.array([pair])])
    conflict = diagnose(replace(instance, cannot_link=apart), seconds).conflict
    if conflict is None:
        return ForcedPair(pair, names)
    added = ("cannot_link", len(apart) - 1)
    reasons = tuple(m for m in conflict.members if (m.argument, m.position) != added)
    return ForcedPair(pair, names, reasons)


def redundant(instance: Instance, time_left: TimeLeft) -> tuple[list[int], bool]:
    """Return must-links and cannot-links that can be left out together, as the others imply them.

    They are those stated one by one; those stated last are left out.

    Returns
    -------
    their numbers in a `Catalogue`, in increasing order; whether the time was enough to try all.
    Those are found that propagation finds: there may be more.
    """
    catalogue = Catalogue(instance)
    stated = catalogue.stated_pairs
    left_out = set(_implied_pairs(catalogue)).intersection(stated) | catalogue.stated_and_implied
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility) or not forced_pairs(instance, contraction):
        return sorted(left_out), True
    for number in reversed(stated):
        if time_left() <= 0.0:
            return sorted(left_out), False
        if number not in left_out and is_implied(catalogue, number, left_out):
            left_out.add(number)
    return sorted(left_out), True


def is_implied(catalogue: Catalogue, number: int, left_out: Collection[int] = ()) -> bool:
    """Return whether propagation finds that other constraints imply a must-link or a cannot-link.

    The others are without some that are left out.
    """
    others = [i for i in range(len(catalogue)) if i != number and i not in left_out]
    contraction = contract(catalogue.restricted(others))
    if isinstance(contraction, Infeasibility):
        return True
    must_link, cannot_link, _ = catalogue.split([number])
    if len(must_link):
        i, j = contraction.block_of[must_link[0]]
        return bool(i == j)
    apart = np.sort(contraction.block_of[cannot_link[0]])
    return bool((contraction.cannot_link == apart).all(axis=1).any())


def _implied_pairs(catalogue: Catalogue) -> Iterator[int]:
    """Return the numbers of the pairs that earlier pairs imply.

    They are must-links whose ends earlier ones connect, and cannot-links between groups of
    must-linked points that an earlier one, or a maximum diameter, keeps apart.
    """
    n, p = catalogue.instance.n_points, len(catalogue.must_link)
    yield from sorted(set(range(p)) - set(spanning_forest(n, catalogue.must_link)))
    group = connected_components(n, catalogue.must_link)
    # Diameters first: they stay in any case.
    q = len(catalogue.instance.cannot_link)
    order = np.concatenate([np.arange(q, len(catalogue.cannot_link)), np.arange(q)])
    edges = np.sort(group[catalogue.cannot_link[order]], axis=1)
    _, first = np.unique(edges @ [n, 1], return_index=True)
    yield from (p + order[np.setdiff1d(np.arange(len(edges)), first)]).tolist()
