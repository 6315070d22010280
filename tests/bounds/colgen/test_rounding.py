import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.colgen.columns import Columns, allowed
from sdpbb.bounds.colgen.primal import labels_of_cheapest_cover, round_to_clustering, split
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.cluster_constraints import MaximumSize
from tests.bounds.colgen.brute_force import all_columns, optimum, random_contraction


def on_a_line(n: int, k: int, **constraints) -> Contraction:
    contraction = contract(Instance(np.arange(float(n))[:, None], k, **constraints))
    assert isinstance(contraction, Contraction)
    return contraction


def sets(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)}


@given(st.integers(0, 10**6))
def test_any_solution_is_rounded_to_a_clustering_that_keeps_the_constraints(seed):
    contraction = random_contraction(seed)
    rng = np.random.default_rng(seed)
    columns = all_columns(contraction)
    drawn = rng.permutation(len(columns))[: int(rng.integers(1, 6))]
    labels = round_to_clustering(contraction, columns.members[drawn], rng.random(len(drawn)) + 0.01)
    if labels is None:
        assert len(contraction.cannot_link)
        return
    members = labels == np.arange(contraction.k)[:, None]
    assert members.any(axis=1).all()
    assert members.sum() == contraction.n_blocks
    assert allowed(contraction, members).all()


def test_overlaps_are_removed_and_few_clusters_split():
    contraction = on_a_line(6, 3)
    cover = np.array([[1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1]], bool)
    labels = round_to_clustering(contraction, cover, np.ones(2))
    assert sets(labels) == {frozenset({1, 2, 3}), frozenset({0}), frozenset({4, 5})}


def test_a_block_that_fits_nowhere():
    contraction = on_a_line(4, 2, cluster_constraints=(MaximumSize(2),))
    pairs = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], bool)
    assert sets(round_to_clustering(contraction, pairs, np.ones(2))) == {
        frozenset({0, 1}),
        frozenset({2, 3}),
    }
    apart = on_a_line(4, 2, cannot_link=[(0, 1)])
    both = np.array([[1, 0, 1, 0], [0, 0, 0, 1]], bool)
    # Block 1 goes to the last of the two clusters: it must not join block 0.
    assert sets(round_to_clustering(apart, both, np.ones(2))) == {
        frozenset({0, 2}),
        frozenset({1, 3}),
    }
    crossed = on_a_line(5, 2, cannot_link=[(0, 1), (3, 4)])
    stuck = np.array([[1, 0, 0, 0, 1], [0, 0, 1, 1, 0]], bool)
    assert sets(round_to_clustering(crossed, stuck, np.ones(2))) == {
        frozenset({0, 4}),
        frozenset({1, 2, 3}),
    }
    star = on_a_line(4, 3, cannot_link=[(0, 3), (1, 3), (2, 3)])
    assert round_to_clustering(star, np.eye(4, dtype=bool)[:3], np.ones(3)) is None


@pytest.mark.parametrize("labels", [[0, 0, 0, 0, 0], [0, 1, 1, 0, 1]])
def test_splitting_never_costs(labels):
    contraction = on_a_line(5, 4)
    before = np.array(labels, np.intp)
    after = split(contraction, before)
    assert len(np.unique(after)) == 4
    assert contraction.cost(after) < contraction.cost(before)
    assert before.tolist() == labels


@given(st.integers(0, 10**6))
def test_the_cheapest_cover_of_all_clusters_is_the_optimum(seed):
    contraction = random_contraction(seed)
    labels = labels_of_cheapest_cover(contraction, all_columns(contraction), 10.0)
    best = optimum(contraction)
    if labels is None:
        assert np.isinf(best)
    else:
        assert np.isclose(contraction.cost(labels), best, rtol=1e-9, atol=1e-12)


def test_no_columns_no_cover():
    contraction = on_a_line(4, 2)
    assert labels_of_cheapest_cover(contraction, Columns.singletons(contraction), 1.0) is None
    nothing = Columns.of(contraction, np.zeros((0, 4), bool))
    assert labels_of_cheapest_cover(contraction, nothing, 1.0) is None
