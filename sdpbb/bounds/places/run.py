"""Bounding of a node by prices of points and places of means, round by round (`PlaceRun`).

A cluster X with the mean c costs sum_X e_i ||c_i - c||^2, so that at any prices y_i of a point of
block i every clustering costs at least

    sum_i e_i y_i - k v + (scatter inside blocks),
    v >= sum_X e_i (y_i - ||c_i - c||^2)  for all places c and all clusters X that may be.

Each cluster is worth most if it takes the blocks that are worth their prices at some place, one of
a cannot-linked pair at most: a maximum over places, in whatever number of blocks. Each round
(`rounds.py`) raises prices by a dual function over finitely many places (`dual.py`), proves v by a
search over boxes of places (`search.py`), and adds places that the search has met. This is the dual
of the k-median problem with squared distances whose facilities may be anywhere; constraints on
clusters are left out.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundProgress
from sdpbb.bounds.evidence import Lagrangian
from sdpbb.bounds.places.conflict_kernels import mark_members
from sdpbb.bounds.places.dual import PlaceDual
from sdpbb.bounds.places.first_prices import KnownClustering
from sdpbb.bounds.places.problem import PlaceProblem
from sdpbb.bounds.places.rounds import FIRST_SHARPNESS, PlaceRound, PlaceRounds
from sdpbb.bounds.places.state import PlaceState, PlaceWarmStart
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, no_limit

# Rounds end where the best that prices over the places looked at promise is no more than this part
# of what is left; or so many rounds together have gained no more than this part of it.
SETTLED, LOOK_BACK, LITTLE = 0.12, 9, 0.1
# How often prices are raised before.
LEAST_RAISED = 4
# Places of an affinity, those of the greatest masses.
MOST_MASSES = 3000
# Maximum rounds.
MAX_ROUNDS = 100


class PlaceRun:
    """Bounding of one node by prices of its points and the places of means."""

    def __init__(self, contraction: Contraction, state: PlaceState) -> None:
        self._contraction = contraction
        self._problem = PlaceProblem.of(contraction)
        self._dual = PlaceDual(self._problem, state.places, state.scale)
        self._rounds = PlaceRounds(contraction, self._problem, self._dual)
        self._bound, self.n_boxes = state.bound, 0
        self.state = state

    @classmethod
    def begin(cls, contraction: Contraction, labels: NDArray[np.intp]) -> PlaceRun | None:
        """Return a new run; None where the clustering known costs nothing.

        labels : (m,) of a clustering of the blocks, without empty clusters
        """
        problem = PlaceProblem.of(contraction)
        known = KnownClustering.of(problem, labels)
        if not (known.cost > 0.0 and math.isfinite(known.radius)):
            return None
        prices = known.prices(problem.weights)
        state = PlaceState(prices, known.centres, known.cost, known.radius, FIRST_SHARPNESS, labels)
        return cls(contraction, state)

    @classmethod
    def inherit(cls, contraction: Contraction, of: PlaceWarmStart) -> PlaceRun:
        """Return a new run of a child."""
        places = PlaceProblem.of(contraction).turned(of.places)
        prices = of.prices_for(contraction)
        state = PlaceState(
            prices,
            places,
            of.scale,
            of.radius,
            FIRST_SHARPNESS,
            expected=of.expected,
            n_raised=LEAST_RAISED,
        )
        return cls(contraction, state)

    @property
    def n_iterations(self) -> int:
        """Rounds so far."""
        return len(self.state.values)

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Raise prices, and prove a bound of them.

        In the first round, and that of a child, nothing is raised.
        """
        left = self._left(cutoff)
        try:
            self._keep(self._rounds.next(self.state, left, time_left))
        except OutOfTime:
            return self._progress(is_cut=True)
        return self._progress(self._is_idle(cutoff))

    def _progress(self, stalled: bool = False, is_cut: bool = False) -> BoundProgress:
        n_places = len(self.state.places)
        return BoundProgress(self._bound, stalled, n_places, self.n_iterations, is_cut)

    def _keep(self, result: PlaceRound) -> None:
        """Go on from the result of a round."""
        state, prices, proof = self.state, result.prices, result.proof
        if proof.bound > self._bound:
            self._bound, state.bound = proof.bound, proof.bound.bare()
            assert isinstance(proof.bound.evidence, Lagrangian)
            state.proof = proof.bound.evidence
        if state.values:
            state.labels = None
        state.prices, state.places = prices.last, result.places
        state.n_raised, state.sharpness = prices.n_raised, prices.sharpness
        state.promise = prices.value + float(self._contraction.scatter.sum())
        state.values += (state.bound.value,)
        self.n_boxes = proof.n_boxes

    def _left(self, cutoff: float) -> float:
        """Return what the bound lacks to the cutoff; without a finite one, the scale."""
        state = self.state
        left = cutoff - max(state.bound.value, state.expected)
        return max(1e-9 * state.scale, min(left, state.scale))

    def _is_idle(self, cutoff: float) -> bool:
        """Return whether rounds gain too little of what is left to go on."""
        state, n_rounds = self.state, len(self.state.values)
        if n_rounds >= MAX_ROUNDS:
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
        scratch = np.zeros((2, m))
        for place, member in zip(state.places[top], members, strict=True):
            mark_members(data, of.pairs, of.limits, place, worths, member, scratch)
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
            of.block_of,
            state.prices,
            of.scatter,
            places,
            state.scale,
            state.radius,
            expected,
            of.weights,
        )


def exercise() -> None:
    """Call every compiled loop of the bound, with the types that runs call them with."""
    points = np.random.default_rng(0).normal(size=(30, 2))
    contraction = contract(Instance(points, 2, cannot_link=np.array([[0, 1]])))
    assert isinstance(contraction, Contraction)
    labels = (np.arange(30) % 2).astype(np.intp)
    run = PlaceRun.begin(contraction, labels)
    assert run is not None
    for _ in range(3):
        run.advance(math.inf)
    run.affinity()
