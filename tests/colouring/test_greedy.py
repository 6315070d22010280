import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sdpbb.problem.colouring.graph import greedy_clique, greedy_colouring, sparse_graph
from tests.graphs import complete, cycle, mycielski, proper, proper_colourings, random_graph

graphs = st.builds(
    lambda seed, m, density: random_graph(np.random.default_rng(seed), m, density),
    st.integers(0, 2**32 - 1),
    st.integers(1, 7),
    st.floats(0, 1),
)


@given(graphs, st.integers(1, 4))
def test_greedy_colourings_are_proper(adjacency, k):
    labels = greedy_colouring(csr_array(adjacency), k)
    if labels is None:
        assert len(adjacency) > k
    else:
        assert proper(adjacency, labels)
        assert labels.min() >= 0
        assert labels.max() < k


@given(graphs)
def test_two_colours_are_found_whenever_they_suffice(adjacency):
    assert (greedy_colouring(csr_array(adjacency), 2) is not None) == bool(
        proper_colourings(adjacency, 2)
    )


@given(graphs)
def test_a_clique_is_a_clique(adjacency):
    clique = greedy_clique(csr_array(adjacency))
    assert len(clique) >= 1
    assert np.array_equal(adjacency[np.ix_(clique, clique)], complete(len(clique)))


@pytest.mark.parametrize("m", [1, 4, 9, 800])
def test_complete_graphs(m):
    assert len(greedy_clique(csr_array(complete(m)))) == m
    assert sorted(greedy_colouring(csr_array(complete(m)), m)) == list(range(m))
    if m > 1:
        assert greedy_colouring(csr_array(complete(m)), m - 1) is None


def test_the_groetzsch_graph():
    groetzsch = csr_array(mycielski(cycle(5)))
    assert len(greedy_clique(groetzsch)) == 2
    assert greedy_colouring(groetzsch, 3) is None
    assert greedy_colouring(groetzsch, 4) is not None


def test_no_vertices():
    nothing = csr_array((0, 0), dtype=bool)
    assert len(greedy_clique(nothing)) == 0
    assert len(greedy_colouring(nothing, 2)) == 0


@given(graphs)
def test_edges_make_the_graph(adjacency):
    sparse = sparse_graph(len(adjacency), np.argwhere(np.triu(adjacency)))
    assert np.array_equal(sparse.toarray(), adjacency)
