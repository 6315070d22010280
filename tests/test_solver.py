import math
import re
import threading
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from heuristics import MultiStart, MultiStartParameters
from heuristics.incumbents import IncumbentSearch
from heuristics.parameters import HeuristicSchedule
from sdpbb.bounds.sdp.admm_run import AdmmRun, Patience
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import ParameterError
from sdpbb.problem import Instance, Partition, contract
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import solve
from sdpbb.search.events import Finished, Progress, Started
from sdpbb.search.parameters import SearchParameters
from sdpbb.search.result import SolutionStatus, Termination
from tests.enumeration import optimum, random_instance, sums_of_squares
from tests.examples import examples

# Nodes are given up at once, so that trees grow where the root would have closed.
HASTY = SdpParameters(max_iterations=20)


def assert_proven(instance: Instance, parameters: SolverParameters) -> None:
    """The verdict and the optimum are those of full enumeration."""
    truth = optimum(instance)
    result = solve(instance, parameters)
    if truth is None:
        assert result.status is SolutionStatus.INFEASIBLE
        return
    assert result.status is SolutionStatus.OPTIMAL
    assert result.partition.is_feasible(instance)
    assert result.gap <= max(parameters.gap, 1e-12)
    own = sums_of_squares(instance.points, result.partition.labels[None])[0]
    rounding = 1e-12 * ((instance.points - instance.points.mean(axis=0)) ** 2).sum()
    rounding += 1e-30 * (instance.points**2).sum()
    assert result.objective == pytest.approx(own, abs=rounding)
    assert truth - rounding <= result.objective <= truth * (1 + 1e-8) + rounding
    assert result.lower_bound <= truth + rounding


@pytest.mark.long
@given(st.integers(0, 10**9), st.sampled_from([0.0, 1e-9]))
@examples(150)
def test_enumeration_agrees(seed, gap):
    instance = random_instance(np.random.default_rng(seed))
    assert_proven(instance, SolverParameters(gap=gap))


@given(st.integers(0, 10**9))
@examples(60)
def test_enumeration_agrees_when_nodes_are_given_up_early(seed):
    instance = random_instance(np.random.default_rng(seed), n_min=6)
    assert_proven(instance, SolverParameters(gap=1e-9, sdp=HASTY))


@pytest.mark.slow
def test_enumeration_agrees_on_many_instances():
    rng = np.random.default_rng(2026)
    for _ in range(2000):
        instance = random_instance(rng)
        parameters = SolverParameters(gap=float(rng.choice([0.0, 1e-9])))
        if rng.random() < 0.3:
            parameters = replace(parameters, sdp=HASTY)
        assert_proven(instance, parameters)


@pytest.mark.parametrize(
    ("k", "published"), [(2, 152.34795), (3, 78.85144), (4, 57.22847), (5, 46.44618), (6, 39.03999)]
)
def test_iris_without_constraints(k, published):
    result = solve(Instance(load_iris().data, k), SolverParameters(gap=1e-8))
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(published, abs=6e-6)
    assert result.gap <= 1e-8


@given(st.integers(0, 10**6), st.sampled_from([1e-6, 1.0, 1e8]))
@examples(25)
def test_moving_turning_scaling_and_permuting_change_nothing_but_the_scale(seed, factor):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, n_min=5)
    truth = optimum(instance)
    n, d = instance.points.shape
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    order = rng.permutation(n)
    place = np.argsort(order)
    moved = Instance(
        ((instance.points + rng.normal(size=d)) @ rotation * factor)[order],
        instance.k,
        place[instance.must_link],
        place[instance.cannot_link],
    )
    result = solve(moved, SolverParameters(gap=1e-9))
    if truth is None:
        assert result.status is SolutionStatus.INFEASIBLE
    else:
        scatter = ((instance.points - instance.points.mean(axis=0)) ** 2).sum()
        assert result.status is SolutionStatus.OPTIMAL
        assert result.objective / factor**2 == pytest.approx(truth, rel=1e-8, abs=1e-10 * scatter)


@pytest.mark.parametrize(
    "points",
    [
        np.zeros((6, 2)),
        np.ones((5, 1)) * 0.1,
        np.repeat([[0.0, 1.0], [2.0, 1.0], [5.0, 5.0]], 3, axis=0),
        np.arange(8.0)[:, None],
        np.random.default_rng(0).normal(size=(7, 40)),
        np.random.default_rng(1).normal(size=(8, 2)) * 1e-6,
        np.random.default_rng(2).normal(size=(8, 2)) * 1e8,
        np.random.default_rng(3).normal(size=(8, 2)) + 1e6,
        np.array([[0.0], [1e-9], [1.0], [1.0 + 1e-9], [10.0]]),
    ],
    ids=["zero", "equal", "duplicates", "line", "d>n", "tiny", "huge", "far", "scales"],
)
def test_degenerate_points(points):
    n = len(points)
    for k in range(1, n + 1):
        assert_proven(Instance(points, k), SolverParameters(gap=1e-9))
    assert_proven(Instance(points, 3, [(0, 1)], [(1, 2), (2, 3)]), SolverParameters(gap=1e-9))


@pytest.mark.parametrize("outlier", [1e6, 1e17])
def test_an_outlier_makes_no_cost_rounding(outlier):
    """It takes none of the others' digits, and may be alone in its cluster."""
    points = np.array([[0.0], [1e-9], [1.0], [1.0 + 1e-9], [3.0], [outlier]])
    for k in range(1, 6):
        instance = Instance(points, k)
        truth = optimum(instance)
        result = solve(instance, SolverParameters(gap=1e-9, time_limit=10))
        assert result.status is SolutionStatus.OPTIMAL
        assert result.objective == pytest.approx(truth, rel=1e-9)
        assert result.lower_bound <= truth * (1 + 1e-9)


@pytest.fixture(scope="module")
def hard() -> Instance:
    """Without structure: the root does not close when it is given up early."""
    return Instance(np.random.default_rng(5).normal(size=(40, 2)), 6)


PLAIN = SearchParameters(fixing=False)
HARD = SolverParameters(gap=0.0, bounding="sdp", sdp=HASTY)


def test_a_tree_gives_the_same_optimum_as_the_root(hard):
    reference = solve(hard, SolverParameters(gap=1e-7))
    small = Instance(hard.points[:22], 5, cannot_link=[(0, 1), (2, 3), (4, 5)])
    patient = solve(small, SolverParameters(gap=1e-7))
    hasty = solve(
        small,
        SolverParameters(
            gap=1e-7, bounding="sdp", sdp=replace(HASTY, max_iterations=60), search=PLAIN
        ),
    )
    assert reference.status is patient.status is hasty.status is SolutionStatus.OPTIMAL
    assert hasty.statistics.n_nodes > 1
    assert hasty.objective == pytest.approx(patient.objective, rel=1e-7)


def test_node_limit(hard):
    events = []
    result = solve(hard, replace(HARD, node_limit=3), events.append)
    assert (result.status, result.termination) == (
        SolutionStatus.FEASIBLE,
        Termination.NODE_LIMIT,
    )
    assert result.statistics.n_nodes == 3
    assert result.statistics.root_gap >= result.gap > 0
    truth = solve(hard, SolverParameters(gap=1e-6)).objective
    assert result.lower_bound <= truth <= result.objective * (1 + 1e-6)
    assert isinstance(events[-1], Finished)
    assert any(isinstance(event, Started) for event in events)
    lowers = [event.lower for event in events if isinstance(event, Progress)]
    assert lowers == sorted(lowers)
    uppers = [event.upper for event in events if isinstance(event, Progress)]
    assert uppers == sorted(uppers, reverse=True)


def test_time_limit_before_the_first_bound(hard):
    result = solve(hard, SolverParameters(time_limit=1e-9))
    assert (result.status, result.termination) == (SolutionStatus.FEASIBLE, Termination.TIME_LIMIT)
    assert result.partition.is_feasible(hard)
    assert result.statistics.n_nodes == 0
    assert result.lower_bound >= 0


def test_interrupt_during_the_root(monkeypatch):
    """It comes in the middle of a slice, and ends it."""
    instance = Instance(np.random.default_rng(1).normal(size=(80, 10)), 8)
    interrupt = threading.Event()
    advance = AdmmRun.advance

    def advance_and_interrupt(run, *arguments):
        assert not interrupt.is_set()
        progress = advance(run, *arguments)
        if progress.bound.value > 0:
            interrupt.set()
        return progress

    monkeypatch.setattr(AdmmRun, "advance", advance_and_interrupt)
    monkeypatch.setattr("sdpbb.search.evaluations.SHORTEST_SLICE", math.inf)
    monkeypatch.setattr("sdpbb.search.evaluations.LONGEST_SLICE", math.inf)
    monkeypatch.setattr("sdpbb.bounds.sdp.admm_run.ROOT", Patience(iterations=10**4, progress=0.5))
    parameters = SolverParameters(
        bounding="sdp",
        gap=0.0,
        sdp=SdpParameters(max_iterations=10**6),
    )
    result = solve(instance, parameters, interrupt=interrupt)
    assert result.termination is Termination.INTERRUPTED
    assert result.lower_bound > 0
    assert result.partition.is_feasible(instance)


def test_interrupt_inside_a_heuristic(hard, monkeypatch):
    """The heuristic would take minutes; it is left at the next look."""
    interrupt = threading.Event()
    interrupt.set()
    long = MultiStartParameters(n_starts=10**6)
    search = partial(IncumbentSearch, HeuristicSchedule(before=long))
    monkeypatch.setattr("sdpbb.run.bound_raising.IncumbentSearch", search)
    result = solve(hard, interrupt=interrupt)
    assert result.termination is Termination.INTERRUPTED
    calls = iter([False] * 100)  # in the middle of a descent
    contraction = contract(hard)
    found = MultiStart(long).run(
        contraction, np.random.default_rng(0), stop=lambda: next(calls, True)
    )
    assert found.cost == contraction.cost(found.labels)


def outliers(distance: float) -> Instance:
    points = np.random.default_rng(1).normal(size=(30, 2))
    return Instance(np.vstack([points, [distance, 0.0]]), 5)


@pytest.mark.parametrize("distance", [1e2, 1e3])
@pytest.mark.long
def test_an_outlier_costs_no_digits_that_matter(distance):
    rest = solve(Instance(outliers(distance).points[:-1], 4), SolverParameters(gap=1e-6))
    result = solve(outliers(distance), SolverParameters(time_limit=60))
    assert result.status is SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(rest.objective, rel=1e-4)


@pytest.mark.parametrize("distance", [1e7, 1e9])
@pytest.mark.long
def test_what_double_precision_cannot_tell_is_not_called_optimal(distance):
    result = solve(outliers(distance), SolverParameters(time_limit=3))
    truth = solve(Instance(outliers(distance).points[:-1], 4), SolverParameters(gap=1e-6))
    assert result.lower_bound <= truth.objective
    if result.status is SolutionStatus.OPTIMAL:
        assert result.gap <= 1e-4
        assert result.objective <= truth.objective * (1 + 2e-4)
    else:
        assert result.termination is Termination.TIME_LIMIT


@pytest.mark.parametrize("scale", [1e-99, 1e-60, 1e-25, 1e25, 1e60, 1e99])
def test_extreme_units(scale):
    rng = np.random.default_rng(7)
    points = rng.normal(size=(9, 2))
    for parameters in (SolverParameters(gap=1e-9), SolverParameters(gap=1e-9, sdp=HASTY)):
        result = solve(Instance(points * scale, 3, cannot_link=[(0, 1), (1, 2)]), parameters)
        assert result.status is SolutionStatus.OPTIMAL
        truth = optimum(Instance(points, 3, cannot_link=[(0, 1), (1, 2)]))
        assert result.objective / scale**2 == pytest.approx(truth, rel=1e-8)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("gap", [1e-4, 0.0])
def test_what_is_rounding_is_no_gap(seed, gap):
    """Costs of the size of squared rounding errors of the coordinates."""
    rng = np.random.default_rng(seed)
    points = np.repeat([[0.0], [1.0]], 3, axis=0) + 10.0 ** rng.uniform(-15, -11) * rng.normal(
        size=(6, 1)
    )
    assert solve(Instance(points, 2), SolverParameters(gap=gap)).status is SolutionStatus.OPTIMAL


def test_differences_at_the_edge_of_precision():
    for step in (3.8e-13, 1e-14, 3e-16):
        points = [[0.0], [1.0], [2.0 + step]]
        assert_proven(Instance(points, 2), SolverParameters(gap=0.0))


def test_no_verdict_on_feasibility_within_the_time_limit(hard, monkeypatch):
    monkeypatch.setattr("sdpbb.run.run.first_clustering", lambda contraction, time_left: None)
    result = solve(hard, SolverParameters(time_limit=5.0))
    assert (result.status, result.termination) == (
        SolutionStatus.UNKNOWN,
        Termination.TIME_LIMIT,
    )


def test_the_same_seed_gives_the_same_run(hard):
    one, two = (solve(hard, replace(HARD, node_limit=4)) for _ in range(2))
    assert one.partition == two.partition
    assert one.lower_bound == two.lower_bound
    assert one.statistics.n_iterations == two.statistics.n_iterations


def test_blas_is_limited_to_one_thread(hard):
    from threadpoolctl import threadpool_info

    seen = set()

    def look(event):
        if isinstance(event, Progress):
            seen.update(p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas")

    solve(hard, SolverParameters(), look)
    assert seen == {1}


@pytest.mark.parametrize(
    "wrong",
    [{"gap": -1.0}, {"gap": math.nan}, {"time_limit": 0.0}, {"node_limit": 0}, {"seed": -1}],
)
def test_parameters_out_of_their_domain(wrong):
    with pytest.raises(ParameterError):
        SolverParameters(**wrong)


def test_the_result_is_plain_values(hard):
    result = solve(hard, SolverParameters(gap=1e-2))
    values = result.to_dict()
    assert values["status"] == "optimal"
    assert Partition(np.array(values["labels"])) == result.partition
    assert values["parameters"]["gap"] == 1e-2


def test_start_is_the_first_incumbent_and_is_never_lost():
    points = np.random.default_rng(3).normal(size=(30, 2))
    instance = Instance(points, 4, cannot_link=[(0, 1)])
    best = solve(instance, SolverParameters(gap=0.0))
    seen = []
    again = solve(
        instance,
        SolverParameters(gap=0.0),
        observer=lambda event: seen.append(event),
        start=best.partition.labels,
    )
    improvements = [e for e in seen if isinstance(e, Progress) and e.source]
    assert all(e.upper <= best.objective for e in improvements)
    assert again.status is SolutionStatus.OPTIMAL
    assert again.objective <= best.objective
    assert again.partition == best.partition


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([0, 0, 1], "start = 3 labels: expected 4, one per point"),
        ([0, 0, 0, 0], "start = ...: 1 cluster instead of k = 2; expected a clus"),
        ([0, 0, 1, 1], "start = ...: violates cannot-link 0 1; expected a clustering"),
        ([[0, 1, 1, 1]], "start = ...: expected a one-dimensional array of integers"),
        ([[0], [1, 1, 1]], "start = ...: expected a one-dimensional array of integers"),
        ([0.5, 1.0, 1.0, 1.0], "start = ...: expected a one-dimensional array of integers"),
    ],
)
def test_wrong_start(start, message):
    instance = Instance([[0.0], [0.1], [5.0], [5.1]], 2, cannot_link=[(0, 1)])
    with pytest.raises(ParameterError, match=re.escape(message)):
        solve(instance, start=start)
