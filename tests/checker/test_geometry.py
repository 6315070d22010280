from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.geometry import Contracted, Geometry
from sdpbb.checker.kernel.rejection import Rejected
from tests.checker.exact import Costs, Problem, random_problem
from tests.enumeration import clusterings

seeds = st.integers(0, 10**6)
scales = st.sampled_from([1e-90, 1e-6, 1.0, 1e6, 1e90])
offsets = st.sampled_from([0.0, 1.0, 1e3, -1e3, 1e8])  # in units of the scale


def problem_of(seed: int, scale: float, offset: float) -> Problem:
    return random_problem(np.random.default_rng(seed), scale, offset * scale)


def costs_of_blocks(contracted: Contracted, block_of: np.ndarray, labels: np.ndarray) -> Fraction:
    """The exact cost of the block means, with their sizes, and the scatter."""
    sizes = np.bincount(block_of)
    repeated = np.repeat(contracted.means, sizes, axis=0)  # a point of its block's mean for each
    first = np.unique(block_of, return_index=True)[1]
    cost = Costs(repeated).of(np.repeat(labels[first], sizes))
    return cost + sum(map(Fraction, contracted.scatter.tolist()))


def assert_points_exist(
    geometry: Geometry, block_of: np.ndarray, component_of: np.ndarray | None = None
) -> None:
    """What `Contracted` says: x^ are the centred points, with every block moved to its mean."""
    contracted = geometry.contracted(block_of, component_of)
    of_points = None if component_of is None else component_of[block_of]
    y, r = map(exact, geometry.centred(of_points))
    origin = exact(geometry.points) - y - r
    for members in map(np.concatenate, members_by_component(block_of, component_of)):
        assert (origin[members] == origin[members[0]]).all()
    distance = Fraction()
    for b, mean in enumerate(exact(contracted.means)):
        block = block_of == b
        moved = y[block] - y[block].sum(axis=0) / int(block.sum()) + mean
        distance += ((moved - y[block] - r[block]) ** 2).sum()
        assert Fraction(contracted.scatter[b]) <= ((moved - mean) ** 2).sum()
    assert distance <= Fraction(contracted.error) ** 2


def members_by_component(
    block_of: np.ndarray, component_of: np.ndarray | None
) -> list[list[np.ndarray]]:
    """The points of the blocks of each component."""
    blocks = [np.flatnonzero(block_of == b) for b in range(block_of.max() + 1)]
    if component_of is None:
        return [blocks]
    return [[blocks[b] for b in np.flatnonzero(component_of == c)] for c in set(component_of)]


def exact(values: np.ndarray) -> np.ndarray:
    return np.array([Fraction(x) for x in values.ravel().tolist()]).reshape(values.shape)


@given(seeds, scales, offsets)
def test_there_are_points_with_these_means_and_at_least_this_scatter(seed, scale, offset):
    problem = problem_of(seed, scale, offset)
    assert_points_exist(Geometry.of(problem.points), problem.block_of)


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("seed", range(5))
def test_there_are_such_points_for_large_blocks(seed, offset):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(30, 60)) + offset
    points -= points.mean(axis=0) * (seed % 2)
    assert_points_exist(Geometry.of(points), np.arange(30) // 10)


@given(seeds)
def test_there_are_such_points_where_only_means_are_rounded(seed):
    """Of whole numbers around 0 no difference is rounded."""
    half = np.random.default_rng(seed).integers(-(2**20), 2**20, (4, 2)).astype(float)
    points = np.stack([half, -half], axis=1).reshape(8, 2)
    geometry = Geometry.of(points)
    assert not geometry.centred()[1].any()
    assert_points_exist(geometry, np.array([0, 1, 0, 1, 0, 1, 2, 2]))


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


def test_components_whose_points_coincide_are_exact():
    points = np.array([[0.1, 1e20], [0.1, 1e20], [3e15, 7.0], [3e15, 7.0], [0.3, 0.1]])
    contracted = Geometry.of(points).contracted(np.arange(5), np.array([0, 0, 1, 1, 2]))
    assert contracted.error == 0.0
    assert not contracted.means.any()


@given(seeds, scales, offsets)
def test_costs_of_means_and_scatter_carry_over_to_the_points(seed, scale, offset):
    problem = problem_of(seed, scale, offset)
    contracted = problem.contracted
    for labels, cost in zip(problem.labels[:20], problem.costs, strict=False):
        of_blocks = costs_of_blocks(contracted, problem.block_of, labels)
        floor = float(of_blocks)
        while Fraction(floor) > of_blocks:
            floor = np.nextafter(floor, -np.inf)
        assert Fraction(contracted.for_points(floor)) <= cost
        above = float(cost)
        while Fraction(above) <= cost:
            above = np.nextafter(above, np.inf)
        assert of_blocks < Fraction(contracted.cutoff(above))


@given(seeds, scales, offsets)
def test_little_is_lost(seed, scale, offset):
    problem = problem_of(seed, scale, offset)
    geometry = Geometry.of(problem.points)
    contracted = geometry.contracted(problem.block_of)
    costs = Costs(problem.points)
    length = float(np.abs(problem.points).max())
    assert contracted.error <= 1e-15 * len(problem.points) * length + 1e-200
    for b in range(contracted.m):
        inside = costs.of_cluster(tuple(np.flatnonzero(problem.block_of == b).tolist()))
        assert contracted.weights[b] == (problem.block_of == b).sum()
        assert contracted.scatter[b] >= float(inside) * (1 - 1e-14) - 1e-14 * length**2
        assert contracted.weights[b] > 1 or contracted.scatter[b] == 0.0
    total = costs.of_cluster(tuple(range(len(problem.points))))
    assert geometry.total() == pytest.approx(float(total), rel=1e-6, abs=1e-28 * length**2)


@given(seeds, scales, offsets)
def test_cost_at_most_is_above_the_cost_and_next_to_it(seed, scale, offset):
    problem = problem_of(seed, scale, offset)
    geometry = Geometry.of(problem.points)
    for labels, cost in zip(problem.labels[:20], problem.costs, strict=False):
        upper = geometry.cost_at_most(labels)
        assert cost <= Fraction(upper)
        if cost == 0:
            assert upper == 0.0
        elif offset * offset <= 1e6:
            assert upper <= float(cost) * (1 + 1e-12)


def test_cost_at_most_is_tight_for_many_points():
    points = np.random.default_rng(0).normal(size=(300, 7)) + 1e3
    labels = np.arange(300) % 4
    exact = Costs(points).of(labels)
    upper = Geometry.of(points).cost_at_most(labels)
    assert 0 <= Fraction(upper) - exact <= exact * Fraction(1, 10**14)


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


def test_infinite_and_negative_bounds():
    contracted = Contracted(1, np.ones(1), np.zeros((1, 1)), np.zeros(1), 1e-3)
    assert contracted.cutoff(np.inf) == np.inf
    assert contracted.for_points(-1.0) == 0.0
    assert contracted.for_points(1e-7) == 0.0


def test_an_outlier_does_not_take_the_digits_of_the_rest():
    points = np.random.default_rng(0).normal(size=(8, 2))
    points[0] = 1e9
    geometry = Geometry.of(points)
    labels = np.array([0] + [1] * 7)
    assert geometry.cost_at_most(labels) <= float(Costs(points).of(labels)) * (1 + 1e-14)


def test_every_partition_of_few_points():
    points = np.random.default_rng(1).normal(size=(5, 2))
    geometry, costs = Geometry.of(points), Costs(points)
    for k in range(1, 6):
        for labels in clusterings(5, k):
            contracted = geometry.contracted(labels)
            assert contracted.m == k
            inside = sum(map(Fraction, contracted.scatter.tolist()))
            assert inside <= costs.of(labels)
            # The scatter is of x^, which a block is moved to as a whole.
            assert float(costs.of(labels) - inside) <= 1e-14 * geometry.total()


@pytest.mark.parametrize(
    "points", [np.zeros(3), np.zeros((0, 2)), np.array([[np.nan]]), np.array([[1e120]]), [[1]]]
)
def test_points_that_are_none_are_rejected(points):
    with pytest.raises(Rejected, match="point"):
        Geometry.of(points)


@pytest.mark.parametrize("labels", [np.zeros(3, int), np.zeros(2), np.zeros((2, 1), int)])
def test_labels_that_are_none_are_rejected(labels):
    geometry = Geometry.of(np.zeros((2, 1)))
    with pytest.raises(Rejected, match="labels should be 2 integers"):
        geometry.cost_at_most(labels)
