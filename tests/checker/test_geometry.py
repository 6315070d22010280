"""Points, blocks and costs in floating-point numbers, against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.geometry import Contracted, Geometry
from sdpbb.checker.kernel.rejection import Rejected
from tests.checker.nodes import nodes

seeds = st.integers(0, 10**6)
NODES = nodes("equal points", "far groups", "units", "pairs", "weights")


def exact(values: np.ndarray) -> np.ndarray:
    return np.array([Fraction(x) for x in values.ravel().tolist()]).reshape(values.shape)


def assert_points_exist(geometry, block_of, component_of=None) -> None:
    """What `Contracted` says: x^ are the centred points, with every block moved to its mean.

    Blocks weigh hardly less than their points do.
    """
    contracted = geometry.contracted(block_of, component_of)
    of_points = None if component_of is None else component_of[block_of]
    y, r = map(exact, geometry.centred(of_points))
    origin = exact(geometry.points) - y - r
    for members in map(np.concatenate, members_by_component(block_of, component_of)):
        assert (origin[members] == origin[members[0]]).all()
    w, distance = exact(np.ones(len(y)) if geometry.weights is None else geometry.weights), 0
    for b, mean in enumerate(exact(contracted.means)):
        block, weight = block_of == b, Fraction(contracted.weights[b])
        own = w[block, None]
        assert own.sum() * (1 - Fraction(1, 2**50)) <= weight <= own.sum()
        assert geometry.weights is not None or weight == own.sum()
        less = own * weight / own.sum()
        moved = y[block] - (own * y[block]).sum(axis=0) / own.sum() + mean
        distance += (less * (moved - y[block] - r[block]) ** 2).sum()
        assert Fraction(contracted.scatter[b]) <= (less * (moved - mean) ** 2).sum()
    assert distance <= Fraction(contracted.error) ** 2


def members_by_component(block_of, component_of) -> list[list[np.ndarray]]:
    """The points of the blocks of each component."""
    blocks = [np.flatnonzero(block_of == b) for b in range(block_of.max() + 1)]
    if component_of is None:
        return [blocks]
    return [[blocks[b] for b in np.flatnonzero(component_of == c)] for c in set(component_of)]


@given(NODES)
def test_there_are_points_with_these_means_and_at_least_this_scatter(node):
    assert_points_exist(node.geometry, node.blocks.block_of, node.blocks.component_of)


@given(seeds, st.sampled_from([1.0, 1e8, 1e16]))
def test_components_are_rounded_by_what_is_inside_of_them(seed, far):
    """They have origins of their own: where components are does not matter to the error."""
    rng = np.random.default_rng(seed)
    block_of = np.sort(np.concatenate([np.arange(6), rng.integers(0, 6, 6)]))
    component_of = rng.permutation(np.arange(6) % 3)
    points = rng.normal(size=(12, 2)) + far * rng.normal(size=(6, 2))[component_of[block_of]]
    geometry = Geometry.of(points)
    assert_points_exist(geometry, block_of, component_of)
    widest = max(
        np.ptp(points[np.concatenate(blocks)], axis=0).max()
        for blocks in members_by_component(block_of, component_of)
    )
    assert geometry.contracted(block_of, component_of).error <= 1e-14 * widest


@given(st.floats(0.0, 1e200), st.floats(0.0, 1e100))
def test_bounds_and_cutoffs_are_rounded_outwards(value, error):
    contracted = Contracted(1, np.ones(1), np.zeros((1, 1)), np.zeros(1), error)
    bound, cutoff = contracted.for_points(value), contracted.cutoff(value)
    # sqrt(bound) + error <= sqrt(value), squared twice; and sqrt(value) + error <= sqrt(cutoff).
    for low, high in ((bound, value), (value, cutoff)):
        low, high, e = Fraction(low), Fraction(high), Fraction(error)
        if low or high == cutoff:
            assert high - low - e * e >= 0
            assert 4 * e * e * low <= (high - low - e * e) ** 2
    assert bound >= 0.0


POINTS = np.zeros((3, 1))


@pytest.mark.parametrize(
    ("points", "weights", "why"),
    [
        *((points, None, "point") for points in (np.zeros(3), np.zeros((0, 2)), [[1]])),
        *((np.array([[x]]), None, "point") for x in (np.nan, 1e120)),
        *((POINTS, np.array(w), "weight") for w in ([1.0] * 2, [1.0, 0.0, 1.0], [1, 1, 1])),
        (POINTS, np.array([1.0, np.nan, 1.0]), "weight"),
        (np.array([[0.0], [5e-324]]), np.full(2, 1e-50), "too large or too small"),
    ],
)
def test_what_are_no_points_or_weights_is_rejected(points, weights, why):
    with pytest.raises(Rejected, match=why):
        Geometry.of(points, weights)
