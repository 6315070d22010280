"""Contract of numbers: what is said is true, however large, small or near to each other they are.

The truth is in integers, and knows no rounding. Copies of an instance that are moved, scaled or in
another order are other instances, whose truth is known as well.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sdpbb
from sdpbb.problem import Partition, SoftPairs
from tests.any_instance import any_instance
from tests.checker.parts import Parts
from tests.contracts.runs import Way, assert_true, ways
from tests.enumeration import Truth
from tests.examples import examples

EPS = float(np.finfo(float).eps)
# What docs/limits.md says is accepted.
LARGEST, SMALLEST_SPREAD = 1e100, 1e-100


def extreme(random, points):
    return points * 10.0 ** random.choice([-90, 90])


def offset(random, points):
    return points + 10.0 ** random.randint(3, 8)


def last_digits(random, points):
    """A large number, and differences of a few units in its last place."""
    return 10.0 ** random.randint(0, 6) * (1.0 + EPS * np.round(points * random.randint(1, 30)))


def near_ties(random, points):
    noise = [[random.gauss(0.0, 1.0) for _ in row] for row in points]
    return np.round(points * 2.0) + 10.0 ** -random.randint(6, 15) * np.array(noise)


def many_sizes(random, points):
    """Each coordinate, or each point, of another size."""
    if random.random() < 0.5:
        return many_sizes_of_rows(random, points.T).T
    return many_sizes_of_rows(random, points)


def many_sizes_of_rows(random, points):
    return points * np.array([[10.0 ** random.randint(-12, 12)] for _ in points])


def many_columns(random, points):
    rng = np.random.default_rng(random.randint(0, 2**32 - 1))
    return points @ rng.normal(size=(points.shape[1], 2000))


def simplex(random, points):
    """All at the same distances: everything is a tie."""
    return np.eye(len(points))


CHANGES = [extreme, offset, last_digits, near_ties, many_sizes, many_columns, simplex]


@st.composite
def extreme_instances(draw):
    """Groups up to 10^16 times farther apart than they are wide, and numbers of other kinds."""
    instance = draw(any_instance("equal points", "far groups", "units", "pairs", far=17))
    random, points = draw(st.randoms(use_true_random=False)), instance.points
    for change in draw(st.lists(st.sampled_from(CHANGES), max_size=2)):
        points = change(random, points)
        spread = float(np.ptp(points, axis=0).max())
        assume(np.abs(points).max() <= LARGEST and not 0.0 < spread < SMALLEST_SPREAD)
    return replace(instance, points=points)


@given(extreme_instances(), ways(hasty=False, steps="as they are", pauses=False, solver="admm"))
@examples(80)
def test_results_are_true_whatever_the_numbers(tmp_path_factory, instance, way):
    folder, truth = tmp_path_factory.mktemp("run"), Truth(instance)
    result = way.solve(instance, folder, time_limit=5.0)
    assert_true(result, truth)
    if result.status is sdpbb.SolutionStatus.OPTIMAL:
        assert result.objective <= truth.optimum * (1.0 + way.gap) * (1.0 + 1e-9)
    if way.certified:
        verdict = sdpbb.verify_certificate(folder / "proof", instance)
        assert verdict.status == result.status.value


@given(extreme_instances(), st.data())
def test_costs_are_as_exact_as_floats(instance, data):
    truth = Truth(replace(instance, must_link=(), cannot_link=()))
    labels = data.draw(st.sampled_from(truth.labels.tolist()))
    cost = Partition(np.array(labels)).sum_of_squares(instance.points)
    assert cost == pytest.approx(truth.cost_of(np.array(labels)), rel=1e-13, abs=0.0)


@given(extreme_instances(), st.data())
def test_no_other_clustering_is_certified_by_the_same_proof(tmp_path_factory, instance, data):
    folder, truth = tmp_path_factory.mktemp("forged"), Truth(instance)
    assume(truth.is_feasible)
    Way(certified=True).solve(instance, folder, time_limit=30.0)
    parts = Parts.of(folder / "proof")
    assume(parts.labels is not None)
    labels = np.array(data.draw(st.sampled_from(truth.labels.tolist())), np.int32)
    cost = truth.cost_of(labels)
    parts.labels = labels
    parts.claim |= {"cost": cost, "status": "optimal"}
    (folder / "proof").write_bytes(parts.data)
    try:
        verdict = sdpbb.verify_certificate(folder / "proof", instance)
    except sdpbb.SdpbbError:
        return
    assert verdict.lower_bound <= truth.optimum * (1.0 + 1e-12)
    if verdict.status == "optimal":
        assert cost - truth.optimum <= cost * 1.001e-6


@given(any_instance("equal points", "pairs", "weights", "soft pairs", n=(3, 7)), ways(), st.data())
@examples(40)
def test_other_units_and_another_order_change_no_cost(tmp_path_factory, instance, way, data):
    """Of points and of weights: squares of distances times weights are the unit of costs."""
    order = np.array(data.draw(st.permutations(range(instance.n_points))))
    place = np.argsort(order)
    unit, weight = (data.draw(st.sampled_from([2.0**-40, 1.0, 1 / 3, 1e9])) for _ in range(2))
    weights = np.ones(len(order)) if instance.weights is None else instance.weights

    def moved(soft):
        return SoftPairs(place[soft.pairs], soft.weights * weight * unit**2)

    other = sdpbb.Instance(
        instance.points[order] * unit,
        instance.k,
        place[instance.must_link],
        place[instance.cannot_link],
        weights=weights[order] * weight,
        soft_must_link=moved(instance.soft_must_link),
        soft_cannot_link=moved(instance.soft_cannot_link),
        as_points=True,
    )
    truth, folder = Truth(instance), tmp_path_factory.mktemp("run")
    result = way.solve(other, folder)
    if not truth.is_feasible:
        assert result.status is sdpbb.SolutionStatus.INFEASIBLE
        return
    scaled = truth.optimum * weight * unit**2
    assert scaled * (1.0 - 1e-9) <= result.objective <= scaled * (1.0 + 1.001 * way.gap) + 1e-300
    assert result.lower_bound <= scaled * (1.0 + 1e-9)


@given(any_instance("pairs", n=(3, 6), k=(1, 4)), ways(certified=False, pauses=False), st.data())
@examples(25)
def test_whole_weights_are_points_that_are_repeated(tmp_path_factory, instance, way, data):
    """Also to limits on weights, which are those on sizes then."""
    n = instance.n_points
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    least = data.draw(st.integers(1, int(times.sum()) // instance.k))
    weighted = replace(instance, weights=times.astype(float), min_weight=float(least))
    rows = np.repeat(np.arange(n), times)
    first = np.searchsorted(rows, np.arange(n))
    same = np.column_stack([first[rows], np.arange(len(rows))])
    repeated = sdpbb.Instance(
        instance.points[rows],
        instance.k,
        [*same[same[:, 0] != same[:, 1]].tolist(), *first[instance.must_link].tolist()],
        first[instance.cannot_link],
        min_size=least,
        as_points=True,
    )
    truth, result = Truth(weighted), way.solve(repeated, tmp_path_factory.mktemp("run"))
    assert (result.status is sdpbb.SolutionStatus.INFEASIBLE) is not truth.is_feasible
    if truth.is_feasible:
        assert truth.optimum == pytest.approx(result.objective, rel=1.01 * way.gap, abs=1e-12)


def instance(points, k, **more):
    return sdpbb.Instance(np.asarray(points, float), k, as_points=True, **more)


def equal_groups(far):
    return np.repeat([[0.1, far], [0.3, 0.7], [far, 0.3]], [4, 2, 3], axis=0)


def far_pair(far, step):
    return instance([[far], [far], [0.0], [step], [2 * step], [3 * step]], 3)


NEAR = [7, 9, 8, 5, 9, 9, 9, 0, 4, 6, 2, 3]
POWERS = [[7.0**i] for i in range(16)]
# Instances of few points, the least cost, and a clustering to begin with.
FAR = {
    "a far block": (
        instance([[2.0**51]] * 2 + [[x] for x in NEAR], 5, must_link=[(0, 1)]),
        4.8,
        None,
    ),
    **{
        f"a pair {far:g} away": (far_pair(far, step), step**2, [0, 0, 1, 2, 1, 2])
        for far, step in [(2.0**51, 1.0), (1e10, 1e-6), (1e16, 1e-9)]
    },
    **{
        f"equal points {far:g} away, k = {k}": (instance(equal_groups(far), k), 0.0, None)
        for far in (1e3, 1e16)
        for k in (3, 4, 8, 9)
    },
    # Any two of the points cost more than the best clustering less its gap.
    "more components than clusters": (instance(POWERS, 15), 18.0, [0, 0, *range(1, 15)]),
}


@pytest.mark.parametrize("bounding", ["sdp", "colgen", "hybrid"])
@pytest.mark.parametrize("name", FAR)
def test_far_points_excuse_no_cost(tmp_path, name, bounding):
    far, least, start = FAR[name]
    for path in (None, tmp_path / "proof"):
        parameters = sdpbb.SolverParameters(gap=1e-9, bounding=bounding)
        result = sdpbb.solve(far, parameters, start=start, certificate=path)
        assert result.status is sdpbb.SolutionStatus.OPTIMAL
        assert result.objective == pytest.approx(least, rel=2e-9, abs=0.0)
    verdict = sdpbb.verify_certificate(path, far)
    assert (verdict.status, verdict.cost) == ("optimal", pytest.approx(result.objective, rel=1e-9))


@pytest.mark.parametrize("exponent", [2, 4, 6, 9, 15])
@pytest.mark.parametrize(("k", "bounding"), [(3, "hybrid"), (5, "sdp")])
def test_outliers_close_as_other_data_do(tmp_path, exponent, k, bounding):
    rng, path = np.random.default_rng(exponent), tmp_path / "proof"
    points = rng.normal(size=(30, 2))
    points[:3] += 10.0**exponent * rng.normal(size=(3, 2))
    parameters = sdpbb.SolverParameters(gap=1e-9, bounding=bounding)
    result = sdpbb.solve(instance(points, k), parameters, certificate=path)
    assert result.status is sdpbb.SolutionStatus.OPTIMAL
    assert sdpbb.verify_certificate(path, instance(points, k)).status == "optimal"


@pytest.mark.parametrize("distance", [30.0, 1e4, 1e8])
@pytest.mark.parametrize("size", [1, 20])
def test_more_far_blocks_than_clusters_close_as_fast(distance, size):
    """They are nearly all of the cost, whatever the others are."""
    rng = np.random.default_rng(0)
    blocks = distance * (3.0 + rng.normal(size=(6 if size == 1 else 4, 4)))
    points = np.concatenate([np.repeat(blocks, size, axis=0), rng.normal(size=(120, 4))])
    first = np.repeat(np.arange(len(blocks)) * size, size - 1)
    links = np.column_stack([first, first + np.tile(np.arange(1, size), len(blocks))])
    parameters = sdpbb.SolverParameters(bounding="sdp", node_limit=1)
    result = sdpbb.solve(sdpbb.Instance(points, 3, must_link=links), parameters)
    assert result.status is sdpbb.SolutionStatus.OPTIMAL
