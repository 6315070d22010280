"""Columns: clusters, their costs and rules; clusterings that they are rounded to."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sdpbb.bounds.lagrangian.columns import Columns, allowed, cluster_costs, merged
from sdpbb.bounds.lagrangian.primal import cheapest_choice, round_to_clustering, split
from sdpbb.problem import Contraction, Instance, MaximumSize, contract
from tests.bounds.lagrangian.brute_force import (
    all_columns,
    optimum,
    random_contraction,
    whole_contraction,
)
from tests.enumeration import clusterings


@given(st.integers(0, 10**6))
def test_costs_are_those_of_both_formulas(seed):
    contraction = random_contraction(seed)
    e, c, w = contraction.weights, contraction.means, contraction.scatter
    squares = ((c[:, None] - c) ** 2).sum(axis=2)
    columns = all_columns(contraction)
    for members, cost in zip(columns.members, columns.costs, strict=True):
        pairs = squares[np.ix_(members, members)] * np.outer(e[members], e[members])
        expected = w[members].sum() + pairs.sum() / 2 / e[members].sum()
        assert np.isclose(cost, expected, rtol=1e-12, atol=1e-12)


@given(st.integers(0, 10**6))
def test_the_costs_of_a_clustering_add_up(seed):
    contraction = random_contraction(seed)
    labels = np.random.default_rng(seed).integers(0, 3, contraction.n_blocks)
    columns = Columns.of(contraction, labels == np.unique(labels)[:, None])
    assert np.isclose(columns.costs.sum(), contraction.cost(labels), rtol=1e-13)


def test_costs_far_from_the_origin_keep_their_digits():
    points = np.array([[0.0], [1e-6], [3e-6], [1e6]])
    contraction = contract(Instance(points, 2))
    assert isinstance(contraction, Contraction)
    near = np.array([[True, True, True, False]])
    # The coordinates themselves hold ten digits behind the point.
    assert np.isclose(cluster_costs(contraction, near)[0], 14e-12 / 3, rtol=1e-3)


def test_a_block_by_itself_costs_its_own_scatter():
    contraction = contract(Instance(np.array([[0.1], [0.3], [7.7]]), 2, must_link=[(0, 1)]))
    assert isinstance(contraction, Contraction)
    assert Columns.singletons(contraction).costs.tolist() == contraction.scatter.tolist()
    assert contraction.scatter[1] == 0.0


def test_each_cluster_is_kept_once_in_order_and_the_empty_set_is_not():
    contraction = contract(Instance(np.arange(10.0)[:, None], 2))
    assert isinstance(contraction, Contraction)
    rows = np.zeros((5, 10), bool)
    rows[0, 3:] = rows[2, 3:] = rows[3, 9] = rows[4, 1] = True
    columns = Columns.of(contraction, rows)
    assert np.array_equal(columns.members, rows[[0, 3, 4]])
    more = columns + Columns.of(contraction, ~rows[[4, 0]]) + columns
    assert np.array_equal(more.members, np.concatenate([rows[[0, 3, 4]], ~rows[[4, 0]]]))
    assert len(set(more.keys)) == len(more) == 5


@given(st.integers(0, 10**6))
def test_a_cost_does_not_depend_on_the_other_columns(seed):
    contraction = random_contraction(seed)
    columns = all_columns(contraction)
    again = Columns.of(contraction, pickle.loads(pickle.dumps(columns)).members[::-1])
    assert np.array_equal(again.members[::-1], columns.members)
    assert again.costs[::-1].tolist() == columns.costs.tolist()


@given(st.integers(0, 10**6))
def test_clusters_with_cannot_linked_blocks_are_not_allowed(seed):
    contraction = random_contraction(seed)
    members = np.random.default_rng(seed).random((40, contraction.n_blocks)) < 0.5
    i, j = contraction.cannot_link.T
    expected = [not (row[i] & row[j]).any() for row in members]
    assert allowed(contraction, members).tolist() == expected


@given(st.integers(0, 10**6))
def test_a_child_keeps_the_clusters_that_it_allows(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(8, 2))
    instance = Instance(points, 3, cannot_link=[(0, 1)], must_link=[(2, 3)])
    parent = contract(instance)
    assert isinstance(parent, Contraction)
    i, j = sorted(rng.permutation(8)[:2].tolist())
    for decision in ({"must_link": [(i, j)]}, {"cannot_link": [(i, j)]}):
        child = contract(instance, blocks=parent.block_of, **decision)
        if not isinstance(child, Contraction):
            continue
        columns = all_columns(parent)
        got = merged(columns, parent.block_of, child)
        lifted = {row[child.block_of].tobytes() for row in got.members}
        assert lifted == {row[child.block_of].tobytes() for row in all_columns(child).members}
        # A cluster costs what it costs, whatever its points are merged to.
        known = {
            row[parent.block_of].tobytes(): cost
            for row, cost in zip(columns.members, columns.costs, strict=True)
        }
        for row, cost in zip(got.members, got.costs, strict=True):
            assert np.isclose(cost, known[row[child.block_of].tobytes()], rtol=1e-12)


@given(st.integers(0, 10**6))
def test_columns_of_a_clustering_cost_what_it_does(seed):
    contraction = whole_contraction(seed)
    for labels in clusterings(contraction.n_blocks, contraction.k)[::7]:
        members = labels == np.arange(contraction.k)[:, None]
        columns = Columns.of(contraction, members)
        cost = columns.costs.sum() + contraction.soft.constant
        assert cost == pytest.approx(contraction.cost(labels), rel=1e-12, abs=1e-12)
        if contraction.keeps(labels):
            assert allowed(contraction, members).all()


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


@given(st.integers(0, 10**6), st.booleans())
def test_the_cheapest_choice_of_all_clusters_is_the_optimum(seed, covers):
    contraction = random_contraction(seed)
    columns, best = all_columns(contraction), optimum(contraction)
    chosen = cheapest_choice(csr_array(columns.members), columns.costs, contraction.k, covers, 60.0)
    if chosen is None:
        assert np.isinf(best)
        return
    assert np.isclose(columns.costs[chosen].sum(), best, rtol=1e-9, atol=1e-12)
    held = columns.members[chosen].sum(axis=0)
    assert (held >= 1).all() if covers else (held == 1).all() and len(chosen) == contraction.k
