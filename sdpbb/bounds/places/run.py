"""Bounding of a node by prices of points and places of means, round by round (`PlaceRun`).

A cluster X with the mean c costs sum_X e_i ||c_i - c||^2, so that at any prices y_i of a point of
block i every clustering costs at least

    sum_i e_i y_i - k v + (scatter inside blocks),
    v >= sum_X e_i (y_i - ||c_i - c||^2)  for all places c and all clusters X that may be.

Each cluster is worth most if it takes the blocks that are worth their prices at some place, one of
a cannot-linked pair at most: a maximum over places, in whatever number of blocks. A search over
boxes of places proves v (`search.py`); prices come from a dual function over finitely many places
(`dual.py`), to which the search adds. This is the dual of the k-median problem with squared
distances whose facilities may be anywhere; constraints on clusters are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from sdpbb.archive.stored import stored
from sdpbb.bounds.bound import BoundProgress, ProvenBound
from sdpbb.bounds.places.cells import cells_of, means_of
from sdpbb.bounds.places.conflict_kernels import climb, mark_members
from sdpbb.bounds.places.dual import PlaceDual
from sdpbb.bounds.places.first_prices import KnownClustering, prices_of_cells
from sdpbb.bounds.places.parameters import PlaceParameters
from sdpbb.bounds.places.problem import PlaceProblem, price_bound
from sdpbb.bounds.places.search import PlaceSearch
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.time_left import OutOfTime, TimeLeft, check_time, no_limit

# Sharpness of the smoothed maximum, and steps: of the first round, and of those that follow by
# their last sharpness.
FIRST_ASCENTS = ((100.0, 60), (300.0, 80), (1000.0, 60))
ASCENTS = ((0.3, 50), (1.0, 100))
# The last sharpness is so many times the cost over what is left, within these limits: the smoothed
# maximum lies above the maximum by the logarithm of the places that count, over the sharpness.
SHARP, SHARPNESS = 100.0, (3000.0, 100_000.0)
# Part of the cost that the first searches may lose by their tolerance.
EARLY = 1e-2
# Places are dropped whose values are below the greatest by so many times the cost of a cluster, and
# what is left for it.
NEAR, FAR = 3e-3, 10.0
# Of the places that a search has met, those are taken that are so far from each other, in radii of
# the smallest cluster; from round to round.
APART = (0.05, 0.03, 0.02, 0.01)
# So many places for each cluster climb, so many steps at most, so far from each other in radii.
CLIMBERS, CLIMBS, SEPARATE = 3, 30, 0.3
# Rounds end where the best that prices over the places looked at promise is no more than this part
# of what is left; or so many rounds together have gained no more than this part of it.
SETTLED, LOOK_BACK, LITTLE = 0.12, 9, 0.1
# How often prices are raised before.
LEAST_RAISED = 4
# First places, and places that a search adds, for each cluster, where these are more.
PLACES_EACH, NEW_EACH = 20, 2
# Places of an affinity, those of the greatest masses.
MOST_MASSES = 3000


@stored
@dataclass(frozen=True, eq=False)
class PlaceWarmStart:
    """Warm start of a child: prices and places of its parent.

    block_of : (n,) the parent's blocks
    prices : (m,) of a point of each
    scatter : (m,) inside each
    places : (M, r) in the coordinates of the contraction
    scale, radius : as in `PlaceState`
    expected : the bound that the parent has
    """

    block_of: NDArray[np.intp]
    prices: NDArray[np.float64]
    scatter: NDArray[np.float64]
    places: NDArray[np.float64]
    scale: float
    radius: float
    expected: float

    def prices_for(self, child: Contraction) -> NDArray[np.float64]:
        """Return prices (m,) of a point of each block of the child, a union of the parent's.

        They prove for the child what the parent's prove: a cluster that takes a union loses the
        scatter of its means, which the child counts inside its block.
        """
        first = np.unique(self.block_of, return_index=True)[1]
        weights = np.bincount(self.block_of)
        total, scatter = np.zeros(child.n_blocks), np.zeros(child.n_blocks)
        np.add.at(total, child.block_of[first], self.prices * weights)
        np.add.at(scatter, child.block_of[first], self.scatter)
        return (total - (child.scatter - scatter)) / child.weights


@stored
@dataclass(eq=False)
class PlaceState:
    """State of a `PlaceRun`.

    prices : (m,) of a point of each block
    places : (M, 3)
    scale : cost of the clustering that was known first, without the scatter inside blocks
    radius : of its smallest cluster
    labels : (m,) of it, until the first prices are made of it
    sharpness : the last
    expected : the bound that the parent has, 0 for none: a child's is near
    promise : what the last prices would prove if no place were worth more than those looked at
    bound : the best so far
    values : that of the bound after each round
    n_raised : how often prices were raised, by this run and those of its ancestors
    """

    prices: NDArray[np.float64]
    places: NDArray[np.float64]
    scale: float
    radius: float
    labels: NDArray[np.intp] | None = None
    sharpness: float = FIRST_ASCENTS[-1][0]
    expected: float = 0.0
    promise: float = math.inf
    bound: ProvenBound = field(default_factory=lambda: ProvenBound(0.0))
    values: tuple[float, ...] = ()
    n_raised: int = 0


class PlaceRun:
    """Bounding of one node by prices of its points and the places of means."""

    def __init__(
        self, contraction: Contraction, parameters: PlaceParameters, state: PlaceState
    ) -> None:
        self._contraction, self._parameters = contraction, parameters
        self._problem = PlaceProblem.of(contraction)
        self._dual = PlaceDual(self._problem, state.places, state.scale)
        self._bound, self.n_boxes = state.bound, 0
        self.state = state

    @classmethod
    def begin(
        cls, contraction: Contraction, parameters: PlaceParameters, labels: NDArray[np.intp]
    ) -> PlaceRun | None:
        """Return a new run; None where the clustering known costs nothing.

        labels : (m,) of a clustering of the blocks, without empty clusters
        """
        problem = PlaceProblem.of(contraction)
        known = KnownClustering.of(problem, labels)
        if not (known.cost > 0.0 and math.isfinite(known.radius)):
            return None
        prices = known.prices(problem.weights)
        state = PlaceState(prices, known.centres, known.cost, known.radius, labels)
        return cls(contraction, parameters, state)

    @classmethod
    def inherit(
        cls, contraction: Contraction, parameters: PlaceParameters, of: PlaceWarmStart
    ) -> PlaceRun:
        """Return a new run of a child."""
        places = PlaceProblem.of(contraction).turned(of.places)
        prices = of.prices_for(contraction)
        state = PlaceState(
            prices, places, of.scale, of.radius, expected=of.expected, n_raised=LEAST_RAISED
        )
        return cls(contraction, parameters, state)

    @property
    def n_iterations(self) -> int:
        """Rounds so far."""
        return len(self.state.values)

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Raise prices, and prove a bound of them.

        In the first round, and that of a child, nothing is raised.
        """
        try:
            self._advance(cutoff, time_left)
        except OutOfTime:
            return self._progress(is_cut=True)
        return self._progress(self._is_idle(cutoff))

    def _progress(self, stalled: bool = False, is_cut: bool = False) -> BoundProgress:
        n_places = len(self.state.places)
        return BoundProgress(self._bound, stalled, n_places, self.n_iterations, is_cut)

    def _advance(self, cutoff: float, time_left: TimeLeft) -> None:
        state, parameters = self.state, self._parameters
        prices, places, labels = state.prices, state.places, state.labels
        n_raised, sharpness, left = state.n_raised, state.sharpness, self._left(cutoff)
        promise = math.inf
        is_small = len(prices) <= parameters.cells
        if state.values and labels is not None:
            places = self._first_places(labels, time_left)
            if not is_small:
                known = KnownClustering.of(self._problem, labels)
                n_cells = parameters.cells
                prices = prices_of_cells(self._problem, known, places, n_cells, time_left)
        self._dual.places, best = places, prices
        if state.values and (labels is None or is_small):
            for sharpness, steps in self._ascents(left):
                ascent = self._dual.ascend(prices, sharpness, steps, time_left)
                best, prices, promise = ascent.best, ascent.last, ascent.value
            n_raised += 1
        tolerance = parameters.accuracy * left if n_raised else EARLY * state.scale
        values = self._dual.values(best, time_left)
        met = self._search(best, values, tolerance, time_left)
        if n_raised:
            places = self._next_places(values, met, n_raised, left)
        # Nothing is changed before all of it is done.
        state.prices, state.places, state.labels = (
            prices,
            places,
            labels if not state.values else None,
        )
        state.n_raised, state.sharpness = n_raised, sharpness
        state.promise = promise + float(self._contraction.scatter.sum())
        state.values += (state.bound.value,)

    def _left(self, cutoff: float) -> float:
        """Return what the bound lacks to the cutoff; without a finite one, the scale."""
        state = self.state
        left = cutoff - max(state.bound.value, state.expected)
        return max(1e-9 * state.scale, min(left, state.scale))

    def _first_places(self, labels: NDArray[np.intp], time_left: TimeLeft) -> NDArray[np.float64]:
        """Return the centres of a clustering, and the means of cells of it."""
        points, weights = self._problem.points, self._problem.weights
        cell = cells_of(
            points,
            weights,
            labels,
            max(self._parameters.places, PLACES_EACH * self._problem.k),
            time_left,
        )
        centres, means = (means_of(points, weights, of)[0] for of in (labels, cell))
        return np.vstack([centres, means])

    def _ascents(self, left: float) -> Iterable[tuple[float, int]]:
        """Return the sharpness and the steps of each ascent of a round."""
        if not self.state.n_raised:
            return FIRST_ASCENTS
        last = float(np.clip(SHARP * self.state.scale / left, *SHARPNESS))
        return [(part * last, steps) for part, steps in ASCENTS]

    def _search(
        self,
        prices: NDArray[np.float64],
        values: NDArray[np.float64],
        tolerance: float,
        time_left: TimeLeft,
    ) -> NDArray[np.float64]:
        """Raise the bound by a search for the greatest value at prices; return the places met.

        values : (M,) of the places at these prices
        tolerance : what the bound may lose by the search's
        """
        of = self._problem
        tops, known = self._tops(prices, values, time_left)
        search = PlaceSearch(of, prices, known, tolerance / of.k)
        greatest = search.run(time_left)
        self.n_boxes = search.n_boxes
        proven = price_bound(self._contraction, prices, greatest)
        if proven > self._bound:
            self._bound, self.state.bound = proven, proven.bare()
        return np.vstack([tops, search.met])

    def _tops(
        self, prices: NDArray[np.float64], values: NDArray[np.float64], time_left: TimeLeft
    ) -> tuple[NDArray[np.float64], float]:
        """Return places (p, 3) to which the most valuable ones climb, and the greatest value."""
        of = self._problem
        places = self._dual.places[np.argsort(-values, kind="stable")]
        tops = _thinned(places, SEPARATE * self.state.radius, CLIMBERS * of.k)
        data, known = of.data(prices), np.zeros(len(tops))
        for number, place in enumerate(tops):
            check_time(time_left)
            known[number] = climb(data, of.pairs, place, CLIMBS)
        order = np.argsort(-known, kind="stable")
        return tops[order], max(0.0, float(known.max()))

    def _next_places(
        self, values: NDArray[np.float64], met: NDArray[np.float64], n_raised: int, left: float
    ) -> NDArray[np.float64]:
        """Return the places that count by their values (M,), and those that the search has met."""
        k = self._problem.k
        near = max(NEAR * self.state.scale, FAR * left) / k
        kept = self._dual.places[values >= values.max() - near]
        apart = APART[min(n_raised, len(APART)) - 1] * self.state.radius
        if len(met):
            met = met[cKDTree(kept).query(met)[0] > 0.3 * apart]
        new = _thinned(met, apart, max(self._parameters.new_places, NEW_EACH * k))
        return np.vstack([kept, new])

    def _is_idle(self, cutoff: float) -> bool:
        """Return whether rounds gain too little of what is left to go on."""
        state, n_rounds = self.state, len(self.state.values)
        if n_rounds >= self._parameters.rounds:
            return True
        left, bound = self._left(cutoff), state.bound.value
        if state.n_raised < LEAST_RAISED:
            return False
        if state.promise - bound < SETTLED * left:
            return True
        return n_rounds > LOOK_BACK and bound - state.values[-1 - LOOK_BACK] < LITTLE * left

    def affinity(self) -> NDArray[np.float64]:
        """Return the affinity Z (m, m) of the clusters at the places, by their masses."""
        of, state = self._problem, self.state
        self._dual.places = state.places
        masses = self._dual.masses(state.prices, state.sharpness, no_limit)
        top = np.argsort(-masses, kind="stable")[:MOST_MASSES]
        top = top[masses[top] > 1e-6 * of.k]
        data, m = of.data(state.prices), len(state.prices)
        worths, members = np.zeros(m), np.zeros((len(top), m), bool)
        for place, member in zip(state.places[top], members, strict=True):
            mark_members(data, of.pairs, place, worths, member)
        weights = members @ of.weights
        share = np.sqrt(masses[top] / np.where(weights > 0.0, weights, np.inf))
        scaled = (members * share[:, None]).astype(np.float32)
        Z = (scaled.T @ scaled).astype(np.float64)
        rows = np.maximum(Z @ of.weights, 1e-9)
        return np.asarray(Z / np.sqrt(rows[:, None] * rows))

    def warm_start(self) -> PlaceWarmStart:
        """Return the warm start of a child."""
        of, state = self._contraction, self.state
        places, expected = self._problem.turned_back(state.places), state.bound.value
        return PlaceWarmStart(
            of.block_of, state.prices, of.scatter, places, state.scale, state.radius, expected
        )


def _thinned(places: NDArray[np.float64], apart: float, most: int) -> NDArray[np.float64]:
    """Return places none of which is near an earlier one, `most` at most."""
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
    points = np.random.default_rng(0).normal(size=(30, 2))
    contraction = contract(Instance(points, 2, cannot_link=np.array([[0, 1]])))
    assert isinstance(contraction, Contraction)
    labels = (np.arange(30) % 2).astype(np.intp)
    run = PlaceRun.begin(contraction, PlaceParameters(cells=10, places=10, rounds=3), labels)
    assert run is not None
    while not run.advance(math.inf).stalled:
        pass
    run.affinity()
