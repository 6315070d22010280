"""Bound by prices of points and places of means, round by round, for three dimensions or fewer.

A cluster X with the mean c costs sum_X e_i ||c_i - c||^2, so that at any prices y_i of a point of
block i every clustering costs at least

    sum_i e_i y_i - k v + (scatter inside blocks),
    v >= sum_i e_i max(0, y_i - ||c_i - c||^2)  for all places c.

Each cluster is worth most if it takes the blocks that are worth their prices at some place: a
maximum over places, in whatever number of blocks. A search over boxes of places proves v
(`search.py`); prices come from a dual function over finitely many places (`dual.py`), to which the
search adds. This is the dual of the k-median problem with squared distances whose facilities may be
anywhere; constraints on pairs and clusters are left out, which only lowers the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.places.cells import cells_of, means_of, spread
from sdpbb.bounds.places.dual import PlaceDual
from sdpbb.bounds.places.parameters import DIMENSIONS, PlaceParameters
from sdpbb.bounds.places.search import PlaceSearch
from sdpbb.bounds.places.value_kernels import climb
from sdpbb.bounds.rounding_errors import rounding_of
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.time_left import TimeLeft, check_time, no_limit

_EPS = float(np.finfo(np.float64).eps)
Ascents = tuple[tuple[float, int], ...]
# Sharpness of the maximum, and steps: for prices of cells, and for those of all points, by round.
OF_CELLS: Ascents = ((30.0, 300), (100.0, 300), (300.0, 300), (1000.0, 200), (3000.0, 100))
OF_ROUNDS: tuple[Ascents, ...] = (
    ((100.0, 60), (300.0, 80), (1000.0, 60)),
    ((3000.0, 50), (10000.0, 100)),
)
# Part of the cost that the first searches may lose by their tolerance.
EARLY = 1e-2
# Rounds end where one leaves more than this part of the gap, once all of these are done.
ENOUGH = 0.97
# Places that are not within this of the most valuable one are dropped between rounds.
NEAR = 0.85
# Of the places that a search has met, those are taken that are so far from each other, in radii of
# the smallest cluster; from round to round.
APART = (0.05, 0.03, 0.02, 0.01)
# Of them, the best ones climb so many steps besides.
CLIMBERS, CLIMBS = 40, 30


@dataclass(frozen=True, eq=False)
class PlaceRound:
    """Round of a bound by prices and places.

    bound : the best so far
    n_places : at which the prices were made
    n_boxes : that the search looked at
    met : (p, 3) places that the search met, of nearly the greatest value, the best first
    """

    bound: ProvenBound
    n_places: int
    n_boxes: int
    met: NDArray[np.float64]


def is_within_reach(contraction: Contraction) -> bool:
    """Return whether the blocks lie in few enough dimensions, and are clustered at all."""
    return contraction.means.shape[1] <= DIMENSIONS and 1 < contraction.k < contraction.n_blocks


def place_mebibytes(n_blocks: int) -> float:
    """Estimate the memory of the bound in MiB: 100 numbers for each block."""
    return 8e-4 * n_blocks


def exercise() -> None:
    """Call every compiled loop of the bound, with the types that runs call them with."""
    points = np.random.default_rng(0).normal(size=(30, 2))
    contraction = contract(Instance(points, 2))
    assert isinstance(contraction, Contraction)
    labels = (points[:, 0] > 0.0).astype(np.intp)
    parameters = PlaceParameters(cells=10, places=10, rounds=2)
    for _ in PlaceBounding(contraction, labels, parameters, 0.1).rounds(no_limit):
        pass


class PlaceBounding:
    """Bounding of a root by prices of its points and the places of means."""

    def __init__(
        self,
        contraction: Contraction,
        labels: NDArray[np.intp],
        parameters: PlaceParameters,
        gap: float,
    ) -> None:
        """
        Parameters
        ----------
        labels : (m,) of a clustering of the blocks, without empty clusters
        gap : relative to its cost, that is asked for
        """
        self._contraction, self._parameters, self._gap = contraction, parameters, gap
        self._weights = contraction.sizes
        self._points = _turned(contraction.means, self._weights)
        self._labels = labels
        self._centres, self._totals = means_of(self._points, self._weights, labels)
        self._nearest = _nearest(self._points, self._centres, labels)
        own = self._nearest[0] * self._weights
        self._cost = float(own.sum())
        radii = np.sqrt(np.bincount(labels, own) / self._totals)
        self._radius = float(radii[radii > 0.0].min(initial=math.inf))
        self._places = self._centres
        self.bound = ProvenBound(0.0)

    def rounds(self, time_left: TimeLeft) -> Iterator[PlaceRound]:
        """Raise the bound, and yield each round, until it meets the cost or nothing is gained.

        Raises
        ------
        OutOfTime
        """
        if not (self._cost > 0.0 and math.isfinite(self._radius)):
            return
        dual = self._dual(self._points, self._weights, self._centres)
        # These two rounds take little time, and give the first bounds.
        yield self._proven(dual, self._first_prices(), EARLY, time_left)
        prices = self._prices_of_cells(time_left)
        dual.places = self._places
        yield self._proven(dual, prices, EARLY, time_left)
        last = 0.0
        for number in range(self._parameters.rounds):
            best = prices
            for sharpness, most in OF_ROUNDS[min(number, len(OF_ROUNDS) - 1)]:
                best, prices = dual.ascend(prices, sharpness, most, time_left)
            accuracy = max(self._parameters.first_accuracy / 3.0**number, self._gap / 10.0)
            done = self._proven(dual, best, accuracy, time_left)
            yield done
            left = self._cost + float(self._contraction.scatter.sum()) - self.bound.value
            if left <= self._gap * self._cost or (number > 4 and left > ENOUGH * last):
                return
            dual.places = self._more_places(dual, best, done.met, number, time_left)
            last, prices = left, best

    def _dual(
        self,
        points: NDArray[np.float64],
        weights: NDArray[np.float64],
        places: NDArray[np.float64],
    ) -> PlaceDual:
        return PlaceDual(points, weights, self._contraction.k, places, self._cost)

    def _first_prices(self) -> NDArray[np.float64]:
        """Return the prices (m,) that belong to the clustering, in closed form."""
        own, second = self._nearest
        return own + _equal_surpluses((second - own) / 2.0, self._weights, self._labels)

    def _prices_of_cells(self, time_left: TimeLeft) -> NDArray[np.float64]:
        """Return prices (m,) from those of cells; choose the first places."""
        points, weights, labels = self._points, self._weights, self._labels
        places = cells_of(points, weights, labels, self._parameters.places, time_left)
        self._places = np.vstack([self._centres, means_of(points, weights, places)[0]])
        cell = cells_of(points, weights, labels, self._parameters.cells, time_left)
        means, totals = means_of(points, weights, cell)
        cluster = np.empty(len(means), np.intp)
        cluster[cell] = labels
        own, second = _nearest(means, self._centres, cluster)
        prices = own + _equal_surpluses((second - own) / 2.0, totals, cluster)
        dual = self._dual(means, totals, self._places)
        best = prices
        for sharpness, most in OF_CELLS:
            best, prices = dual.ascend(prices, sharpness, most, time_left)
        surplus = spread(best - own, means, cluster, points, labels, time_left)
        own, second = self._nearest
        return own + np.clip(surplus, 0.0, np.maximum(second - own, 0.0))

    def _proven(
        self,
        dual: PlaceDual,
        prices: NDArray[np.float64],
        accuracy: float,
        time_left: TimeLeft,
    ) -> PlaceRound:
        """Raise the bound by a search for the greatest value at prices.

        accuracy : part of the cost that the bound may lose by the search's tolerance
        """
        values = dual.values(prices, time_left)
        known = 0.0
        for place in (*self._centres, *dual.places[np.argsort(-values)[:8]]):
            check_time(time_left)
            value = climb(self._points, self._weights, prices, place.copy(), CLIMBS)
            known = max(known, value)
        tolerance = accuracy * self._cost / self._contraction.k
        search = PlaceSearch(self._points, self._weights, prices, known, tolerance)
        self._raise(prices, search.run(time_left))
        return PlaceRound(self.bound, len(dual.places), search.n_boxes, search.met)

    def _raise(self, prices: NDArray[np.float64], greatest: float) -> None:
        """Raise the bound to that of prices at which no place has a greater value."""
        of = self._contraction
        total = math.fsum((self._weights * prices).tolist())
        rest = of.k * greatest
        magnitude = float(self._weights @ np.abs(prices)) + abs(rest)
        value = total - rest - 8.0 * _EPS * magnitude - rounding_of(of)
        scatter = math.fsum(of.scatter.tolist()) * (1.0 - 8.0 * _EPS)
        self.bound = max(self.bound, ProvenBound(max(0.0, value) + scatter))

    def _more_places(
        self,
        dual: PlaceDual,
        prices: NDArray[np.float64],
        met: NDArray[np.float64],
        number: int,
        time_left: TimeLeft,
    ) -> NDArray[np.float64]:
        """Return the places that count, and those that the search has met."""
        values = dual.values(prices, time_left)
        near = dual.places[values >= NEAR * values.max()]
        apart = APART[min(number, len(APART) - 1)] * self._radius
        new = _thinned(met, apart, self._parameters.new_places)
        climbed = new[:CLIMBERS].copy()
        for place in climbed:
            check_time(time_left)
            climb(self._points, self._weights, prices, place, CLIMBS)
        return np.vstack([near, new, climbed])


def _turned(means: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return means (m, 3) along their principal axes, with zeros for what is missing.

    What turning rounds is in the margin of `PlaceSearch`.
    """
    turned = np.zeros((len(means), DIMENSIONS))
    centred = means - weights @ means / weights.sum()
    axes = np.linalg.eigh((centred * weights[:, None]).T @ centred)[1]
    turned[:, : means.shape[1]] = centred @ axes
    return turned


def _nearest(
    points: NDArray[np.float64], centres: NDArray[np.float64], labels: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return squared distances (n,) from the own centre, and from the nearest other one."""
    own, other = np.empty(len(points)), np.full(len(points), np.inf)
    for label, centre in enumerate(centres):
        squares, of = ((points - centre) ** 2).sum(axis=1), labels == label
        own[of] = squares[of]
        other[~of] = np.minimum(other[~of], squares[~of])
    return own, other


def _equal_surpluses(
    half: NDArray[np.float64], weights: NDArray[np.float64], labels: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return what prices are above the squared distance from the own centre.

    It is half the way to the next one at most, and the same in sum for all clusters.

    half : (m,) half the difference of the squared distances
    """
    half = np.maximum(half, 0.0)
    least = float(np.bincount(labels, weights * half).min())
    surplus = np.empty(len(half))
    for label in np.unique(labels):
        of = labels == label
        low, high = 0.0, float(half[of].max())
        for _ in range(50):
            middle = 0.5 * (low + high)
            if weights[of] @ np.minimum(half[of], middle) < least:
                low = middle
            else:
                high = middle
        surplus[of] = np.minimum(half[of], high)
    return surplus


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
