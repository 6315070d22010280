"""What every method promises beside the contract of tests/contracts/test_heuristics.py."""

import inspect
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import heuristics
from heuristics.best_of import BestOf
from heuristics.kmeans import KMeans
from heuristics.method import Heuristic, Soft
from heuristics.registry import (
    METHODS,
    method,
    method_class,
    method_parameters,
    register,
    summary,
)
from heuristics.result import HeuristicStatus, SearchResult, Stop
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Instance, MaximumOverlap, MaximumSize
from sdpbb.runtime import time_left
from tests.heuristics.looks import Countdown

DOCUMENT = Path(__file__).parents[2] / "docs" / "heuristics.md"

QUICK = {"best-of": {"n_runs": 1, "n_starts": 2, "n_relocations": 2}}
# These keep hard constraints, and find a clustering wherever there is one.
EXACT = ("ipc-kmeans", "blpkm", "pccc", "bckm", "post-processing", "best-of")
METHODS_THAT_KEEP = (*EXACT, "cop-kmeans")
# These have the first clustering, or a first assignment step, whatever the time.
AT_ONCE = tuple({*METHODS} - {"cop-kmeans"})
POINTS = [[0.0], [1.0], [2.0], [9.0]]
# Looks of a run between the first without time left and its end: one where each loop is left.
LOOKS_TO_LEAVE = 25


def quick(name, **parameters):
    return method(name, **QUICK.get(name, {}), **parameters)


def some_instance(seed=0, n=40, k=3):
    rng = np.random.default_rng(seed)
    must_link = [(0, 1), (2, 3), (0, 1)]
    cannot_link = [(i, i + 1) for i in range(5, 15)] + [(9, 8)]
    return Instance(rng.normal(size=(n, 2)), k, must_link, cannot_link)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_where_the_registry_says_with_what_it_supports(name):
    found = method_class(name)
    assert found is getattr(heuristics, found.__name__)
    assert issubclass(found, Heuristic)
    assert found.name == name
    assert summary(name) + "." == inspect.getdoc(found).splitlines()[0]
    assert (found.soft is Soft.WEIGHED) == ("soft" in summary(name))
    assert (found.soft is Soft.IGNORED) == ("without constraints" in summary(name))
    section = DOCUMENT.read_text().split(f"\n### {name}\n")[1].split("\n### ")[0]
    assert f"\n<!-- parameters: {name} -->\n" in section


def test_a_class_of_a_user_is_a_method():
    class Own(KMeans):
        """A method.

        Of a user.
        """

        name = "own"

    assert register(Own) is Own
    assert register(Own) is Own  # a module may be run twice
    assert summary("own") == "A method"
    assert isinstance(method("own", n_starts=2), Own)
    Own.name = "kmeans"
    with pytest.raises(ParameterError, match=r"^name = 'kmeans': another method has this name"):
        register(Own)
    METHODS.pop("own")


def test_names_are_loaded_when_they_are_used():
    script = "import sys, heuristics, heuristics.registry; print('numba' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
    assert set(heuristics.__all__) <= set(dir(heuristics))
    assert all(getattr(heuristics, name) is not None for name in heuristics.__all__)
    with pytest.raises(AttributeError, match="no attribute 'KMedians'"):
        _ = heuristics.KMedians


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
        for scale in (1.0, 2.0**-200)
    )
    for other in others:
        assert (first.labels is None) == (other.labels is None)
        assert first.labels is None or np.array_equal(first.labels, other.labels)


@pytest.mark.parametrize("name", METHODS)
def test_what_a_method_does_not_support_is_refused_with_one_that_does(name):
    """The method that is named is not one that refuses the instance again."""
    own, overlap = quick(name), [MaximumOverlap([0, 1, 2], 2)]
    weights, soft = [1.0, 1.5, 1.0, 1.2], {"soft_cannot_link": [(0, 1, 1.0)]}

    def refusal(**stated):
        try:
            own.check(Instance(POINTS, 2, **stated))
        except InstanceError as error:
            return str(error).removeprefix(f"{name}: ")
        return ""

    assert refusal(**soft).startswith("supports hard constraints only") == (
        own.soft is Soft.REFUSED
    )
    assert refusal(cluster_constraints=overlap).startswith("supports constraints on pairs ")
    for limits in ({"min_size": 2}, {"sizes": [2, 2]}, {"cluster_constraints": [MaximumSize(2)]}):
        assert ("supports constraints on pairs only; " in refusal(**limits)) != own.keeps_sizes
        if own.keeps_sizes:
            result = own.run(Instance(POINTS, 2, **limits))
            assert np.array_equal(np.bincount(result.labels), [2, 2])
    assert bool(refusal(weights=weights, max_weight=3.0)) != own.keeps_weights
    for limit in ({"max_size": 2}, {"weights": weights, "max_weight": 3.0}):
        told = refusal(**limit, **soft)
        assert bool(told) != (own.soft is Soft.WEIGHED and own.keeps_weights)
        assert not told or ("pccc" in told and "best-of," not in told)
        quick("pccc").check(Instance(POINTS, 2, **limit, **soft))
    if own.soft is Soft.REFUSED:
        assert "sdpbb.solve, which supports both" in refusal(cluster_constraints=overlap, **soft)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("allowed", [0, 1, 2, 5, 13, 34])
def test_a_method_can_be_left_at_every_look(name, allowed, monkeypatch):
    monkeypatch.setattr(time_left, "WORK", 500)
    instance, left = some_instance(n=120, k=6), Countdown(allowed)
    result = method(name).run(instance, 1, left.is_over)
    if left.n_looks <= allowed:
        assert result.stop is not Stop.INTERRUPTED
        return
    assert left.n_looks <= allowed + LOOKS_TO_LEAVE
    if result.status is HeuristicStatus.NOT_FOUND:
        assert result.stop in {Stop.INTERRUPTED, Stop.DEAD_END}
    assert result.labels is None or result.keeps_hard_constraints or name not in METHODS_THAT_KEEP


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("limit", [math.inf, 1e-9])
def test_a_run_ends_at_once_when_it_is_told_so(name, limit):
    instance = some_instance(n=200, k=6)
    result = quick(name, time_limit=limit).run(instance, 0, stop=lambda: limit == math.inf)
    assert result.stop is (Stop.INTERRUPTED if limit == math.inf else Stop.TIME_LIMIT)
    assert result.n_iterations <= 1
    assert (result.status is HeuristicStatus.FOUND) == (name in AT_ONCE)


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


def test_a_run_says_that_it_was_interrupted_whatever_its_method_says():
    class Heedless(KMeans):
        def search(self, instance, rng, clock):
            return SearchResult(np.array([0, 0, 0, 1]), Stop.CONVERGED, 1)

    assert Heedless().run(POINTS, 2).stop is Stop.CONVERGED
    result = Heedless().run(POINTS, 2, stop=lambda: True)
    assert (result.status, result.stop) == (HeuristicStatus.FOUND, Stop.INTERRUPTED)


@pytest.mark.parametrize("name", METHODS)
def test_wrong_parameters_are_refused(name):
    """None of them may be these; each number has a bound, which zero or less is beyond."""
    for parameter, declared in method_parameters(name).items():
        for wrong in ("nonsense", math.nan, -1):
            with pytest.raises(ParameterError, match=parameter):
                method(name, **{parameter: wrong})
        assert declared.help
    for wrong in ({"affinities": lambda contraction: []}, {"start": "sdp"}):
        if name == "ipc-kmeans":
            with pytest.raises(ParameterError, match="affinities"):
                method(name, **wrong)


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
