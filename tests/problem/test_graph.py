"""Components and neighbours in graphs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components as scipy_components

from sdpbb.problem.graph import by_first_occurrence, connected_components


def expected(n, pairs):
    """The components that SciPy finds."""
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(n, n))
    return by_first_occurrence(scipy_components(graph, directed=False)[1])


@given(st.data())
def test_components_are_those_of_scipy(data):
    n = data.draw(st.integers(1, 30))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    pairs = np.array(data.draw(st.lists(ends, max_size=40)), dtype=np.intp).reshape(-1, 2)
    assert connected_components(n, pairs).tolist() == expected(n, pairs).tolist()


@given(st.lists(st.integers(-3, 3) | st.integers(-(2**62), 2**62)))
def test_groups_are_numbered_by_their_first_members(labels):
    order = list(dict.fromkeys(labels))
    expected = [order.index(label) for label in labels]
    assert by_first_occurrence(np.array(labels, np.int64)).tolist() == expected


def test_long_paths_in_any_order_of_their_vertices():
    n = 5000
    for order in (
        np.arange(n),
        np.random.default_rng(0).permutation(n),
        np.argsort(np.arange(n) % 2 * n - np.arange(n)),
    ):
        pairs = np.column_stack([order[:-1], order[1:]])
        assert not connected_components(n, pairs).any()
