"""Colourings of the checker, against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.colouring import is_colourable
from sdpbb.checker.kernel.rejection import Rejected
from tests.graphs import complete, cycle, mycielski, proper_colourings, random_graph

EDGE = complete(2)


@given(st.integers(0, 2**32), st.integers(1, 4), st.floats(0.1, 0.9))
def test_the_answer_is_that_of_all_colourings(seed, k, density):
    adjacency = random_graph(np.random.default_rng(seed), 6, density)
    assert is_colourable(adjacency, k) is bool(proper_colourings(adjacency, k))


@pytest.mark.parametrize("colours", [3, 4, 5])
def test_graphs_without_triangles_may_need_many_colours(colours):
    adjacency = EDGE
    for _ in range(colours - 2):
        adjacency = mycielski(adjacency)
    assert is_colourable(adjacency, colours)
    assert not is_colourable(adjacency, colours - 1)


def test_components_are_decided_on_their_own():
    """Twenty odd wheels and one that takes a colour more: not a search over all of them."""
    wheel = np.ones((6, 6), bool)
    wheel[:5, :5], wheel[5, 5] = cycle(5), False
    adjacency = np.zeros((131, 131), bool)
    for at in range(0, 120, 6):
        adjacency[at : at + 6, at : at + 6] = wheel
    assert is_colourable(adjacency, 4, steps=1000)
    adjacency[120:, 120:] = mycielski(cycle(5))
    assert is_colourable(adjacency, 4, steps=1000)
    assert not is_colourable(adjacency, 3, steps=1000)


def test_many_vertices_need_no_recursion():
    assert not is_colourable(cycle(1501), 2)
    assert is_colourable(cycle(1501), 3)


def test_small_graphs():
    assert is_colourable(np.zeros((0, 0), bool), 1)
    assert is_colourable(np.zeros((3, 3), bool), 1)
    assert not is_colourable(EDGE, 1)
    assert not is_colourable(complete(4), 3)
    assert not is_colourable(np.diag([True, False]), 5)


def test_what_takes_too_long_is_not_decided():
    adjacency = mycielski(mycielski(mycielski(EDGE)))
    with pytest.raises(Rejected, match="could not be decided within 20 steps"):
        is_colourable(adjacency, 4, steps=20)
