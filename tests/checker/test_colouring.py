from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.colouring import is_colourable
from sdpbb.checker.kernel.rejection import Rejected


def graph(m: int, edges) -> np.ndarray:
    adjacency = np.zeros((m, m), bool)
    for i, j in edges:
        adjacency[i, j] = adjacency[j, i] = True
    return adjacency


def mycielski(adjacency: np.ndarray) -> np.ndarray:
    """A graph that takes one colour more, and has no larger clique."""
    m = len(adjacency)
    larger = np.zeros((2 * m + 1, 2 * m + 1), bool)
    larger[:m, :m] = larger[m : 2 * m, :m] = larger[:m, m : 2 * m] = adjacency
    larger[m : 2 * m, -1] = larger[-1, m : 2 * m] = True
    return larger


@given(st.integers(0, 2**32), st.integers(1, 4), st.floats(0.1, 0.9))
def test_the_answer_is_that_of_all_colourings(seed, k, density):
    rng = np.random.default_rng(seed)
    m = 6
    adjacency = np.triu(rng.random((m, m)) < density, 1)
    i, j = np.nonzero(adjacency)
    colourings = np.array(list(product(range(k), repeat=m)))
    expected = bool((colourings[:, i] != colourings[:, j]).all(axis=1).any())
    assert is_colourable(adjacency | adjacency.T, k) is expected


@pytest.mark.parametrize("colours", [3, 4, 5])
def test_graphs_without_triangles_may_need_many_colours(colours):
    adjacency = graph(2, [(0, 1)])
    for _ in range(colours - 2):
        adjacency = mycielski(adjacency)
    assert is_colourable(adjacency, colours)
    assert not is_colourable(adjacency, colours - 1)


def test_components_are_decided_on_their_own():
    """Twenty odd wheels and one that takes a colour more: not a search over all of them."""
    wheel = [(i, (i + 1) % 5) for i in range(5)] + [(i, 5) for i in range(5)]
    count = 20
    edges = [(6 * c + i, 6 * c + j) for c in range(count) for i, j in wheel]
    adjacency = graph(6 * count + 11, edges)
    assert is_colourable(adjacency, 4, steps=1000)
    adjacency[6 * count :, 6 * count :] = mycielski(graph(5, [(i, (i + 1) % 5) for i in range(5)]))
    assert is_colourable(adjacency, 4, steps=1000)
    assert not is_colourable(adjacency, 3, steps=1000)


def test_many_vertices_need_no_recursion():
    n = 1501
    path = np.zeros((n, n), bool)
    at = np.arange(n)
    path[at, (at + 1) % n] = path[(at + 1) % n, at] = True
    assert not is_colourable(path, 2)
    assert is_colourable(path, 3)


def test_small_graphs():
    assert is_colourable(np.zeros((0, 0), bool), 1)
    assert is_colourable(np.zeros((3, 3), bool), 1)
    assert not is_colourable(graph(2, [(0, 1)]), 1)
    assert not is_colourable(np.ones((4, 4), bool) & ~np.eye(4, dtype=bool), 3)
    loop = np.zeros((2, 2), bool)
    loop[0, 0] = True
    assert not is_colourable(loop, 5)


def test_what_takes_too_long_is_not_decided():
    adjacency = graph(2, [(0, 1)])
    for _ in range(3):
        adjacency = mycielski(adjacency)
    with pytest.raises(Rejected, match="could not be decided within 20 steps"):
        is_colourable(adjacency, 4, steps=20)
