"""Evidence that makes no sense is not believed, and small cases whose bounds are known."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sdpbb.checker.clusters import Enumerated
from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.cuts import Cuts
from sdpbb.checker.kernel.cuts.templates import Cliques, Templates, Vectors
from sdpbb.checker.kernel.dual import Semidefinite
from sdpbb.checker.kernel.exclusion import excluded_pairs, far_pairs
from sdpbb.checker.kernel.geometry import Contracted, Geometry
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.partitions import require_no_partition
from sdpbb.checker.prices import Lagrangian
from tests.checker.nodes import zero_evidence
from tests.enumeration import ExactSquares

# Two pairs at distance 1: the best two clusters cost 1.
PAIRS = Geometry.of(np.array([[0.0], [1.0], [10.0], [11.0]])).contracted(np.arange(4))
CLIQUE = Cuts((Cliques(1),), np.array([0, 1, 2], np.int32))
NO_TRIPLES, NONE = np.empty((0, 3), np.int32), np.empty(0)
DUAL = Semidefinite(1.0, np.ones(10), CLIQUE, np.ones(1))
# At 1/2 a pair is worth -1/2, as one block is.
PRICES = Lagrangian(np.full(4, 0.5), -0.5 - 1e-12)
CLUSTERS = Enumerated(0.9, PRICES.prices, PRICES.least, PRICES.prices, NO_TRIPLES, NONE)
ROW, TRIPLE, ONE = np.zeros((1, 3), np.int32), np.array([[0, 1, 2]], np.int32), np.ones(1)


def of_blocks(k: int, m: int = 4, *pairs: tuple[int, int]) -> Blocks:
    adjacency = np.zeros((m, m), bool)
    for i, j in pairs:
        adjacency[i, j] = adjacency[j, i] = True
    return Blocks(k, np.arange(m), adjacency)


def with_entry(values: np.ndarray, place: int, value: float) -> np.ndarray:
    changed = values.copy()
    changed[place] = value
    return changed


@pytest.mark.parametrize(
    ("evidence", "name", "value", "why"),
    [
        *((DUAL, "unit", unit, "power of two") for unit in (3.0, 0.0, -2.0, 2.0**-1000)),
        *((DUAL, "unit", unit, "power of two") for unit in (float("nan"), float("inf"))),
        (DUAL, "unit", 2.0**800, "too large"),
        *((DUAL, "N", np.zeros(shape), "10 numbers") for shape in (9, (4, 4))),
        (DUAL, "N", np.zeros(10, dtype=int), "10 numbers"),
        (DUAL, "N", with_entry(DUAL.N, 1, -1e-300), "negative"),
        (DUAL, "N", with_entry(DUAL.N, 0, -1.0), "negative"),
        (DUAL, "N", with_entry(DUAL.N, 1, np.nan), "negative"),
        (DUAL, "N", with_entry(DUAL.N, 3, np.nan), "no number"),  # of the cannot-linked pair
        *((DUAL, "N", with_entry(DUAL.N, 1, value), "too large") for value in (np.inf, 1e300)),
        (DUAL, "multipliers", NONE, "1 cuts"),
        *((DUAL, "multipliers", np.array([value]), "negative") for value in (-1.0, np.nan)),
        (DUAL, "multipliers", np.array([np.inf]), "too large"),
        (DUAL, "multipliers", np.array([1]), "multipliers"),
        (DUAL, "cuts", Cuts((Cliques(1),), np.array([0, 1, 4], np.int32)), "outside of"),
        *((PRICES, "prices", np.ones(shape), "be 4 float64") for shape in (3, (4, 1))),
        (PRICES, "prices", np.ones(4, np.float32), "be 4 float64, not float32"),
        *(
            (PRICES, "prices", with_entry(np.ones(4), 2, value), r"not a number of at most 1e\+250")
            for value in (np.nan, np.inf, -1e260)
        ),
        *((PRICES, "least", value, "is not a number") for value in (np.nan, -np.inf)),
        (PRICES, "least", -0.49, "a cluster is worth less than"),
        *((CLUSTERS, "below", value, "below a cost of 1e-200 or more") for value in (0.0, -1.0)),
        *((CLUSTERS, "below", value, "is not a number") for value in (np.nan, 1e260)),
        (CLUSTERS, "below", 1.0 + 1e-9, "a partition of the blocks costs less than is stated"),
        (CLUSTERS, "least", np.inf, "is not a number"),
        (CLUSTERS, "least", -0.4, "a cluster is worth less than"),
        (CLUSTERS, "prices", np.ones(3), "prices should be 4 float64"),
        (CLUSTERS, "share_prices", np.ones(5), "prices should be 4 float64"),
        (CLUSTERS, "share_prices", with_entry(np.ones(4), 1, np.nan), "is not a number"),
        (CLUSTERS, "share_prices", np.full(4, 1e200), "prices of a partition are too large"),
        *((CLUSTERS, "triples", each, "not of three") for each in (ROW, 2 * TRIPLE, TRIPLE - 1)),
        (CLUSTERS, "triples", ROW[:, :2], "triples of shape"),
        (CLUSTERS, "triples", TRIPLE, "1 triples, but penalties of shape"),
        (replace(CLUSTERS, triples=TRIPLE), "penalties", -ONE, "a penalty is negative"),
        (replace(CLUSTERS, triples=TRIPLE), "penalties", np.nan * ONE, "a penalty is"),
    ],
)
def test_what_makes_no_sense_is_rejected(evidence, name, value, why):
    blocks = of_blocks(2, 4, *([(0, 3)] if evidence is DUAL else []))
    if evidence.WORD != "clusters":
        evidence.bound(PAIRS, blocks)
    with pytest.raises(Rejected, match=why), np.errstate(all="ignore"):
        replace(evidence, **{name: value}).bound(PAIRS, blocks)


@pytest.mark.parametrize("evidence", [zero_evidence(4), PRICES, CLUSTERS])
def test_what_does_not_fit_the_blocks_is_rejected(evidence):
    for k in (0, 5):
        with pytest.raises(Rejected, match=f"{k} clusters of 4 blocks"):
            evidence.bound(PAIRS, of_blocks(k))
    with pytest.raises(Rejected, match="cannot-links of"):
        evidence.bound(PAIRS, of_blocks(2, 3))


def test_a_bound_that_is_the_cost():
    assert 1.0 - 1e-11 <= PRICES.bound(PAIRS, of_blocks(2)) <= 1.0
    almost = replace(CLUSTERS, below=1.0 - 1e-9)
    assert almost.bound(PAIRS, of_blocks(2)) == 1.0 - 1e-9
    # Nothing costs less for three clusters than a pair by itself.
    with pytest.raises(Rejected, match="a partition of the blocks costs less"):
        replace(CLUSTERS, below=0.6).bound(PAIRS, of_blocks(3))


def test_the_bound_is_for_the_points():
    """What the means lost to rounding is taken off: sqrt(1) - 0.1, squared."""
    rounded = Contracted(4, np.ones(4), PAIRS.means, np.zeros(4), 0.1)
    assert PRICES.bound(rounded, of_blocks(2)) == pytest.approx(0.81, rel=1e-11)


def test_a_search_for_a_partition_ends():
    members = np.array([[i >> b & 1 for b in range(4)] for i in range(1, 16)], bool)
    given = PAIRS, 2, members, 0.9, np.zeros(4), NO_TRIPLES, NONE
    with pytest.raises(Rejected, match="within the nodes of a search"):
        require_no_partition(*given, 1)
    require_no_partition(*given, 100)


def test_points_that_coincide():
    contracted = Geometry.of(np.ones((4, 2))).contracted(np.arange(4))
    for N in (np.zeros(10), np.ones(10)):
        assert replace(zero_evidence(4), N=N).bound(contracted, of_blocks(2)) == 0.0


@pytest.mark.parametrize("seed", range(30))
def test_large_dual_values_that_cancel_do_not_lift_the_bound(seed):
    """For k = 2 and cannot-linked j, h, a triangle cut and a complement cut are opposites."""
    rng = np.random.default_rng(seed)
    points = np.array([[0.0], [1.0], [2.0], [3.0], [4.2]])
    optimum = ExactSquares(points).of(np.array([0, 0, 0, 1, 1]))
    assert float(optimum) == pytest.approx(2.72)  # {0, 1} and {2, 3, 4.2} cost 2.93
    stars = [[i, 0, 4] for i in (1, 2, 3)] + [[i, j] for i in (1, 2, 3) for j in range(5) if i != j]
    entries = ((0, 0, -1.0), (0, 1, 1.0), (0, 2, 1.0))
    groups = (Vectors(3, (-1, 1, 1)), Vectors(12, (-1, 1)), Templates(3, 3, entries, 0.0))
    cuts = Cuts(groups, np.concatenate([*stars, *stars[:3]]).astype(np.int32))
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
    with pytest.raises(Rejected, match="nan"):
        far_pairs(two, np.nan)
    with pytest.raises(Rejected, match="nan"):
        excluded_pairs(two, of_blocks(1, 2), zero_evidence(2), np.nan)


def test_coordinates_whose_squares_underflow_exclude_nothing():
    """The unit of dual values is 0 then, in units of the data."""
    contracted = Geometry.of(np.array([[0.0], [1e-170], [3e-170]])).contracted(np.arange(3))
    blocks, evidence = of_blocks(2, 3, (0, 1)), zero_evidence(3, unit=2.0**-800)
    found = excluded_pairs(contracted, blocks, evidence, 1.0)
    assert np.array_equal(found, blocks.adjacency)
