"""Round of the bound by prices and places: prices are raised, proven, and places are added.

1. Prices are raised over the places of the state, by ascents of the dual function (`dual.py`). A
   run from a known clustering proves the prices in closed form first, and only then chooses places.
2. A search over all places proves a bound of the prices (`search.py`).
3. Places that no longer count are left out, and those that the search has met are added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.places.conflict_kernels import climb
from sdpbb.bounds.places.dual import PlaceDual
from sdpbb.bounds.places.first_prices import KnownClustering, cells_of, means_of, prices_of_cells
from sdpbb.bounds.places.problem import PlaceProblem, price_bound
from sdpbb.bounds.places.search import PlaceSearch
from sdpbb.bounds.places.state import PlaceState
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import TimeLeft, check_time

# Sharpness of the smoothed maximum, and steps: of the first round that raises prices, and of those
# that follow by their last sharpness.
FIRST_ASCENTS = ((100.0, 60), (300.0, 80), (1000.0, 60))
ASCENTS = ((0.3, 50), (1.0, 100))
# What is sharp enough before.
FIRST_SHARPNESS = FIRST_ASCENTS[-1][0]
# The last sharpness is so many times the cost over what is left, within these limits: the smoothed
# maximum lies above the maximum by the logarithm of the places that count, over the sharpness.
SHARP, SHARPNESS = 100.0, (3000.0, 100_000.0)
# Part of the cost that searches may lose by their tolerance before prices are raised.
EARLY = 1e-2
# Places are dropped whose values are below the greatest by so many times the cost of a cluster, and
# what is left for it.
NEAR, FAR = 3e-3, 10.0
# Distances are in radii of the smallest cluster. Places that are added are so far from each other,
# from round to round, and a part of it from those that are kept.
APART, APART_FROM_KEPT = (0.05, 0.03, 0.02, 0.01), 0.3
# So many places for each cluster climb, so many steps at most. They are at least so far from each
# other where that leaves as many, so that there are some of each cluster: where only the best are
# taken, which are near each other, prices rise here and fall there.
CLIMBERS, CLIMBS, SEPARATE = 3, 30, 0.3
# Share of the greatest value from which on a search keeps places, within these limits.
SHARES = (0.5, 0.99999)
# Groups of close points for the first prices. Their prices take seconds, and prices of all points
# start from them.
CELLS = 3000
# Places for the first prices besides the clusters' means, and places that a search adds; for each
# cluster, where these are more.
PLACES, NEW_PLACES = 2000, 300
PLACES_EACH, NEW_EACH = 20, 2
# Tolerance of the search over all places, as a share of the gap.
ACCURACY = 0.05


@dataclass(frozen=True, eq=False)
class RoundPrices:
    """Prices of a round, before they are proven.

    places : (M, 3) over which they were raised
    best : (m,) the prices to prove
    last : (m,) the prices from which the next round goes on
    value : dual value of the best over these places; inf where no prices were raised
    sharpness : the last
    n_raised : how often prices were raised, these included
    """

    places: NDArray[np.float64]
    best: NDArray[np.float64]
    last: NDArray[np.float64]
    value: float
    sharpness: float
    n_raised: int


@dataclass(frozen=True, eq=False)
class PlaceProof:
    """Result of a search over all places at given prices.

    bound : what the prices prove
    met : (p, 3) places of great values, the greatest first
    n_boxes : that the search has looked at
    """

    bound: ProvenBound
    met: NDArray[np.float64]
    n_boxes: int


@dataclass(frozen=True, eq=False)
class PlaceRound:
    """Result of a round.

    places : (M, 3) of the next one
    """

    prices: RoundPrices
    proof: PlaceProof
    places: NDArray[np.float64]


class PlaceRounds:
    """Rounds of one node: from a state to the result of the next round."""

    def __init__(self, contraction: Contraction, problem: PlaceProblem, dual: PlaceDual) -> None:
        """dual : of the problem; its places are replaced"""
        self._contraction, self._problem, self._dual = contraction, problem, dual

    def next(self, state: PlaceState, left: float, time_left: TimeLeft) -> PlaceRound:
        """Return the result of the next round of a state, which stays as it is.

        left : what the bound lacks to the cutoff

        Raises
        ------
        OutOfTime
        """
        prices = self._prices(state, left, time_left)
        is_raised = prices.n_raised > 0
        tolerance = ACCURACY * left if is_raised else EARLY * state.scale
        values = self._dual.values(prices.best, time_left)
        proof = self._prove(prices.best, values, state.radius, left, tolerance, time_left)
        if not is_raised:
            return PlaceRound(prices, proof, prices.places)
        near = max(NEAR * state.scale, FAR * left) / self._problem.k
        kept = prices.places[values >= values.max() - near]
        apart = APART[min(prices.n_raised, len(APART)) - 1] * state.radius
        places = self._with_new_places(kept, proof.met, apart, state.radius)
        return PlaceRound(prices, proof, places)

    def _prices(self, state: PlaceState, left: float, time_left: TimeLeft) -> RoundPrices:
        """Return the prices of a round: given ones, those of cells of blocks, or raised ones."""
        if not state.values:  # Those in closed form, or of the parent.
            return self._unraised(state, state.places, state.prices)
        if state.labels is None:
            return self._ascend(state, state.places, left, time_left)
        places = self._first_places(state.labels, time_left)
        if len(state.prices) <= CELLS:
            return self._ascend(state, places, left, time_left)
        known = KnownClustering.of(self._problem, state.labels)
        prices = prices_of_cells(self._problem, known, places, CELLS, time_left)
        return self._unraised(state, places, prices)

    def _unraised(
        self, state: PlaceState, places: NDArray[np.float64], prices: NDArray[np.float64]
    ) -> RoundPrices:
        """Return prices (m,) as they are."""
        self._dual.places = places
        return RoundPrices(places, prices, prices, math.inf, state.sharpness, state.n_raised)

    def _ascend(
        self, state: PlaceState, places: NDArray[np.float64], left: float, time_left: TimeLeft
    ) -> RoundPrices:
        """Return the prices of a state, raised over places by ascents of growing sharpness."""
        self._dual.places = places
        best = last = state.prices
        value, sharpness = math.inf, state.sharpness
        for sharpness, steps in _ascents(state, left):
            ascent = self._dual.ascend(last, sharpness, steps, time_left)
            best, last, value = ascent.best, ascent.last, ascent.value
        return RoundPrices(places, best, last, value, sharpness, state.n_raised + 1)

    def _first_places(self, labels: NDArray[np.intp], time_left: TimeLeft) -> NDArray[np.float64]:
        """Return the centres of a clustering, and the means of cells of it."""
        points, weights = self._problem.points, self._problem.weights
        n_cells = max(PLACES, PLACES_EACH * self._problem.k)
        cell = cells_of(points, weights, labels, n_cells, time_left)
        centres, means = (means_of(points, weights, of)[0] for of in (labels, cell))
        return np.vstack([centres, means])

    def _prove(
        self,
        prices: NDArray[np.float64],
        values: NDArray[np.float64],
        radius: float,
        left: float,
        tolerance: float,
        time_left: TimeLeft,
    ) -> PlaceProof:
        """Prove a bound of prices (m,) by a search for the greatest value over all places.

        values : (M,) of the places of the dual function at these prices
        left : what the bound lacks to the cutoff
        tolerance : what the bound may lose by the search's
        """
        of = self._problem
        places = self._dual.places[np.argsort(-values, kind="stable")]
        places = _thinned(places, SEPARATE * radius, CLIMBERS * of.k)
        tops = self._climbed(prices, places, time_left)
        known = max(0.0, float(tops[:, 3].max()))
        # The dual function does not know of a place that is worth more than all of its own.
        share = (float(values.max()) - left / of.k) / known if known > 0.0 else 0.0
        search = PlaceSearch(of, prices, known, tolerance / of.k, float(np.clip(share, *SHARES)))
        bound = price_bound(self._contraction, prices, search.run(time_left))
        places = _spread(search.met[:, :3], APART[-1] * radius, radius, CLIMBERS * of.k)
        met = np.vstack([tops, search.met, self._climbed(prices, places, time_left)])
        met = met[np.argsort(-met[:, 3], kind="stable"), :3]
        return PlaceProof(bound, met, search.n_boxes)

    def _climbed(
        self, prices: NDArray[np.float64], places: NDArray[np.float64], time_left: TimeLeft
    ) -> NDArray[np.float64]:
        """Return the places to which places (p, 3) climb, and their values at prices, (p, 4)."""
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
        """Return the places kept, and those met (p, 3) that are not near one of them."""
        if len(met):
            met = met[cKDTree(kept).query(met)[0] > APART_FROM_KEPT * apart]
        most = max(NEW_PLACES, NEW_EACH * self._problem.k)
        return np.vstack([kept, _spread(met, apart, radius, most)])


def _ascents(state: PlaceState, left: float) -> Iterable[tuple[float, int]]:
    """Return the sharpness and the steps of each ascent of a round."""
    if not state.n_raised:
        return FIRST_ASCENTS
    last = float(np.clip(SHARP * state.scale / left, *SHARPNESS))
    return [(part * last, steps) for part, steps in ASCENTS]


def _spread(
    places: NDArray[np.float64], apart: float, radius: float, most: int
) -> NDArray[np.float64]:
    """Return up to `most` places, as far from each other as leaves so many, `apart` at least.

    The earlier ones are preferred.
    """
    distance = max(apart, SEPARATE * radius)
    while True:
        chosen = _thinned(places, distance, most)
        if len(chosen) == most or distance <= apart:
            return chosen
        distance = max(apart, 0.5 * distance)


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
