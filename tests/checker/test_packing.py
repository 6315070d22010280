"""Packings and colourings, of the engine and of the checker, against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.rules import Measure
from sdpbb.checker.kernel.sizes import SizeLimits
from sdpbb.checker.packing import ClusterByCluster, is_packable
from sdpbb.problem.feasibility import ClusterPacking, UndecidedPacking
from sdpbb.problem.quantities import Quantity
from tests.graphs import complete, cycle, mycielski, proper_colourings, random_graph


@pytest.mark.parametrize("seed", range(4))
def test_weights_a_unit_from_a_packing(seed):
    """With the greatest weight of the best packing there is one, and with a unit less, none."""
    rng = np.random.default_rng(seed)
    units = rng.integers(10**14, 10**15, 18)
    total, apart = int(units.sum()), np.zeros((18, 18), bool)
    sums = (np.arange(2**17)[:, None] >> np.arange(18) & 1) @ units
    best = int(np.maximum(sums, total - sums).min())
    for most in (best, best - 1):
        limits = SizeLimits(total, 2, total - most, most)
        assert is_packable(apart, 2, [Measure.of(units, limits)]) is (most == best)


def test_it_is_given_up_in_time():
    units = np.random.default_rng(0).integers(10**14, 10**15, 60)
    total, apart = int(units.sum()), np.zeros((60, 60), bool)
    narrow = SizeLimits(total, 3, total // 3 - 10**9, total // 3 + 10**9)
    wide = SizeLimits(int(units[:40].sum()), 3, 1, int(units[:40].sum()))
    for values, limits, why in ((units, narrow, "too many"), (units[:40], wide, "within the work")):
        own = apart[: len(values), : len(values)]
        with pytest.raises(Rejected, match=why):
            ClusterByCluster([Measure.of(values, limits)], own).succeeds()
        with pytest.raises(UndecidedPacking, match=why):
            ClusterPacking([Quantity(values, limits)], own).labels()


def test_packings_are_given_up_in_time():
    counts = np.full(60, 7)
    limits = SizeLimits(420, 6, 69, 71)
    with pytest.raises(Rejected, match="could not be decided"):
        is_packable(np.zeros((60, 60), bool), 6, [Measure.of(counts, limits)], steps=20)


@given(st.integers(0, 2**32), st.integers(1, 4), st.floats(0.1, 0.9))
def test_colourings_are_those_of_enumeration(seed, k, density):
    adjacency = random_graph(np.random.default_rng(seed), 6, density)
    assert is_packable(adjacency, k) is bool(proper_colourings(adjacency, k))


def test_graphs_without_triangles_may_need_many_colours():
    adjacency = complete(2)
    for colours in (3, 4, 5):
        adjacency = mycielski(adjacency)
        assert is_packable(adjacency, colours)
        assert not is_packable(adjacency, colours - 1)
    with pytest.raises(Rejected, match="could not be decided within 20 steps"):
        is_packable(adjacency, 4, steps=20)


def test_colourings_of_many_vertices_and_of_none():
    assert not is_packable(cycle(1501), 2)
    assert is_packable(cycle(1501), 3)
    assert is_packable(np.zeros((0, 0), bool), 1)
    assert not is_packable(np.diag([True, False]), 5)
