"""The next level is the largest that the time left is enough for."""

import math

import numpy as np
import pytest

from sdpbb.run.decomposition.levels import next_level, predicted_seconds
from sdpbb.run.decomposition.subsets import SubsetBounds, SubsetTree

DEPTH = 6


@pytest.fixture
def bounds() -> SubsetBounds:
    """All smallest subsets are bounded, in a second each."""
    tree = SubsetTree(np.arange(640), np.arange(0, 641, 10))
    assert tree.depth == DEPTH
    bounds = SubsetBounds(tree, DEPTH)
    bounds.is_done[1 << DEPTH :] = True
    bounds.seconds[1 << DEPTH :] = 1.0
    return bounds


def test_two_levels_up_where_all_of_it_can_be_bounded(bounds):
    whole = (1 << DEPTH - 2) * predicted_seconds(bounds, DEPTH - 2)
    assert next_level(bounds, 1.01 * whole, 1) == DEPTH - 2
    assert next_level(bounds, 0.99 * whole, 1) == DEPTH - 1
    assert next_level(bounds, 0.51 * whole, 2) == DEPTH - 2
    assert next_level(bounds, math.inf, 1) == DEPTH - 2


def test_one_level_up_where_a_single_subset_takes_most_of_the_time(bounds):
    one = predicted_seconds(bounds, DEPTH - 2)
    assert next_level(bounds, 3.0 * one, 1000) == DEPTH - 1


def test_one_level_up_where_no_subset_has_been_bounded(bounds):
    bounds.is_done[:] = False
    assert next_level(bounds, math.inf, 1) == DEPTH - 1


def test_full_steps_end_at_the_whole(bounds):
    levels = []
    bounds.level = DEPTH - 1
    while bounds.level > 0:
        bounds.level = next_level(bounds, math.inf, 1)
        levels.append(bounds.level)
    assert levels == [4, 2, 0]
