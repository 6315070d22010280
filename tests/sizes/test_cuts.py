"""Cuts where sizes are limited: valid for all clusterings, the same in the checker."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.bounds.sdp.cuts.cliques import separate_listed_cliques
from sdpbb.bounds.sdp.cuts.sizes import difference_down, separate_size_pairs
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.problem import Instance, contract
from sdpbb.search.result import SolutionStatus
from tests.enumeration import clustering_matrix, feasible_clusterings


def test_a_cut_is_rejected_where_sizes_are_more_than_it_says():
    """That limits matter: the cuts of narrow ones do not hold for wider ones."""
    points = np.arange(6.0)[:, None]
    narrow = contract(Instance(points, 3, sizes=[1, 2, 3]))
    wide = Instance(points, 3)
    for separate in (separate_size_pairs, separate_listed_cliques):
        cuts = separate(np.diag([0.2, 0.9, 0.3, 0.3, 0.2, 0.6]) + 0.02, Relaxation.of(narrow))
        broken = [
            (cuts.values(clustering_matrix(labels, np.ones(6))) < cuts.rhs - 1e-12).any()
            for labels in feasible_clusterings(wide)
        ]
        assert any(broken)


@pytest.mark.long
@pytest.mark.parametrize(
    ("limits", "objective"),
    [
        ({"sizes": [50, 50, 50]}, 81.2778),
        ({"min_size": 50}, 81.2778),
        ({"sizes": [45, 50, 55]}, None),
        ({"min_size": 45, "max_size": 58}, None),
    ],
)
def test_iris_is_proven_at_the_root(limits, objective):
    points = Instance.from_files("instances/iris.txt").points
    result = sdpbb.solve(Instance(points, 3, **limits))
    assert result.status is SolutionStatus.OPTIMAL
    assert result.statistics.n_nodes == 1
    assert objective is None or result.objective == pytest.approx(objective, abs=1e-4)
    assert Instance(points, 3, **limits).size_limits.keeps(np.bincount(result.partition.labels))


@given(st.floats(0.0, 1e30), st.floats(0.0, 1e30))
def test_differences_of_limits_are_rounded_down(first, second):
    """Also of whole numbers that are too large for exact differences."""
    most, least = max(first, second), min(first, second)
    assert Fraction(difference_down(most, least)) <= Fraction(most) - Fraction(least)
