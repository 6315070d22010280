"""Small cases whose bounds are known; evidence that makes no sense is among the vectors."""

from fractions import Fraction

import numpy as np
import pytest

from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.cuts import Cuts
from sdpbb.checker.kernel.cuts.templates import Templates, Vectors
from sdpbb.checker.kernel.dual import Semidefinite
from sdpbb.checker.kernel.evidence import Effort
from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.judge import excluded_pairs, far_pairs
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.partitions import Enumerated
from tests.checker.nodes import zero_evidence
from tests.enumeration import ExactSquares

# Two pairs at distance 1: the best two clusters cost 1.
PAIRS = Geometry.of(np.array([[0.0], [1.0], [10.0], [11.0]])).contracted(np.arange(4))
NO_TRIPLES, NONE = np.empty((0, 3), np.int32), np.empty(0)


def of_blocks(k: int, m: int = 4, *pairs: tuple[int, int]) -> Blocks:
    adjacency = np.zeros((m, m), bool)
    for i, j in pairs:
        adjacency[i, j] = adjacency[j, i] = True
    return Blocks(k, np.arange(m), adjacency)


def test_a_search_for_a_partition_ends():
    members = np.array([[i >> b & 1 for b in range(4)] for i in range(1, 16)], bool)
    clusters = Enumerated(0.9, np.zeros(4), 0.0, np.zeros(4), NO_TRIPLES, NONE)
    given = PAIRS, of_blocks(2), members
    with pytest.raises(Rejected, match="within the nodes of a search"):
        clusters.require_no_partition(*given, Effort(1 / 40_000))
    clusters.require_no_partition(*given, Effort(1 / 400))


@pytest.mark.parametrize("seed", range(30))
def test_large_dual_values_that_cancel_do_not_lift_the_bound(seed):
    """For k = 2 and cannot-linked j, h, a triangle cut and a complement cut are opposites."""
    rng = np.random.default_rng(seed)
    points = np.array([[0.0], [1.0], [2.0], [3.0], [4.2]])
    optimum = ExactSquares(points).of(np.array([0, 0, 0, 1, 1]))
    assert float(optimum) == pytest.approx(2.72)  # {0, 1} and {2, 3, 4.2} cost 2.93
    stars = [[i, 0, 4] for i in (1, 2, 3)] + [[i, j] for i in (1, 2, 3) for j in range(5) if i != j]
    entries = ((0, 0, -1.0), (0, 1, 1.0), (0, 2, 1.0))
    three, two = np.array(stars[:3]), np.array(stars[3:])
    groups = (Vectors(three, (-1, 1, 1)), Vectors(two, (-1, 1)), Templates(three, 3, entries, 0.0))
    cuts = Cuts(groups)
    contracted = Geometry.of(points).contracted(np.arange(5))
    for _ in range(20):
        T = 10.0 ** rng.uniform(8, 18)
        small = 10.0 ** rng.uniform(-2, 1) * rng.random(12)
        N = np.zeros((5, 5))
        N[0, 4] = -1.5 * T
        t = np.concatenate([np.full(3, T), small, np.full(3, T)])
        evidence = Semidefinite(1.0, N[np.triu_indices(5)], cuts, t)
        assert Fraction(evidence.bound(contracted, of_blocks(2, 5, (0, 4)))) <= optimum


def test_far_and_excluded_pairs_of_known_costs():
    two = Geometry.of(np.array([[0.0], [2.0]])).contracted(np.arange(2))
    assert far_pairs(two, 2.0 * (1 - 1e-13))[0, 1]
    assert not far_pairs(two, 2.0 * (1 + 1e-15)).any()
    # Without dual values one cluster of 0..5 is known to cost 17.5.
    six = Geometry.of(np.arange(6.0)[:, None]).contracted(np.arange(6))
    found = [excluded_pairs(six, of_blocks(1, 6), zero_evidence(6), x) for x in (17.4, 17.6)]
    assert np.array_equal(found[0], ~np.eye(6, dtype=bool))
    assert not found[1].any()


def test_coordinates_whose_squares_underflow_exclude_nothing():
    """The unit of dual values is 0 then, in units of the data."""
    contracted = Geometry.of(np.array([[0.0], [1e-170], [3e-170]])).contracted(np.arange(3))
    blocks, evidence = of_blocks(2, 3, (0, 1)), zero_evidence(3, unit=2.0**-800)
    found = excluded_pairs(contracted, blocks, evidence, 1.0)
    assert np.array_equal(found, blocks.adjacency)
