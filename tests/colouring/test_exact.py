from itertools import combinations, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sdpbb.problem.colouring.exact import Colourability, colour_exactly, find_clique
from sdpbb.problem.colouring.graph import components, induced, k_core
from tests.examples import examples
from tests.graphs import complete, cycle, mycielski, proper, proper_colourings, random_graph


@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(1, 4), st.floats(0, 1))
@examples(100)
def test_the_verdict_is_that_of_enumeration(seed, m, k, density):
    adjacency = random_graph(np.random.default_rng(seed), m, density)
    graph = csr_array(adjacency)
    verdict, colours = colour_exactly(graph, k, budget=10**6)
    if proper_colourings(adjacency, k):
        assert verdict is Colourability.YES
        assert proper(adjacency, colours)
        assert set(colours.tolist()) <= set(range(k))
    else:
        assert (verdict, colours) == (Colourability.NO, None)


@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(1, 4), st.floats(0, 1))
@examples(60)
def test_the_core_decides(seed, m, k, density):
    adjacency = random_graph(np.random.default_rng(seed), m, density)
    graph = csr_array(adjacency)
    inner = induced(graph, k_core(graph, k)[0])
    verdicts = {colour_exactly(induced(inner, part), k, 10**6)[0] for part in components(inner)}
    assert (Colourability.NO in verdicts) == (not proper_colourings(adjacency, k))


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 5), st.floats(0, 1))
@examples(60)
def test_a_clique_is_found_if_there_is_one(seed, m, order, density):
    adjacency = random_graph(np.random.default_rng(seed), m, density)
    cliques = [
        set(some)
        for some in combinations(range(m), order)
        if all(adjacency[i, j] for i, j in combinations(some, 2))
    ]
    found = find_clique(csr_array(adjacency), order, budget=10**6)
    assert (found is None) == (not cliques)
    assert found is None or set(found) in cliques


def test_a_large_clique_is_found():
    assert find_clique(csr_array(complete(300)), 300, budget=10**5) == list(range(300))


def test_no_more_vertices_share_a_colour_than_fit():
    graph = csr_array((7, 7), dtype=bool)
    verdict, colours = colour_exactly(graph, 3, 10**6, fits=lambda some: len(some) <= 3)
    assert verdict is Colourability.YES
    assert np.bincount(colours).max() <= 3
    assert colour_exactly(graph, 3, 10**6, fits=lambda some: len(some) <= 2)[0] is Colourability.NO


def test_a_vertex_that_fits_nowhere_has_no_colour():
    assert (
        colour_exactly(csr_array((2, 2)), 2, 10**6, fits=lambda some: 1 not in some)[0]
        is Colourability.NO
    )


def test_without_a_budget_nothing_is_known():
    graph = csr_array(mycielski(cycle(5)))
    assert colour_exactly(graph, 3, budget=5) == (Colourability.UNKNOWN, None)
    assert colour_exactly(graph, 3, budget=10**6)[0] is Colourability.NO
    assert find_clique(csr_array(complete(6)), 6, budget=0) is None


def test_the_empty_graph_needs_no_colour():
    verdict, colours = colour_exactly(csr_array((0, 0)), 1, budget=0)
    assert verdict is Colourability.YES
    assert len(colours) == 0


@given(st.integers(0, 2**32 - 1))
def test_colourings_with_sizes_are_those_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    m, k = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    adjacent = np.triu(rng.random((m, m)) < 0.3, 1)
    graph = csr_array(adjacent | adjacent.T)
    sizes = sorted((rng.multinomial(m, np.ones(k) / k)).tolist())

    def keeps(labels):
        return sorted(np.bincount(labels, minlength=k).tolist()) == sizes

    expected = any(
        keeps(np.array(labels)) and all(labels[i] != labels[j] for i, j in np.argwhere(adjacent))
        for labels in product(range(k), repeat=m)
    )
    answer, colours = colour_exactly(graph, k, 10**6, keeps=keeps)
    assert answer is (Colourability.YES if expected else Colourability.NO)
    assert colours is None or keeps(colours)
