"""Contraction: must-linked points become weighted blocks; `lift` is its inverse on labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.kernel.rules import LARGEST_FOR_PAIRS
from sdpbb.checker.kernel.sizes import SizeLimits
from sdpbb.problem.cluster_constraints import ClusterConstraint, is_allowed
from sdpbb.problem.coordinates import (
    block_means,
    block_scatter,
    block_weights,
    centred,
    members_of,
)
from sdpbb.problem.graph import connected_components, distinct_edges, shortest_path
from sdpbb.problem.infeasibility import Infeasibility, InfeasibilityKind, forced_merges
from sdpbb.problem.instance import Instance
from sdpbb.problem.quantities import POINTS, Quantity, UpperLimits
from sdpbb.problem.soft_blocks import SoftBlocks

PairIterable = Iterable[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Contraction:
    """Contraction of an instance: the instance over its m blocks.

    A block is a set of points that share a cluster in every clustering that satisfies the
    constraints. Block i has weight e_i, mean c_i and scatter w_i. A clustering of the blocks costs

        sum_i w_i + sum_clusters sum_{i in C} e_i || c_i - mean_C ||^2,

    the sum of squares of the lifted labels, plus the weights of violated soft pairs.

    Attributes
    ----------
    k : number of clusters
    block_of : (n,) the block of each point; blocks are numbered by their first point
    weights : (m,) e, sums of the weights of points in the units of `Instance.scaled`, or numbers of
        points if points do not have weights
    means : (m, r) c, in the coordinates of `Instance.centred`, or with each component around its
        own mean
    scatter : (m,) w >= 0
    cannot_link : (q, 2) pairs of blocks i < j, sorted, without duplicates. They include the pairs
        that follow from constraints on clusters
    instance : the contracted instance if its rules on clusters say more than pairs
        (`Rules.go_beyond_pairs`); each single block satisfies them. None: pairs say all, and copies
        of the contraction do not carry the points
    soft : the soft pairs between blocks
    quantities : quantities of blocks, with limits on clusters
    """

    k: int
    block_of: NDArray[np.intp]
    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    scatter: NDArray[np.float64]
    cannot_link: NDArray[np.intp]
    instance: Instance | None = None
    soft: SoftBlocks = field(default_factory=SoftBlocks)
    quantities: tuple[Quantity, ...] = ()

    @property
    def n_blocks(self) -> int:
        return len(self.weights)

    @property
    def n_points(self) -> int:
        return len(self.block_of)

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """Number of points of each block, (m,)."""
        return np.bincount(self.block_of)

    @cached_property
    def limited_amounts(self) -> tuple[Quantity, ...]:
        """Limited quantities of which every block has some: points, weights, least amounts."""
        return tuple(each for each in self.quantities if each.has_all_points)

    @property
    def has_limits(self) -> bool:
        """True if sizes, weights or least amounts of clusters are limited."""
        return bool(self.limited_amounts)

    @property
    def size_limits(self) -> SizeLimits | None:
        """Limits on the numbers of points of clusters; None: no limits."""
        return next((each.limits for each in self.quantities if each.name == POINTS), None)

    @cached_property
    def representatives(self) -> NDArray[np.intp]:
        """First point of each block, (m,)."""
        return np.unique(self.block_of, return_index=True)[1]

    @cached_property
    def total(self) -> float:
        """Sum of squares of all points around the origin.

        The origin is the overall mean, or the mean of each component.
        """
        return float((self.scatter + self.weights * (self.means**2).sum(axis=1)).sum())

    @cached_property
    def adjacency(self) -> NDArray[np.bool_]:
        """Cannot-links between blocks, (m, m), symmetric."""
        adjacent = np.zeros((self.n_blocks, self.n_blocks), dtype=bool)
        i, j = self.cannot_link.T
        adjacent[i, j] = adjacent[j, i] = True
        return adjacent

    @cached_property
    def upper_limits(self) -> UpperLimits:
        """Upper limits on quantities that a set without cannot-links can exceed."""
        return UpperLimits.of(self.quantities, self.n_blocks, self.cannot_link)

    @cached_property
    def two_sided_quantities(self) -> tuple[Quantity, ...]:
        """Quantities with a lower limit or listed values, which parts of a cluster may violate."""
        return tuple(each for each in self.quantities if each.is_two_sided)

    @property
    def is_monotone(self) -> bool:
        """True if every part of an allowed cluster is allowed, and costs no more.

        A least that follows from the largest size or weight does not count: k clusters within that
        satisfy it anyway. `Instance.is_monotone` compares numbers of clusters.
        """
        return not self.two_sided_quantities and not self.soft

    @property
    def oracles(self) -> tuple[ClusterConstraint, ...]:
        """Constraints whose `allows` is called for each cluster."""
        return () if self.instance is None else self.instance.rules.oracles

    def allows(self, blocks: NDArray[np.intp]) -> bool:
        """Return whether a set of blocks, (s,) different numbers, s >= 1, may be a cluster."""
        if self.adjacency[blocks[:, None], blocks].any():
            return False
        return self.instance is None or self._keeps_constraints(self.instance, blocks)

    def keeps(self, labels: NDArray[np.intp]) -> bool:
        """Return whether every cluster of labels (m,) of the blocks is allowed.

        If sizes, weights or least amounts are limited, there must also be exactly k clusters.
        """
        labels = np.asarray(labels)
        if not self.keeps_sizes(labels):
            return False
        i, j = self.cannot_link.T
        if (labels[i] == labels[j]).any():
            return False
        if self.instance is None:
            return True
        clusters = (np.flatnonzero(labels == cluster) for cluster in np.unique(labels))
        return all(self._keeps_constraints(self.instance, blocks) for blocks in clusters)

    def keeps_sizes(self, labels: NDArray[np.intp]) -> bool:
        """Return whether the clusters of labels (m,) have allowed sizes, weights and amounts."""
        return all(each.is_satisfied(labels) for each in self.limited_amounts)

    def _keeps_constraints(self, instance: Instance, blocks: NDArray[np.intp]) -> bool:
        if not self.upper_limits.allow(blocks):
            return False
        if not self.oracles:
            return True
        return _are_allowed(self.oracles, instance, np.flatnonzero(np.isin(self.block_of, blocks)))

    def lift(self, labels: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return labels (n,) of the points from labels (m,) of the blocks."""
        return np.asarray(labels)[self.block_of]

    def cost(self, labels: NDArray[np.intp]) -> float:
        """Return the cost of the clustering in which block i has the label labels[i].

        The cost is the sum of squares plus the weights of the violated soft pairs.
        """
        total = float(self.scatter.sum()) + self.soft.penalty(np.asarray(labels))
        by_cluster = np.argsort(labels, kind="stable")
        ends = np.flatnonzero(np.diff(np.asarray(labels)[by_cluster])) + 1
        for members in np.split(by_cluster, ends):
            e, c = self.weights[members], self.means[members]
            centre = e @ c / e.sum()
            total += float(e @ ((c - centre) ** 2).sum(axis=1))
        return total


def contract(
    instance: Instance,
    must_link: PairIterable = (),
    cannot_link: PairIterable = (),
    blocks: NDArray[np.intp] | None = None,
    components: NDArray[np.intp] | None = None,
) -> Contraction | Infeasibility:
    """Contract an instance with further must-links and cannot-links (the decisions of a node).

    blocks : (n,) the block of each point in a contraction of the same instance with fewer
        decisions. Every block of the result is then a union of these; propagation alone does not
        ensure that, as its work is limited. None: start from the points
    components : (n,) the component of each point. Points of different components are cannot-linked,
        and each component has coordinates around its own mean. Must-links join points of the same
        component only. None: one component

    The contraction merges must-link components, and blocks that cannot-links force together. For
    k = 2 these are both sides of every component of the cannot-link graph (PC-SOS-SDP, section
    3.1); for any k, the common neighbours of a cannot-link clique of k - 1 blocks.

    Returns
    -------
    Contraction, or the first Infeasibility found: a cannot-link inside a block, an odd cycle for
    k = 2, k + 1 mutually cannot-linked blocks, fewer than k blocks, a block that violates a
    constraint on clusters, more in all blocks than k clusters may hold, or limits on sizes or
    weights that no k clusters satisfy. For exactly k blocks, each is a cluster, and the limits are
    checked. A Contraction does not prove feasibility: see `sdpbb.problem.feasibility`.

    Two blocks whose union violates a constraint on clusters become cannot-linked, as do pairs of
    points that a constraint forbids. Constraints without a compiled form are evaluated on pairs of
    blocks only up to LARGEST_FOR_PAIRS blocks: 2,016 calls each at every node. The checker of
    certificates has the same limit. Without these pairs bounds are weaker, and still valid.
    """
    n, k, rules = instance.n_points, instance.k, instance.rules
    for limits in (quantity.limits for quantity in rules.quantities):
        # If all points are more than k clusters may hold, upper limits say so below.
        if limits.is_empty and limits.n <= k * limits.most:
            return Infeasibility(InfeasibilityKind.SIZES)
    known = instance.must_link if blocks is None else _spanning_pairs(blocks)
    merged = np.concatenate([known, _as_pairs(must_link)])
    apart = np.concatenate([instance.cannot_link, _as_pairs(cannot_link), rules.apart])
    if components is not None:
        apart = np.concatenate([apart, _pairs_apart(connected_components(n, merged), components)])
    while True:
        block_of = connected_components(n, merged)
        inside = block_of[apart[:, 0]] == block_of[apart[:, 1]]
        if inside.any():
            i, j = apart[np.argmax(inside)]
            path = shortest_path(n, merged, int(i), int(j))
            return Infeasibility(InfeasibilityKind.CANNOT_LINK_IN_BLOCK, path)
        pairs = distinct_edges(block_of[apart])
        quantities = tuple(quantity.over(block_of) for quantity in rules.quantities)
        if rules.go_beyond_pairs:
            # Computed anew in each round: unions of forbidden blocks are forbidden, too.
            found = _pairs_not_allowed(instance, quantities, block_of, pairs)
            if isinstance(found, Infeasibility):
                return found
            pairs = distinct_edges(np.concatenate([pairs, found]))
        forced = forced_merges(int(block_of.max()) + 1, pairs, k)
        first = np.unique(block_of, return_index=True)[1]
        if isinstance(forced, Infeasibility):
            return Infeasibility(forced.kind, tuple(int(first[b]) for b in forced.points))
        if not len(forced):
            break
        merged = np.concatenate([merged, first[forced]])
    if len(first) < k:
        return Infeasibility(InfeasibilityKind.TOO_FEW_BLOCKS, tuple(first.tolist()))
    contraction = _aggregate(instance, block_of, pairs, components)
    if not rules.go_beyond_pairs:
        return contraction
    contraction = replace(contraction, instance=instance, quantities=quantities)
    if len(first) == k and not contraction.keeps_sizes(np.arange(k)):
        return Infeasibility(InfeasibilityKind.SIZES, tuple(first.tolist()))
    return contraction


def _pairs_not_allowed(
    instance: Instance,
    quantities: tuple[Quantity, ...],
    block_of: NDArray[np.intp],
    cannot_link: NDArray[np.intp],
) -> NDArray[np.intp] | Infeasibility:
    """Return the pairs of blocks (p, 2) that rules on clusters forbid, or the Infeasibility.

    Some of them may be among the cannot-links (q, 2) already.

    quantities : quantities over the blocks
    """
    oracles, m = instance.rules.oracles, int(block_of.max()) + 1
    limits = UpperLimits.of(quantities, m)
    exceeded = limits.exceeded_by_all(instance.k)
    if len(exceeded):
        holding = np.flatnonzero(limits.linear[exceeded[0]][block_of])
        return Infeasibility(InfeasibilityKind.TOO_MUCH_FOR_K, tuple(holding.tolist()))
    alone = limits.exceeded_alone()
    points = members_of(block_of) if oracles else []
    for block, members in enumerate(points):
        alone[block] |= not _are_allowed(oracles, instance, members)
    if alone.any():
        members = np.flatnonzero(block_of == np.argmax(alone))
        return Infeasibility(InfeasibilityKind.BLOCK_NOT_ALLOWED, tuple(members.tolist()))
    apart = limits.exceeded_together()
    if points and m <= LARGEST_FOR_PAIRS:
        known = {(i, j) for i, j in np.concatenate([apart, cannot_link]).tolist()}
        parted = [
            (i, j)
            for i, j in combinations(range(m), 2)
            if (i, j) not in known
            and not _are_allowed(oracles, instance, np.union1d(points[i], points[j]))
        ]
        apart = np.concatenate([apart, _as_pairs(parted)])
    return apart


def _are_allowed(
    constraints: Iterable[ClusterConstraint], instance: Instance, members: NDArray[np.intp]
) -> bool:
    return all(is_allowed(constraint, instance, members) for constraint in constraints)


def _aggregate(
    instance: Instance,
    block_of: NDArray[np.intp],
    cannot_link: NDArray[np.intp],
    components: NDArray[np.intp] | None,
) -> Contraction:
    points, w = instance.scaled
    scatter = block_scatter(points, block_of, w)
    coordinates = instance.centred if components is None else centred(points, components, w)
    weights = np.bincount(block_of).astype(np.float64)
    if w is not None:
        weights = block_weights(w, block_of)
    means = block_means(coordinates, block_of, weights, w)
    soft = SoftBlocks()
    if instance.has_soft_constraints:
        pairs = instance.soft_must_link, instance.soft_cannot_link
        soft = SoftBlocks.of(*pairs, block_of, cannot_link)
    return Contraction(instance.k, block_of, weights, means, scatter, cannot_link, soft=soft)


def _pairs_apart(block_of: NDArray[np.intp], components: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return pairs (p, 2) of points whose cannot-links separate blocks of different components.

    If points of one block are of different components, a pair is inside that block.
    """
    first = np.unique(block_of, return_index=True)[1]
    across = np.flatnonzero(components != components[first[block_of]])
    inside = np.column_stack([first[block_of[across]], across])
    of_blocks = components[first]
    between = np.argwhere(np.triu(of_blocks[:, None] != of_blocks))
    return np.concatenate([first[between], inside])


def _spanning_pairs(blocks: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the pairs (n, 2) of each point with the first point of its block."""
    first = np.unique(blocks, return_index=True)[1]
    return np.column_stack([first[blocks], np.arange(len(blocks))])


def _as_pairs(pairs: PairIterable) -> NDArray[np.intp]:
    return np.array(list(pairs), dtype=np.intp).reshape(-1, 2)


def join_equal_points(instance: Instance) -> Instance:
    """Return the instance with must-links between equal points; the least cost stays the same.

    A point is joined only if it has neither cannot-links nor soft pairs, and is must-linked to
    equal points only. No points are joined in three cases: constraints on clusters say more than
    pairs, sizes or weights are limited, or fewer than k blocks without cannot-links would remain.

    Proof. Let equal points of weights v and w be in clusters A and B of an optimal clustering. Both
    means are at these points. Otherwise let d_A >= d_B be their distances to the means, and N_A and
    N_B the weights of the clusters: moving the points in A to B would reduce the cost, as
    N_B v / (N_B + v) d_B^2 < N_A v / (N_A - v) d_A^2. So the points in A move to B at no cost. If A
    becomes empty, one of the other k - 1 clusters has at least two of the k blocks without
    cannot-links. One of these two moves to A, which never raises the cost.
    """
    pairs = equal_points(instance)
    if not len(pairs):
        return instance
    return replace(instance, must_link=np.concatenate([instance.must_link, pairs]))


def equal_points(instance: Instance) -> NDArray[np.intp]:
    """Return the must-links (p, 2) of `join_equal_points`."""
    n, none = instance.n_points, np.empty((0, 2), np.intp)
    soft = instance.soft_cannot_link.pairs, instance.soft_must_link.pairs
    if instance.limits or instance.rules.go_beyond_pairs:
        return none
    rows = (instance.points + 0.0).view(f"V{8 * instance.n_features}")  # -0.0 + 0.0 is 0.0
    met: dict[bytes, int] = {}
    equals = [met.setdefault(row, at) for at, row in enumerate(rows.reshape(-1).tolist())]
    if instance.k == 1 or len(met) == n:
        return none
    first_equal = np.array(equals, np.intp)
    block_of = connected_components(n, instance.must_link)
    first = np.unique(block_of, return_index=True)[1]
    linked, mixed = np.zeros(len(first), bool), np.zeros(len(first), bool)
    linked[block_of[np.concatenate([instance.cannot_link, instance.rules.apart, *soft])]] = True
    mixed[block_of[first_equal != first_equal[first[block_of]]]] = True
    blocks = np.flatnonzero(~linked & ~mixed)
    # The first of several equal points represents them.
    names, representative, which = np.unique(
        first_equal[first[blocks]], return_index=True, return_inverse=True
    )
    n_left = (~linked & mixed).sum() + len(names)
    if n_left < instance.k:
        return none
    stands_for, others = first[blocks][representative][which], first[blocks]
    joined = stands_for != others
    return np.column_stack([stands_for[joined], others[joined]])
