"""Bounding of a node by prices of points and places of means, in rounds (`PlaceRun`).

A cluster X with mean c costs sum_X e_i ||c_i - c||^2. So at any prices y_i of a point of block i
every clustering costs at least

    sum_i e_i y_i - k v + (scatter inside blocks),
    v >= sum_X e_i (y_i - ||c_i - c||^2)  for all places c and all allowed clusters X.

At a place, the best cluster has the blocks with positive gains y_i - ||c_i - c||^2, but at most one
of a cannot-linked pair. So the search is over places, for any number of blocks. This is the dual of
the k-median problem with squared distances whose facilities may be anywhere. It supports limits on
one quantity, and no other constraints on clusters. Each round

1. raises prices by a dual function over finitely many places (`dual.py`); a run from a known
   clustering first proves its prices in closed form, and then chooses places;
2. proves v by a search over all places (`search.py`);
3. drops places of low value, and adds places that the search has met.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from sdpbb.bounds.bound import BoundProgress, ProvenBound, scatter_bound
from sdpbb.bounds.lagrangian.duals import inherited_prices, level_prices
from sdpbb.bounds.lagrangian.places.conflict_kernels import climb, mark_members
from sdpbb.bounds.lagrangian.places.dual import PlaceDual
from sdpbb.bounds.lagrangian.places.search import PlaceProblem, PlaceSearch, price_bound
from sdpbb.checker.pricing import Lagrangian
from sdpbb.problem import Contraction, Instance, Partition, contract
from sdpbb.runtime.archive import Attached, stored
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, no_limit

# Rounds end if the dual function over known places promises less than the part SETTLED of the gap
# to the cutoff, or if the last LOOK_BACK rounds together have gained less than the part LITTLE of
# it.
SETTLED, LOOK_BACK, LITTLE = 0.12, 9, 0.1
# Minimum number of ascents before.
LEAST_RAISED = 4
# Maximum places of an affinity, with the greatest masses.
MOST_MASSES = 3000
# Maximum rounds.
MAX_ROUNDS = 100
# Sharpness of the smoothed maximum, and steps: in the first round that raises prices; and in later
# rounds, as a part of their last sharpness.
FIRST_ASCENTS = ((100.0, 60), (300.0, 80), (1000.0, 60))
ASCENTS = ((0.3, 50), (1.0, 100))
# Sharpness before any ascent.
FIRST_SHARPNESS = FIRST_ASCENTS[-1][0]
# The last sharpness is SHARP times the cost over the gap to the cutoff, within these limits: the
# smoothed maximum is above the maximum by the logarithm of the number of places over the sharpness.
SHARP, SHARPNESS = 100.0, (3000.0, 100_000.0)
# Tolerance of searches before prices are raised, as a part of the cost.
EARLY = 1e-2
# Places are dropped if their values are below the greatest by more than NEAR times the cost of a
# cluster and FAR times the gap of a cluster.
NEAR, FAR = 3e-3, 10.0
# Distances are in radii of the smallest cluster. Added places are at least APART from each other,
# by round, and at least a part of that from other places.
APART, APART_FROM_KEPT = (0.05, 0.03, 0.02, 0.01), 0.3
# CLIMBERS places for each cluster climb for at most CLIMBS steps. They are at least SEPARATE from
# each other if there are enough, so that each cluster has some. The best places alone are near each
# other, and prices would rise in one part and fall in another.
CLIMBERS, CLIMBS, SEPARATE = 3, 30, 0.3
# Limits on the share of the greatest value from which on a search stores places.
SHARES = (0.5, 0.99999)
# Places of the first ascent in addition to the clusters' means, and maximum places that a search
# adds; the same for each cluster, if these are more.
PLACES, NEW_PLACES = 2000, 300
PLACES_EACH, NEW_EACH = 20, 2
# Tolerance of the search over all places, as a part of the gap.
ACCURACY = 0.05


@stored
@dataclass(frozen=True, eq=False)
class PlaceWarmStart:
    """Warm start of a child: prices and places of its parent.

    block_of : (n,) the parent's blocks
    prices : (m,) of these
    places : (M, r) in the coordinates of the contraction
    scale, radius : as in `PlaceRun`
    expected : the bound of the parent
    """

    block_of: NDArray[np.intp]
    prices: NDArray[np.float64]
    places: NDArray[np.float64]
    scale: float
    radius: float
    expected: float

    def prices_for(self, child: Contraction) -> NDArray[np.float64]:
        """Return the child's prices (m,) of a point of each block.

        A block of the child is a union of the parent's. The scatter of their means, which the child
        counts inside the block, is subtracted.
        """
        of_blocks = inherited_prices(self.prices, self.block_of, child)
        return (of_blocks - child.scatter) / child.weights


@stored
@dataclass(eq=False)
class PlaceRun(Attached):
    """Bounding of one node by prices of its points and the places of means.

    prices : (m,) of a point of each block
    places : (M, 3) along the principal axes of the blocks (`PlaceProblem`)
    scale : cost of the first known clustering, without the scatter inside blocks
    radius : of its smallest cluster
    bound : the best so far, without evidence
    sharpness : of the last ascent
    labels : (m,) of the known clustering, until it has given the first places
    expected : the bound of the parent, 0: none. The bound of a child is near
    promise : bound by the last prices if no other place had a greater value than the known places
    proof : the prices of blocks and of a cluster that prove the bound
    values : the bound after each round
    n_raised : number of ascents, by this run and its ancestors
    """

    prices: NDArray[np.float64]
    places: NDArray[np.float64]
    scale: float
    radius: float
    bound: ProvenBound
    sharpness: float = FIRST_SHARPNESS
    labels: NDArray[np.intp] | None = None
    expected: float = 0.0
    promise: float = math.inf
    values: tuple[float, ...] = ()
    n_raised: int = 0
    proof: Lagrangian | None = None

    @classmethod
    def begin(cls, contraction: Contraction, labels: NDArray[np.intp]) -> PlaceRun | None:
        """Return a new run; None if the known clustering costs nothing.

        labels : (m,) of a clustering of the blocks, without empty clusters
        """
        problem = PlaceProblem.of(contraction)
        points, weights = problem.points, problem.weights
        partition = Partition(labels)  # which numbers the clusters anew
        labels, centres = partition.labels, partition.means(points, weights)
        costs = np.bincount(labels, weights * ((points - centres[labels]) ** 2).sum(axis=1))
        radii = np.sqrt(costs / np.bincount(labels, weights))
        if not radii.any():
            return None
        prices, radius = level_prices(points, weights, labels, centres), radii[radii > 0.0].min()
        bound, cost = scatter_bound(contraction), float(costs.sum())
        run = cls(prices, centres, cost, float(radius), bound, labels=labels)
        return run.attach(contraction)

    @classmethod
    def inherit(cls, contraction: Contraction, of: PlaceWarmStart) -> PlaceRun:
        """Return a new run of a child."""
        places = PlaceProblem.of(contraction).turned(of.places)
        prices, bound = of.prices_for(contraction), scatter_bound(contraction)
        run = cls(
            prices,
            places,
            of.scale,
            of.radius,
            bound,
            expected=of.expected,
            n_raised=LEAST_RAISED,
        )
        return run.attach(contraction)

    def attach(self, contraction: Contraction) -> PlaceRun:
        """Resume on the contraction that the run started with."""
        self._contraction = contraction
        self._problem = PlaceProblem.of(contraction)
        self._dual = PlaceDual(self._problem, self.places, self.scale)
        return self

    @property
    def n_iterations(self) -> int:
        """Rounds so far."""
        return len(self.values)

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Raise prices, and prove their bound. The first round proves the first prices."""
        try:
            self._round(self._left(cutoff), time_left)
        except OutOfTime:
            return self._progress(is_cut=True)
        return self._progress(self._is_idle(cutoff))

    def _progress(self, stalled: bool = False, is_cut: bool = False) -> BoundProgress:
        bound = ProvenBound(self.bound.value, self.proof)
        return BoundProgress(bound, stalled, len(self.places), is_cut)

    def _round(self, left: float, time_left: TimeLeft) -> None:
        """Take a round. The state changes only at its end.

        left : cutoff minus bound

        Raises
        ------
        OutOfTime
        """
        places, n_raised = self.places, self.n_raised
        best = last = self.prices
        promise, sharpness, ascents = math.inf, self.sharpness, _ascents(self, left)
        if self.values and self.labels is not None:
            places = self._first_places(self.labels)
        self._dual.places = places
        if self.values:  # The first round proves prices in closed form, or of the parent.
            n_raised += 1
            for sharpness, steps in ascents:
                best, last, promise = self._dual.ascend(last, sharpness, steps, time_left)
        tolerance = ACCURACY * left if n_raised else EARLY * self.scale
        values = self._dual.values(best, time_left)
        bound, met = self._prove(best, values, left, tolerance, time_left)
        if n_raised:
            near = max(NEAR * self.scale, FAR * left) / self._problem.k
            kept = places[values >= values.max() - near]
            apart = APART[min(n_raised, len(APART)) - 1] * self.radius
            places = self._with_new_places(kept, met, apart, self.radius)
        if bound > self.bound:
            assert isinstance(bound.evidence, Lagrangian)
            self.bound, self.proof = bound.bare(), bound.evidence
        if self.values:
            self.labels = None
        self.prices, self.places = last, places
        self.n_raised, self.sharpness = n_raised, sharpness
        self.promise = promise + float(self._contraction.scatter.sum())
        self.values += (self.bound.value,)

    def _first_places(self, labels: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the centres of a clustering, and the means of cells of it."""
        points, weights = self._problem.points, self._problem.weights
        cell = cells_of(points, labels, max(PLACES, PLACES_EACH * self._problem.k))
        return np.vstack([Partition(of).means(points, weights) for of in (labels, cell)])

    def _prove(
        self,
        prices: NDArray[np.float64],
        values: NDArray[np.float64],
        left: float,
        tolerance: float,
        time_left: TimeLeft,
    ) -> tuple[ProvenBound, NDArray[np.float64]]:
        """Prove a bound by prices (m,), by a search for the greatest value over all places.

        Return it, and the places (p, 3) of great values that were met, the greatest first.

        values : (M,) of the places of the dual function at these prices
        left : cutoff minus bound
        tolerance : how much the bound may lose to the search's tolerance
        """
        of, radius = self._problem, self.radius
        places = self._dual.places[np.argsort(-values, kind="stable")]
        places = _thinned(places, SEPARATE * radius, CLIMBERS * of.k)
        tops = self._climbed(prices, places, time_left)
        known = max(0.0, float(tops[:, 3].max()))
        # A place that is not in the dual function may have a greater value than all its places.
        share = (float(values.max()) - left / of.k) / known if known > 0.0 else 0.0
        search = PlaceSearch(of, prices, known, tolerance / of.k, float(np.clip(share, *SHARES)))
        bound = price_bound(self._contraction, prices, search.run(time_left))
        places = _spread(search.met[:, :3], APART[-1] * radius, radius, CLIMBERS * of.k)
        met = np.vstack([tops, search.met, self._climbed(prices, places, time_left)])
        return bound, met[np.argsort(-met[:, 3], kind="stable"), :3]

    def _climbed(
        self, prices: NDArray[np.float64], places: NDArray[np.float64], time_left: TimeLeft
    ) -> NDArray[np.float64]:
        """Return the ends of the climbs from places (p, 3), and their values at prices, (p, 4)."""
        of = self._problem
        data, climbed = of.data(prices), np.column_stack([places, np.zeros(len(places))])
        for row in climbed:
            check_time(time_left)
            row[3] = climb(data, of.pairs, of.limits, row[:3], CLIMBS)
        return climbed

    def _with_new_places(
        self,
        kept: NDArray[np.float64],
        met: NDArray[np.float64],
        apart: float,
        radius: float,
    ) -> NDArray[np.float64]:
        """Return the places kept, and places met (p, 3) that are not near any of them."""
        if len(met):
            met = met[cKDTree(kept).query(met)[0] > APART_FROM_KEPT * apart]
        most = max(NEW_PLACES, NEW_EACH * self._problem.k)
        return np.vstack([kept, _spread(met, apart, radius, most)])

    def _left(self, cutoff: float) -> float:
        """Return cutoff minus bound, at most the scale."""
        left = cutoff - max(self.bound.value, self.expected)
        return max(1e-9 * self.scale, min(left, self.scale))

    def _is_idle(self, cutoff: float) -> bool:
        """Return whether rounds gain too little of the gap to the cutoff."""
        n_rounds = len(self.values)
        if n_rounds >= MAX_ROUNDS:
            return True
        left, bound = self._left(cutoff), self.bound.value
        if self.n_raised < LEAST_RAISED:
            return False
        if self.promise - bound < SETTLED * left:
            return True
        return n_rounds > LOOK_BACK and bound - self.values[-1 - LOOK_BACK] < LITTLE * left

    def affinity(self) -> NDArray[np.float64]:
        """Return the affinity Z (m, m) of the clusters at the places, by their masses."""
        of = self._problem
        self._dual.places = self.places
        masses = self._dual.masses(self.prices, self.sharpness, no_limit)
        top = np.argsort(-masses, kind="stable")[:MOST_MASSES]
        top = top[masses[top] > 1e-6 * of.k]
        data, m = of.data(self.prices), len(self.prices)
        worths, members = np.zeros(m), np.zeros((len(top), m), bool)
        scratch = np.zeros((2, m))
        for place, member in zip(self.places[top], members, strict=True):
            mark_members(data, of.pairs, of.limits, place, worths, member, scratch)
        weights = members @ of.weights
        share = np.sqrt(masses[top] / np.where(weights > 0.0, weights, np.inf))
        scaled = (members * share[:, None]).astype(np.float32)
        Z = (scaled.T @ scaled).astype(np.float64)
        rows = np.maximum(Z @ of.weights, 1e-9)
        return np.asarray(Z / np.sqrt(rows[:, None] * rows))

    def warm_start(self) -> PlaceWarmStart:
        """Return the warm start of a child."""
        of = self._contraction
        places, expected = self._problem.turned_back(self.places), self.bound.value
        prices = of.weights * self.prices + of.scatter
        return PlaceWarmStart(of.block_of, prices, places, self.scale, self.radius, expected)


def _ascents(run: PlaceRun, left: float) -> Iterable[tuple[float, int]]:
    """Return the sharpness and the steps of each ascent of a round."""
    if not run.n_raised:
        return FIRST_ASCENTS
    last = float(np.clip(SHARP * run.scale / left, *SHARPNESS))
    return [(part * last, steps) for part, steps in ASCENTS]


def _spread(
    places: NDArray[np.float64], apart: float, radius: float, most: int
) -> NDArray[np.float64]:
    """Return at most `most` places, at least `apart` from each other, and farther if enough remain.

    Earlier places are preferred.
    """
    distance = max(apart, SEPARATE * radius)
    while True:
        chosen = _thinned(places, distance, most)
        if len(chosen) == most or distance <= apart:
            return chosen
        distance = max(apart, 0.5 * distance)


def _thinned(places: NDArray[np.float64], apart: float, most: int) -> NDArray[np.float64]:
    """Return at most `most` places, none of which is near an earlier one."""
    if not len(places):
        return places
    tree, is_taken, chosen = cKDTree(places), np.zeros(len(places), bool), []
    for number, place in enumerate(places):
        if is_taken[number]:
            continue
        chosen.append(number)
        if len(chosen) == most:
            break
        is_taken[tree.query_ball_point(place, apart)] = True
    return places[chosen]


def exercise() -> None:
    """Call every compiled loop of the bound, with the types that runs call them with."""
    points, labels = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    for max_size in (None, 16):
        instance = Instance(points, 2, cannot_link=np.array([[0, 1]]), max_size=max_size)
        contraction = contract(instance)
        assert isinstance(contraction, Contraction)
        run = PlaceRun.begin(contraction, labels.astype(np.intp))
        assert run is not None
        for _ in range(3):
            run.advance(math.inf)
        run.affinity()


def cells_of(points: NDArray[np.float64], labels: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Return the cell (n,) of each point: neighbours in one cluster, as many points in each cell.

    There are at most `most` cells, and one more for each cluster. With boxes of the space instead,
    666 and 1,000 constrained points in 100 clusters take 1.6 to 3.6 times as long.
    """
    size, n_cells = max(1, -(-len(points) // most)), 0
    cell = np.empty(len(points), np.intp)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        order = cKDTree(points[rows], leafsize=size).indices
        cell[rows[order]] = n_cells + np.arange(len(rows)) // size
        n_cells += -(-len(rows) // size)
    return cell
