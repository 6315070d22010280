import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.bounds.sdp.admm import Admm
from sdpbb.bounds.sdp.safe_bound import DualFunction
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.formats import read_instance
from sdpbb.run.heuristic import root_affinities
from tests.examples import examples

INSTANCES = Path(__file__).parents[1] / "instances"
OPTIMA = {
    (optimum["constraints"], optimum["k"]): optimum["value"]
    for optimum in tomllib.loads((INSTANCES / "optima.toml").read_text())["optimum"]
}


def contracted(instance: Instance) -> Contraction:
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    return contraction


def test_the_relaxation_is_one_of_a_clustering():
    """Where it is tight, its solution is the optimal clustering's affinity."""
    name = "iris_ml_19_cl_19.txt"
    instance = read_instance(INSTANCES / "iris.txt", None, INSTANCES / name)
    contraction = contracted(instance)
    *_, Z = root_affinities(contraction)
    assert (Z >= 0).all()
    assert not Z[contraction.adjacency].any()
    assert Z @ contraction.weights == pytest.approx(np.ones(contraction.n_blocks), abs=1e-2)
    assert contraction.weights @ np.diag(Z) == pytest.approx(instance.k, abs=1e-2)
    result = sdpbb.heuristic("ipc-kmeans", start="sdp").run(instance)
    assert result.sum_of_squares == pytest.approx(OPTIMA[name, instance.k], rel=1e-9)


@examples(20)
@given(st.integers(1, 5), st.integers(1, 4), st.booleans(), st.integers(0, 99))
def test_small_and_degenerate_instances(n, k, same, seed):
    k = min(n, k)
    points = np.random.default_rng(seed).normal(size=(n, 2)) * (not same)
    instance = Instance(points, k)
    *_, Z = root_affinities(contracted(instance))
    assert (Z >= 0).all()
    result = sdpbb.heuristic("ipc-kmeans", start="sdp").run(instance, seed)
    assert result.keeps_hard_constraints
    assert len(result.centers) == k


def test_a_relaxation_that_takes_hours_is_refused(monkeypatch):
    monkeypatch.setattr("sdpbb.run.heuristic.MOST_BLOCKS", 5)
    points = np.random.default_rng(0).normal(size=(7, 2))
    instance = Instance(points, 2, must_link=[(0, 1)])
    message = (
        r"^start = 'sdp': the relaxation has 6 blocks, and takes hours for more than 5; "
        r"expected 'k-means\+\+'$"
    )
    with pytest.raises(ParameterError, match=message):
        sdpbb.heuristic("ipc-kmeans", start="sdp").run(instance)
    smaller = Instance(points, 2, must_link=[(0, 1), (1, 2)])
    assert sdpbb.heuristic("ipc-kmeans", start="sdp").run(smaller).keeps_hard_constraints


def test_the_relaxation_keeps_its_time_limit(monkeypatch):
    """By a clock that is given: it begins no bound that would end after the limit."""
    now, iterate = [0.0], Admm.iterate

    def iterate_for_a_second(admm):
        now[0] += 1.0
        iterate(admm)

    def bound_for_a_minute(function):
        now[0] += 60.0
        return 0.0

    monkeypatch.setattr("sdpbb.runtime.time_left.perf_counter", lambda: now[0])
    monkeypatch.setattr(Admm, "iterate", iterate_for_a_second)
    monkeypatch.setattr(DualFunction, "bound", bound_for_a_minute)
    points = np.random.default_rng(0).normal(size=(40, 2))
    (Z,) = root_affinities(contracted(Instance(points, 5)), 3.0)
    assert now[0] <= 3.0
    assert (Z >= 0).all()


def test_points_come_with_k_and_the_name():
    pairs = {"cannot_link": [(0, 1)]}
    points = [[0.0], [0.1], [5.0], [5.1]]
    named = sdpbb.heuristic("best-of").run(points, 2, **pairs)
    for found in (
        sdpbb.heuristic(points, 2, "best-of", **pairs),
        sdpbb.heuristic(Instance(points, 2, **pairs), "best-of"),
        sdpbb.heuristic(points, 2, "best-of", seed=3, time_limit=60, **pairs),
        sdpbb.heuristic("best-of").run(Instance(points, 2, **pairs), 3),
    ):
        assert found.sum_of_squares == pytest.approx(named.sum_of_squares)
        assert found.labels[0] != found.labels[1]


def test_every_name_in_the_readme_is_there():
    """As attributes of the package, without another import."""
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    names = set(re.findall(r"\bsdpbb\.([A-Za-z_]+)", text))
    assert {"solve", "heuristic", "constraint_sets"} <= names
    assert [name for name in sorted(names) if not hasattr(sdpbb, name)] == []


def test_public_packages_are_there_at_once():
    assert sdpbb.constraint_sets.by_number([0, 0, 1], 3, np.random.default_rng(0)).hard
    assert {"constraint_sets", "datasets", "checker"} <= set(dir(sdpbb))
