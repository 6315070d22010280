"""What every method promises."""

import math

import numpy as np
import pytest

from heuristics.best_of import BestOf
from heuristics.method import Soft
from heuristics.registry import METHODS, method
from heuristics.result import HeuristicStatus, Stop
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import (
    InfeasibilityKind,
    Instance,
    MaximumDiameter,
    MaximumOverlap,
    MaximumSize,
)
from tests.graphs import cycle, mycielski

QUICK = {"best-of": {"n_runs": 1, "n_starts": 2, "n_relocations": 2}}
# These keep hard constraints, and find a clustering wherever there is one.
EXACT = ("ipc-kmeans", "blpkm", "pccc", "bckm", "post-processing", "best-of")
METHODS_THAT_KEEP = (*EXACT, "cop-kmeans")
# These have the first clustering, or a first assignment step, whatever the time.
AT_ONCE = tuple({*METHODS} - {"cop-kmeans"})


def quick(name, **parameters):
    return method(name, **QUICK.get(name, {}), **parameters)


def some_instance(seed=0, n=40, k=3):
    rng = np.random.default_rng(seed)
    must_link = [(0, 1), (2, 3), (0, 1)]
    cannot_link = [(i, i + 1) for i in range(5, 15)] + [(9, 8)]
    return Instance(rng.normal(size=(n, 2)), k, must_link, cannot_link)


def test_all_methods_are_here():
    assert set(METHODS) == {*EXACT, "kmeans", "cop-kmeans", "bh-kmeans"}


@pytest.mark.parametrize("name", METHODS)
def test_repeatable_for_a_seed(name):
    instance = some_instance()
    first, second = (quick(name).run(instance, 7) for _ in range(2))
    assert np.array_equal(first.labels, second.labels)
    assert first.sum_of_squares == second.sum_of_squares
    assert first.n_iterations == second.n_iterations


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    "instance",
    [
        Instance(np.zeros((4, 2)), 2),
        Instance(np.zeros((4, 2)), 2, cannot_link=[(0, 1)]),
        Instance([[0.0], [1.0], [5.0]], 3),
        Instance([[0.0], [1.0], [5.0]], 1),
        Instance([[0.0], [1.0], [5.0]], 1, must_link=[(0, 1), (1, 0)]),
        Instance([[3.0]], 1),
        Instance(np.repeat([[0.0], [1.0]], 5, axis=0), 4),
        Instance(np.repeat([[0.0], [1e8]], 5, axis=0), 3, cannot_link=[(0, 1), (1, 2)]),
    ],
    ids=lambda instance: repr(instance),
)
def test_degenerate_instances(name, instance):
    result = quick(name).run(instance)
    assert result.status is HeuristicStatus.FOUND
    assert result.violations.empty == 0
    assert result.keeps_hard_constraints or name not in METHODS_THAT_KEEP


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    "instance",
    [
        Instance([[0.0], [1.0], [2.0]], 2, [(0, 1)], [(0, 1)]),
        Instance([[0.0], [1.0], [2.0]], 2, (), [(0, 1), (1, 2), (0, 2)]),
        Instance([[0.0], [1.0], [2.0]], 1, (), [(0, 1)]),
        Instance([[0.0], [1.0], [2.0]], 3, [(0, 1)], ()),
    ],
    ids=["contradiction", "odd cycle", "k = 1", "too few blocks"],
)
def test_what_is_infeasible_is_said_to_be(name, instance):
    result = quick(name).run(instance)
    if name in METHODS_THAT_KEEP:
        assert result.status is HeuristicStatus.INFEASIBLE
        assert str(result.infeasibility)
    else:  # it need not keep them
        assert result.violations.hard + result.violations.empty > 0


@pytest.mark.parametrize("name", EXACT)
def test_a_graph_that_cannot_be_coloured_is_infeasible(name):
    pairs = np.argwhere(np.triu(mycielski(cycle(5))))  # four colours
    instance = Instance(np.random.default_rng(0).normal(size=(11, 2)), 3, cannot_link=pairs)
    result = quick(name).run(instance)
    assert result.status is HeuristicStatus.INFEASIBLE
    assert result.infeasibility.kind is InfeasibilityKind.NOT_COLOURABLE


@pytest.mark.parametrize(
    "name", ["kmeans", "cop-kmeans", "ipc-kmeans", "blpkm", "pccc", "bckm", "bh-kmeans"]
)
def test_more_starts_never_cost_more(name):
    rng = np.random.default_rng(4)
    groups = 3.0 * rng.normal(size=(6, 2))
    instance = Instance(groups[np.arange(60) % 6] + rng.normal(size=(60, 2)), 6)
    results = [method(name, n_starts=n).run(instance, 1) for n in (1, 4, 12)]
    costs = [result.sum_of_squares for result in results]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]
    steps = [result.n_iterations for result in results]
    assert steps == sorted(set(steps))


# The penalty of bckm is in units of the data.
@pytest.mark.parametrize("name", sorted({*METHODS} - {"bckm"}))
@pytest.mark.long
def test_the_unit_of_the_data_does_not_matter(name):
    """Among 30 mutually constrained points, so that some steps are integer programmes."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(30, 2))
    truth = rng.integers(4, size=30)
    i, j = np.triu_indices(30, 1)
    chosen = rng.random(len(i)) < 0.25
    apart = np.column_stack([i, j])[chosen & (truth[i] != truth[j])]
    first, *others = (
        quick(name).run(Instance(scale * points, 4, cannot_link=apart), 1)
        for scale in (1.0, 2.0**-200, 2.0**300)
    )
    for other in others:
        if first.labels is None:
            assert other.labels is None
        else:
            assert np.array_equal(first.labels, other.labels)


def test_one_cluster_of_many_points():
    instance = Instance(np.random.default_rng(0).normal(size=(50, 3)), 1)
    for name in METHODS:
        for seed in range(20):
            assert quick(name).run(instance, seed).keeps_hard_constraints


@pytest.mark.parametrize("name", METHODS)
def test_soft_constraints_are_weighed_ignored_or_refused(name):
    instance = Instance([[0.0], [1.0], [2.0]], 2, soft_cannot_link=[(0, 1, 0.5)])
    if quick(name).soft is Soft.REFUSED:
        with pytest.raises(InstanceError, match=f"{name}: supports hard constraints only"):
            quick(name).run(instance)
    elif name != "bh-kmeans":  # whose constraints all have weight 1
        assert quick(name).run(instance).status is HeuristicStatus.FOUND


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("limits", [{"max_size": 2}, {"max_weight": 3.0}])
def test_what_a_refusal_names_takes_soft_pairs_beside_limits(name, limits):
    """The method that is named is not one that refuses them again."""
    weights = [1.0, 1.5, 1.0, 1.2]
    instance = Instance(
        [[0.0], [1.0], [2.0], [9.0]],
        2,
        weights=weights,
        soft_cannot_link=[(0, 1, 0.5)],
        **limits,
    )
    method = quick(name)
    if method.soft is Soft.WEIGHED and method.keeps_weights:
        method.check(instance)
        return
    with pytest.raises(InstanceError, match=r"pccc") as refused:
        method.check(instance)
    assert "best-of," not in str(refused.value)
    quick("pccc").check(instance)


def test_soft_pairs_beside_constraints_on_clusters_are_for_the_solver():
    instance = Instance(
        [[0.0], [1.0], [2.0], [9.0]],
        2,
        soft_cannot_link=[(0, 1, 0.5)],
        cluster_constraints=[MaximumOverlap([0, 1, 2], 2)],
    )
    with pytest.raises(
        InstanceError, match=r"^best-of: supports hard .* sdpbb\.solve, which supports both"
    ):
        quick("best-of").check(instance)


@pytest.mark.parametrize("name", METHODS)
def test_constraints_on_clusters_are_refused(name):
    points = [[0.0], [1.0], [2.0], [9.0]]
    instance = Instance(points, 2, cluster_constraints=[MaximumOverlap([0, 1, 2], 2)])
    with pytest.raises(InstanceError, match=f"^{name}: supports constraints on pairs "):
        quick(name).run(instance)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    "limits", [{"min_size": 2}, {"sizes": [2, 2]}, {"cluster_constraints": [MaximumSize(2)]}]
)
def test_limits_on_sizes_are_kept_or_refused(name, limits):
    instance = Instance([[0.0], [1.0], [2.0], [9.0]], 2, **limits)
    if not quick(name).keeps_sizes:
        with pytest.raises(InstanceError, match=f"^{name}: supports constraints on pairs only; "):
            quick(name).run(instance)
        return
    result = quick(name).run(instance)
    assert result.status is HeuristicStatus.FOUND
    assert np.array_equal(np.bincount(result.labels), [2, 2])


@pytest.mark.parametrize("name", METHODS)
def test_a_diameter_is_cannot_links(name):
    points = np.random.default_rng(0).normal(size=(20, 2))
    far = [(i, j) for i in range(20) for j in range(i) if np.linalg.norm(points[i] - points[j]) > 2]
    instance = Instance(points, 5, cluster_constraints=[MaximumDiameter(2.0), MaximumSize(20)])
    result = quick(name).run(instance, 1)
    in_pairs = quick(name).run(Instance(points, 5, cannot_link=[(j, i) for i, j in far]), 1)
    assert result.status is in_pairs.status is HeuristicStatus.FOUND
    assert np.array_equal(result.labels, in_pairs.labels)
    assert result.violations == in_pairs.violations


@pytest.mark.parametrize("name", METHODS)
def test_a_stop_that_is_always_true_ends_the_run(name):
    result = quick(name).run(some_instance(n=200, k=6), 0, stop=lambda: True)
    assert result.stop is Stop.INTERRUPTED
    assert result.n_iterations <= 1
    assert (result.status is HeuristicStatus.FOUND) == (name in AT_ONCE)
    assert result.labels is None or result.keeps_hard_constraints or name not in METHODS_THAT_KEEP


@pytest.mark.parametrize(
    ("name", "n_looks"), [("cop-kmeans", 1), ("blpkm", 2), ("pccc", 2), ("bh-kmeans", 2)]
)
def test_a_run_that_is_stopped_has_the_labels_of_its_last_step(name, n_looks):
    """The first look of most is that of their first clustering."""
    instance = Instance(np.random.default_rng(0).normal(size=(50, 2)), 3)
    asked = iter([False] * n_looks)
    result = quick(name).run(instance, 0, stop=lambda: next(asked, True))
    assert (result.status, result.stop) == (HeuristicStatus.FOUND, Stop.INTERRUPTED)
    assert result.n_iterations == 1


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("limit", [0, -1.0, math.nan, "long"])
def test_wrong_time_limits(name, limit):
    with pytest.raises(ParameterError, match="time_limit"):
        method(name, time_limit=limit)


WRONG = {
    "kmeans": [{"n_starts": 0}, {"n_starts": True}, {"max_iterations": 1.5}],
    "cop-kmeans": [{"n_starts": 0}, {"max_iterations": "many"}],
    "ipc-kmeans": [
        {"start": "random"},
        {"affinities": lambda contraction: []},
        {"n_starts": 0},
        {"max_iterations": 1.5},
    ],
    "blpkm": [{"distance": "cosine"}, {"start": ""}, {"max_iterations": True}],
    "pccc": [
        *({"q": wrong} for wrong in (0, "all", 1.5)),
        *({"penalty": wrong} for wrong in (0, math.inf)),
        {"assignment_time_limit": 0},
        {"solver": "abacus"},
    ],
    "bh-kmeans": [{"p": 0}, {"p": -1.0}, {"p": True}, {"distance": ""}, {"max_iterations": 0}],
    "post-processing": [{"n_starts": 0}, {"max_iterations": 0}, {"solver": "simplex"}],
    "bckm": [
        *({"min_size": wrong} for wrong in (0, [[1, 1]], [[1], [1, 1]])),
        {"max_size": 2.5},
        {"rho": 0.0},
        {"growth": 1.0},
        {"ridge": -1.0},
        {"epsilon_centres": math.nan},
        {"epsilon_assignment": 0.0},
        {"max_steps": 1.5},
    ],
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters_are_refused(name):
    for wrong in WRONG[name]:
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            method(name, **wrong)
    if name == "ipc-kmeans":
        with pytest.raises(ParameterError, match="affinities"):
            method(name, start="sdp")


@pytest.mark.parametrize("name", METHODS)
def test_a_tiny_time_limit_is_no_error(name):
    result = quick(name, time_limit=1e-9).run(some_instance())
    if name in AT_ONCE:
        assert result.status is HeuristicStatus.FOUND
        assert result.keeps_hard_constraints or name not in METHODS_THAT_KEEP
    else:
        assert (result.status, result.stop) == (HeuristicStatus.NOT_FOUND, Stop.TIME_LIMIT)


@pytest.mark.parametrize("name", ["blpkm", "pccc", "bh-kmeans", "kmeans", "ipc-kmeans"])
def test_the_limit_of_steps_ends_a_run(name):
    result = method(name, max_iterations=1).run(some_instance(), 1)
    assert (result.stop, result.n_iterations) == (Stop.ITERATION_LIMIT, 1)


def test_no_clustering_costs_less_than_the_leader_finds_on_easy_data():
    rng = np.random.default_rng(0)
    centres = 20.0 * rng.normal(size=(4, 3))
    truth = np.repeat(np.arange(4), 15)
    instance = Instance(centres[truth] + rng.normal(size=(60, 3)), 4, cannot_link=[(0, 15)])
    leader = BestOf().run(instance).sum_of_squares
    for name in METHODS:
        assert quick(name).run(instance).sum_of_squares >= leader * (1 - 1e-12)
