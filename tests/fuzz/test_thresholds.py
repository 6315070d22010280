"""Bounds of places and of subsets, where they begin to be used: what they prove is true.

The truth is known by dynamic programming on a line, by enumeration where parameters let these
bounds have few points, and elsewhere by another bound.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.lagrangian.places.run import PlaceRun
from sdpbb.bounds.lagrangian.reach import FOR_PLACES
from sdpbb.problem import Instance
from sdpbb.run.parameters import DecompositionParameters, SolverParameters
from sdpbb.run.solver import solve
from sdpbb.search.result import Result
from tests.constants import FEW_PLACES, NO_PLACES_FIRST, TINY_SUBSETS, constants
from tests.enumeration import optimum
from tests.examples import examples
from tests.fuzz.lines import cheapest_on_line, random_line

SEEDS = st.integers(0, 2**32)
AS_THEY_ARE = SolverParameters()
SUBSETS = SolverParameters(bounding="decomposition")
SMALL_SUBSETS = replace(SUBSETS, decomposition=TINY_SUBSETS)
# Parameters, and constants that are changed.
LOWERED = {
    "places": (AS_THEY_ARE, FEW_PLACES),
    "subsets": (SMALL_SUBSETS, {}),
    "subsets alone": (SMALL_SUBSETS, NO_PLACES_FIRST),
    "both": (SMALL_SUBSETS, FEW_PLACES),
}
# Nodes after which lines may be left with a gap.
MOST_NODES = 40
# The same in three dimensions, where places take up to a second for a node.
FEW_NODES = 10
# Points from which places are used, and blocks from which subsets are.
THRESHOLDS = FOR_PLACES[0].blocks, DecompositionParameters().least_blocks


def solved(instance: Instance, bounds: str, **changes: Any) -> Result:
    """The result of a run with lowered thresholds and changed parameters."""
    parameters, changed = LOWERED[bounds]
    with constants(changed):
        return solve(instance, replace(parameters, **changes))


def assert_true(result: Result, truth: float | None, gap: float, most: int | None = None) -> None:
    """Whether a result says nothing that the least cost of a clustering contradicts.

    most : nodes after which a run may end with a gap
    """
    if truth is None:
        assert result.status.value == "infeasible"
        return
    assert result.lower_bound <= truth * (1 + 1e-9) + 1e-12
    assert truth * (1 - 1e-9) - 1e-12 <= result.objective
    if most is not None and result.statistics.n_nodes >= most:
        return
    assert result.status.value == "optimal"
    assert result.objective <= truth * (1 + 2 * gap) + 1e-9


@examples()
@given(SEEDS)
def test_dynamic_programming_on_a_line_agrees_with_enumeration(seed):
    instance = random_line(np.random.default_rng(seed), n_min=5, n_max=9)
    assert cheapest_on_line(instance) == pytest.approx(optimum(instance), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("bounds", LOWERED)
@examples(6)
@given(SEEDS)
def test_lines(bounds, seed):
    rng = np.random.default_rng([seed, 2])
    instance, gap = random_line(rng, 10, 80), float(rng.choice([1e-4, 0.1]))
    # Some draws take many nodes: runs have places alone here, from two blocks on, where other
    # bounds would follow otherwise.
    result = solved(instance, bounds, gap=gap, node_limit=MOST_NODES)
    assert_true(result, cheapest_on_line(instance), gap, MOST_NODES)


@pytest.mark.long
@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("beyond", [-1, 0, 1])
@examples(1)
@given(SEEDS)
def test_lines_at_the_thresholds(threshold, beyond, seed):
    """In one cloud, which is not closed before these bounds begin."""
    rng = np.random.default_rng([seed, 3])
    n = threshold + beyond
    instance = Instance(rng.normal(size=(n, 1)), int(rng.integers(2, 7)))
    truth = cheapest_on_line(instance)
    ways = (AS_THEY_ARE, 1e-3, {}), (SUBSETS, 1e-3, {}), (SUBSETS, 1e-2, NO_PLACES_FIRST)
    for parameters, gap, changed in ways:
        with constants(changed):
            result = solve(instance, replace(parameters, gap=gap))
        assert_true(result, truth, gap)


def test_both_bounds_are_used_where_they_are_asked_for(monkeypatch):
    used = []
    advance = PlaceRun.advance

    def noted(self, *arguments):
        used.append(self)
        return advance(self, *arguments)

    monkeypatch.setattr(PlaceRun, "advance", noted)
    instance = Instance(np.random.default_rng(0).normal(size=(60, 1)), 3)
    alone = solved(instance, "subsets alone", gap=0.1)
    assert alone.statistics.n_subsets > 1
    assert not used
    solved(instance, "places", gap=1e-3)
    assert used


@pytest.mark.long
@pytest.mark.parametrize("d", [3, 4])
@examples(2)
@given(SEEDS)
def test_other_bounds_agree_at_three_dimensions(d, seed):
    """With must-links and cannot-links of some of the points; four dimensions have no places."""
    rng = np.random.default_rng([seed, 4])
    k = int(rng.integers(2, 5))
    labels = rng.integers(k, size=60)
    points = rng.normal(size=(60, d)) + 3.0 * rng.normal(size=(k, d))[labels]
    pairs = rng.permutation(60).reshape(-1, 2)[: int(rng.integers(0, 20))]
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    instance = Instance(points, k, pairs[same], pairs[~same])
    other = solve(instance, SolverParameters(bounding="sdp", gap=1e-5))
    assert other.status.value == "optimal"
    for bounds in LOWERED:
        result = solved(instance, bounds, gap=1e-4, node_limit=FEW_NODES)
        is_optimal = result.status.value == "optimal"
        assert is_optimal or result.statistics.n_nodes >= FEW_NODES
        assert result.lower_bound <= other.objective * (1 + 1e-9)
        assert other.lower_bound <= result.objective * (1 + 1e-9)
