import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.problem.colouring import greedy_clique, greedy_colouring, sparse_graph
from tests.graphs import complete, cycle, mycielski, proper, proper_colourings, random_graph

graphs = st.builds(
    lambda seed, m, density: random_graph(np.random.default_rng(seed), m, density),
    st.integers(0, 2**32 - 1),
    st.integers(1, 7),
    st.floats(0, 1),
)


@given(graphs, st.integers(1, 4))
def test_greedy_colourings_are_proper(adjacency, k):
    labels = greedy_colouring(adjacency, k)
    if labels is None:
        assert len(adjacency) > k
    else:
        assert proper(adjacency, labels)
        assert labels.min() >= 0
        assert labels.max() < k


@given(graphs)
def test_two_colours_are_found_whenever_they_suffice(adjacency):
    assert (greedy_colouring(adjacency, 2) is not None) == bool(proper_colourings(adjacency, 2))


@given(graphs)
def test_a_clique_is_a_clique(adjacency):
    clique = greedy_clique(adjacency)
    assert len(clique) >= 1
    assert np.array_equal(adjacency[np.ix_(clique, clique)], complete(len(clique)))


@pytest.mark.parametrize("m", [1, 4, 9])
def test_complete_graphs(m):
    assert len(greedy_clique(complete(m))) == m
    assert sorted(greedy_colouring(complete(m), m)) == list(range(m))
    if m > 1:
        assert greedy_colouring(complete(m), m - 1) is None


def test_the_groetzsch_graph():
    groetzsch = mycielski(cycle(5))
    assert len(greedy_clique(groetzsch)) == 2
    assert greedy_colouring(groetzsch, 3) is None
    assert greedy_colouring(groetzsch, 4) is not None


def test_no_vertices():
    nothing = np.zeros((0, 0), dtype=bool)
    assert len(greedy_clique(nothing)) == 0
    assert len(greedy_colouring(nothing, 2)) == 0


@given(graphs, st.integers(1, 4))
def test_sparse_and_dense_graphs_are_the_same(adjacency, k):
    sparse = sparse_graph(len(adjacency), np.argwhere(np.triu(adjacency)))
    assert np.array_equal(sparse.toarray(), adjacency)
    assert np.array_equal(greedy_clique(sparse), greedy_clique(adjacency))
    dense = greedy_colouring(adjacency, k)
    assert (dense is None) == (greedy_colouring(sparse, k) is None)
    if dense is not None:
        assert np.array_equal(greedy_colouring(sparse, k), dense)
