"""Columns: clusters, their costs and rules; clusterings that they are rounded to."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.lagrangian.columns import (
    Columns,
    allowed,
    cluster_costs,
    merged,
)
from sdpbb.bounds.lagrangian.primal import round_to_clustering, split
from tests.bounds.nodes import PAIRS, all_columns, contracted, nodes
from tests.enumeration import all_sets, canonical, clusterings, is_allowed
from tests.enumeration import cluster_costs as true_costs


@given(nodes(*PAIRS, n=(2, 7)))
def test_columns_cost_and_are_allowed_what_the_definitions_say(node):
    """To the last bit, whatever other columns there are."""
    contraction = node.contraction
    members = all_sets(contraction.n_blocks)
    points = members[:, contraction.block_of]
    expected = [is_allowed(node.instance, row) for row in points]
    assert allowed(contraction, members).tolist() == expected
    columns = Columns.of(contraction, members)
    exact = np.array([float(cost) for cost in true_costs(node.instance, points)])
    np.testing.assert_allclose(columns.costs, exact, rtol=1e-9, atol=1e-11 * contraction.total)
    again = Columns.of(contraction, pickle.loads(pickle.dumps(columns)).members[::-1])
    assert np.array_equal(again.members[::-1], columns.members)
    assert again.costs[::-1].tolist() == columns.costs.tolist()


@given(nodes(n=(2, 7)), st.randoms(use_true_random=False))
def test_columns_of_a_clustering_cost_what_it_does(node, random):
    contraction, m, k = node.contraction, node.contraction.n_blocks, node.contraction.k
    rows = clusterings(m, k)
    for labels in rows[random.randrange(len(rows)) :: 7] if len(rows) else ():
        members = labels == np.arange(k)[:, None]
        cost = Columns.of(contraction, members).costs.sum() + contraction.soft.constant
        assert cost == pytest.approx(contraction.cost(labels), rel=1e-12, abs=1e-12)
        if contraction.keeps(labels):
            assert allowed(contraction, members).all()


def test_costs_far_from_the_origin_keep_their_digits():
    contraction = contracted(np.array([[0.0], [1e-6], [3e-6], [1e6]]), 2)
    near = np.array([[True, True, True, False]])
    # The coordinates themselves hold ten digits behind the point.
    assert np.isclose(cluster_costs(contraction, near)[0], 14e-12 / 3, rtol=1e-3)
    pair = contracted(np.array([[0.1], [0.3], [7.7]]), 2, [(0, 1)])
    assert Columns.singletons(pair).costs.tolist() == pair.scatter.tolist()
    assert pair.scatter[1] == 0.0


def test_each_cluster_is_kept_once_in_order_and_the_empty_set_is_not():
    contraction = contracted(np.arange(10.0)[:, None], 2)
    rows = np.zeros((5, 10), bool)
    rows[0, 3:] = rows[2, 3:] = rows[3, 9] = rows[4, 1] = True
    columns = Columns.of(contraction, rows)
    assert np.array_equal(columns.members, rows[[0, 3, 4]])
    more = columns + Columns.of(contraction, ~rows[[4, 0]]) + columns
    assert np.array_equal(more.members, np.concatenate([rows[[0, 3, 4]], ~rows[[4, 0]]]))
    assert len(set(more.keys)) == len(more) == 5


@given(nodes("equal points", "pairs", "constraints", "sizes", n=(4, 8)))
def test_a_child_keeps_the_clusters_that_it_allows(node):
    """A cluster costs what it costs, whatever its points are merged to."""
    block_of, columns = node.contraction.block_of, node.columns
    i, j = sorted(node.rng().permutation(node.instance.n_points)[:2].tolist())
    known = {
        row[block_of].tobytes(): c for row, c in zip(columns.members, columns.costs, strict=True)
    }
    for child, _ in node.children(i, j):
        if child.n_blocks > node.contraction.n_blocks:
            continue
        got = merged(columns, block_of, child)
        found = {row[child.block_of].tobytes() for row in got.members}
        assert found == known.keys() & {
            row[child.block_of].tobytes() for row in all_columns(child).members
        }
        for row, cost in zip(got.members, got.costs, strict=True):
            expected = known[row[child.block_of].tobytes()]
            assert np.isclose(cost, expected, rtol=1e-12, atol=1e-12)


@given(nodes(*PAIRS, "constraints", "sizes", "weights"))
def test_any_solution_is_rounded_to_a_clustering_that_keeps_the_constraints(node):
    rng, contraction, columns = node.rng(), node.contraction, node.columns
    drawn = rng.permutation(len(columns))[: int(rng.integers(0, 6))]
    if not contraction.is_monotone:
        return
    labels = round_to_clustering(contraction, columns.members[drawn], rng.random(len(drawn)) + 0.01)
    if labels is None:
        assert len(contraction.cannot_link) or len(contraction.upper_limits) or contraction.oracles
        return
    members = labels == np.arange(contraction.k)[:, None]
    assert members.any(axis=1).all()
    assert members.sum() == contraction.n_blocks
    assert allowed(contraction, members).all()


LINE = {
    "overlaps are removed, and few clusters split": (
        3,
        {},
        ["111100", "001111"],
        [1, 0, 0, 0, 2, 2],
    ),
    "a cover without overlaps stays": (2, {}, ["1100", "0011"], [0, 0, 1, 1]),
    # Block 1 goes to the last of the two clusters: it must not join block 0.
    "apart": (2, {"cannot_link": [(0, 1)]}, ["1010", "0001"], [0, 1, 0, 1]),
    "crossed": (2, {"cannot_link": [(0, 1), (3, 4)]}, ["10001", "00110"], [0, 1, 1, 1, 0]),
    "none fits": (3, {"cannot_link": [(0, 3), (1, 3), (2, 3)]}, ["1000", "0100", "0010"], None),
}


@pytest.mark.parametrize("name", LINE)
def test_rounding_on_a_line(name):
    k, pairs, rows, expected = LINE[name]
    cover = np.array([[x == "1" for x in row] for row in rows])
    contraction = contracted(np.arange(float(cover.shape[1]))[:, None], k, **pairs)
    labels = round_to_clustering(contraction, cover, np.ones(len(rows)))
    if expected is None:
        assert labels is None
    else:
        assert canonical(labels).tolist() == canonical(np.array(expected)).tolist()


@pytest.mark.parametrize("labels", [[0, 0, 0, 0, 0], [0, 1, 1, 0, 1]])
def test_splitting_never_costs(labels):
    contraction, before = contracted(np.arange(5.0)[:, None], 4), np.array(labels, np.intp)
    after = split(contraction, before)
    assert len(np.unique(after)) == 4
    assert contraction.cost(after) < contraction.cost(before)
    assert before.tolist() == labels
