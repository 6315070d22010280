"""Instance of a subset: its points, with the constraints among them; constraints left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.kernel.sizes import TOLERANCE, WeightUnits
from sdpbb.problem import Contraction, Instance, SoftPairs, contract
from sdpbb.problem.graph import connected_components
from sdpbb.problem.quantities import WEIGHT
from sdpbb.run.decomposition.subsets import SubsetBounds
from sdpbb.runtime.values import counted

# Part of the greatest weight from which a subset has the limit: as far as rounding may matter.
NEARLY = 1.0 - 1e-6


class Restriction:
    """Restriction of an instance to subsets of its points, with what is stated of them alone.

    It is what a checker sees, who knows nothing of what follows from the constraints of others.
    Whatever clustering keeps the constraints of the instance, its restriction to a subset keeps
    those of the subset's instance, but that it may have fewer than k clusters. Least sizes and
    weights and listed sizes are dropped.

    For the soft pairs inside of subsets it pays no more than for all. It may have to be divided
    into k clusters, which costs nothing: where must-links, soft ones included, leave fewer than k
    components of a subset's points, its soft must-links are dropped; else some cluster has points
    of several components as long as there are fewer than k clusters.
    """

    def __init__(self, instance: Instance, is_certified: bool = False) -> None:
        """is_certified : drop limits on weights, whose units are those of all points"""
        self._instance = instance
        limits = instance.size_limits
        # A cluster may have few points in a subset, or none, but not more than in all.
        self._most = None if limits is None else limits.most
        self._heaviest = None if is_certified else _heaviest(instance)

    def instance(self, rows: NDArray[np.intp]) -> Instance:
        """Return the instance of a subset: rows (s,), k or more, in increasing order."""
        whole = self._instance
        place = np.full(whole.n_points, -1, dtype=np.intp)
        place[rows] = np.arange(len(rows))
        must_link, cannot_link = (
            _inside(p, place)[0] for p in (whole.must_link, whole.cannot_link)
        )
        pairs, is_inside = _inside(whole.soft_must_link.pairs, place)
        linked = np.concatenate([must_link, pairs])
        if len(pairs) and int(connected_components(len(rows), linked).max()) + 1 < whole.k:
            pairs, is_inside = pairs[:0], np.zeros_like(is_inside)
        apart, are_inside = _inside(whole.soft_cannot_link.pairs, place)
        each = (constraint.restricted(place) for constraint in whole.cluster_constraints)
        return Instance(
            whole.points[rows],
            whole.k,
            must_link=must_link,
            cannot_link=cannot_link,
            cluster_constraints=[constraint for constraint in each if constraint is not None],
            weights=None if whole.weights is None else whole.weights[rows],
            max_size=self._most,
            max_weight=self._max_weight(rows),
            soft_must_link=SoftPairs(pairs, whole.soft_must_link.weights[is_inside]),
            soft_cannot_link=SoftPairs(apart, whole.soft_cannot_link.weights[are_inside]),
        )

    def _max_weight(self, rows: NDArray[np.intp]) -> float | None:
        """Return the greatest weight of a cluster of these points; None where all are lighter."""
        weights, heaviest = self._instance.weights, self._heaviest
        if weights is None or heaviest is None:
            return None
        return heaviest if weights[rows].sum() > heaviest * NEARLY else None


def _heaviest(instance: Instance) -> float | None:
    """Return a little more than a cluster may weigh; None: no limit.

    Units of a subset are smaller than those of the whole, and weights rounded anew.
    """
    limits = [each.limits for each in instance.rules.quantities if each.name == WEIGHT]
    if not limits or limits[0].most >= limits[0].n:
        return None
    unit = WeightUnits.of(instance.weights, instance.n_points).unit
    return limits[0].most * unit * (1.0 + 2.0 * float(TOLERANCE))


def _inside(
    pairs: NDArray[np.intp], place: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the pairs (p, 2) among some points, by their places there, and which pairs these are.

    place : (n,) of the points, -1 of the others
    """
    found = place[pairs]
    is_inside = np.asarray((found >= 0).all(axis=1))
    return found[is_inside], is_inside


def rows_of(contraction: Contraction, blocks: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the points of some blocks, in increasing order."""
    chosen = np.zeros(contraction.n_blocks, dtype=bool)
    chosen[blocks] = True
    return np.flatnonzero(chosen[contraction.block_of])


def n_across(contraction: Contraction, subset_of: NDArray[np.intp]) -> int:
    """Return how many cannot-links are across subsets.

    subset_of : (m,) the subset of each block
    """
    i, j = contraction.cannot_link.T
    return int((subset_of[i] != subset_of[j]).sum())


def left_out(instance: Instance, bounds: SubsetBounds) -> tuple[str, ...]:
    """Return a line for each kind of constraints of which the bounds of subsets know nothing.

    instance : as it was dealt out to the subsets
    bounds : whose best sum is the bound
    """
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)  # it has been dealt out
    restriction, best = Restriction(instance), bounds.best_partition()
    subset_of = np.empty(contraction.n_blocks, np.intp)
    parts = []
    for subset in best:
        blocks = bounds.tree.blocks(subset)
        subset_of[blocks] = subset
        if len(blocks) >= instance.k:
            parts.append(restriction.instance(rows_of(contraction, blocks)))
    told = []
    has_least = (instance.min_size or 1) > 1 or instance.min_weight is not None
    if has_least or instance.sizes is not None:
        told.append("bounds of subsets ignore minimum sizes, minimum weights and listed sizes")
    # Certificates state greatest weights in the units of the whole.
    is_certified = bounds.proofs is not None and instance.max_weight is not None
    if is_certified and any(part.max_weight is not None for part in parts):
        told.append("certified bounds of subsets ignore maximum weights")
    across = n_across(contraction, subset_of)
    if across and len(instance.cannot_link):
        told.append(f"bounds of subsets ignore {counted(across, 'cannot-link')} between subsets")
    if n_soft := _n_soft(instance) - sum(map(_n_soft, parts)):
        told.append(f"bounds of subsets ignore {counted(n_soft, 'soft constraint')}")
    return tuple(told)


def _n_soft(instance: Instance) -> int:
    return len(instance.soft_must_link) + len(instance.soft_cannot_link)
