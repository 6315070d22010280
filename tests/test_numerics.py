"""Numbers that are large, small, nearly equal or of many sizes: against rational arithmetic, and
against the same instance moved, scaled and in another order."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sdpbb import Instance, SolverParameters, solve
from sdpbb.search.result import Result, SolutionStatus
from tests.enumeration import random_instance
from tests.oracles.exact import Exact, least_cost

EPS = float(np.finfo(float).eps)
SEEDS = st.integers(0, 2**32)


def extreme(rng, points):
    return points * 10.0 ** (90.0 * rng.choice([-1, 1]))


def scaled(rng, points):
    return points * 10.0 ** rng.integers(-8, 9)


def offset(rng, points):
    return points + 10.0 ** rng.integers(3, 9) * rng.normal(size=(1, points.shape[1]))


def last_digits(rng, points):
    """A large number, and differences of a few units in its last place."""
    return 10.0 ** rng.integers(0, 7) * (1.0 + EPS * np.round(points * rng.integers(1, 30)))


def near_ties(rng, points):
    size = 10.0 ** -rng.integers(6, 16)
    return np.round(points * 2.0) + size * rng.normal(size=points.shape)


def many_sizes(rng, points):
    """Each coordinate, or each point, of another size."""
    shape = (1, points.shape[1]) if rng.random() < 0.5 else (len(points), 1)
    return points * 10.0 ** rng.integers(-12, 13, shape)


def many_columns(rng, points):
    return points @ rng.normal(size=(points.shape[1], 2000))


def simplex(rng, points):
    """All at the same distances: everything is a tie."""
    return np.eye(len(points))


def equal(rng, points):
    return np.tile(points[:1], (len(points), 1))


CHANGES = st.lists(
    st.sampled_from(
        [extreme, scaled, offset, last_digits, near_ties, many_sizes, many_columns, simplex, equal]
    ),
    max_size=2,
)
PARAMETERS = st.builds(
    SolverParameters,
    gap=st.sampled_from([1e-4, 1e-9, 1e-12]),
    bounding=st.sampled_from(["sdp", "colgen", "hybrid"]),
    time_limit=st.just(5.0),
)


def instance_of(seed: int, changes, n_max: int) -> Instance | None:
    """None where the numbers leave what docs/limits.md says is accepted."""
    rng = np.random.default_rng(seed)
    drawn = random_instance(rng, n_max)
    points = drawn.points
    for change in changes:
        points = change(rng, points)
    spread = float(np.ptp(points, axis=0).max())
    if np.abs(points).max() > 1e100 or 0.0 < spread < 1e-100:
        return None
    return Instance(points, drawn.k, drawn.must_link, drawn.cannot_link)


def assert_right(
    instance: Instance, result: Result, least: Fraction | None, cost: Fraction | None, gap: float
) -> None:
    """least : the optimum, None without a clustering; cost : of the labels of the result"""
    if least is None:
        assert result.status in (SolutionStatus.INFEASIBLE, SolutionStatus.UNKNOWN)
        return
    assert result.status is not SolutionStatus.INFEASIBLE
    assert Fraction(result.lower_bound) <= least * (1 + Fraction(1e-12))
    if result.partition is None:
        return
    assert result.partition.is_feasible(instance)
    assert abs(Fraction(result.objective) - cost) <= Fraction(1e-9) * cost
    if result.status is SolutionStatus.OPTIMAL:
        assert cost - least <= cost * Fraction(max(gap, 1e-12) + 1e-12)


@given(SEEDS, CHANGES, PARAMETERS)
@example(0, [extreme], SolverParameters())
@example(0, [simplex, scaled], SolverParameters(bounding="colgen"))
def test_results_are_right_whatever_the_numbers(seed, changes, parameters):
    instance = instance_of(seed, changes, n_max=7)
    if instance is None:
        return
    result = solve(instance, parameters)
    exact = Exact.of(instance.points)
    cost = None if result.partition is None else exact.cost_of(result.partition.labels)
    least = least_cost(exact, instance.k, instance.must_link, instance.cannot_link, cost)
    assert_right(instance, result, least, cost, parameters.gap)


@pytest.mark.long
@given(SEEDS, CHANGES, PARAMETERS)
def test_copies_do_not_contradict_each_other(seed, changes, parameters):
    """No bound of one is above a clustering of another, up to what the points were rounded by:
    ||X' - X||_F = r makes sqrt(cost) differ by r at most."""
    instance = instance_of(seed, changes, n_max=14)
    if instance is None:
        return
    rng = np.random.default_rng(seed)
    n, points, k = instance.n_points, instance.points, instance.k
    pairs = instance.must_link, instance.cannot_link
    order = rng.permutation(n)
    place = np.argsort(order)
    factor = float(10.0 ** rng.integers(-8, 9))
    moved = points + 10.0 ** rng.integers(-2, 7) * rng.normal(size=(1, points.shape[1]))
    copies = [
        (points[order], [place[p] for p in pairs], 1.0),
        (points * factor, pairs, factor),
        (moved, pairs, 1.0),
    ]
    result = solve(instance, parameters)
    for other_points, other_pairs, scale in copies:
        spread = float(np.ptp(other_points, axis=0).max())
        if np.abs(other_points).max() > 1e100 or 0.0 < spread < 1e-100:
            continue
        other = solve(Instance(other_points, k, *other_pairs), parameters)
        size = np.maximum(np.abs(other_points), np.abs(points) * scale)
        rounding = 0.0 if other_points is copies[0][0] else 2.0 * EPS * float(np.linalg.norm(size))
        infeasible = [r.status is SolutionStatus.INFEASIBLE for r in (result, other)]
        found = [r.objective is not None for r in (result, other)]
        assert not (infeasible[0] and found[1])
        assert not (infeasible[1] and found[0])
        assert_below(result.lower_bound, scale**2, other.objective, 1.0, rounding)
        assert_below(other.lower_bound, 1.0, result.objective, scale**2, rounding)


def assert_below(
    lower: float | None, lower_scale: float, upper: float | None, upper_scale: float, rounding
) -> None:
    if lower is not None and upper is not None:
        above = (math.sqrt(upper * upper_scale) + rounding) ** 2
        assert lower * lower_scale <= above * (1.0 + 1.1e-9)
