import math
import threading

import numpy as np
import pytest

import sdpbb
from heuristics.first_clustering import first_clustering
from sdpbb.problem import Infeasibility, Instance, contract
from sdpbb.search.events import Progress


def labelled(n: int, n_pairs: int) -> Instance:
    """Clouds that overlap, with cannot-links between points of different ones."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 5
    points = 6.0 * rng.normal(size=(5, 3))[labels] + 2.0 * rng.normal(size=(n, 3))
    pairs = rng.integers(n, size=(2 * n_pairs, 2))
    pairs = pairs[labels[pairs[:, 0]] != labels[pairs[:, 1]]][:n_pairs]
    return Instance(points, 5, cannot_link=np.unique(np.sort(pairs, axis=1), axis=0))


MANY = labelled(1500, 25_000)


def test_many_cannot_links_that_agree_with_the_data_need_no_integer_programme(monkeypatch):
    monkeypatch.setattr("sdpbb.problem.colouring.solved_within", pytest.fail)
    contraction = contract(MANY)
    labels = first_clustering(contraction, lambda: 60.0)
    assert contraction.keeps(labels)
    assert set(labels.tolist()) == set(range(5))
    again = first_clustering(contraction, lambda: 60.0)
    assert np.array_equal(labels, again)


def test_a_run_begins_with_it(monkeypatch):
    monkeypatch.setattr("sdpbb.problem.colouring.solved_within", pytest.fail)
    result = sdpbb.heuristic("ipc-kmeans", time_limit=60.0).run(MANY)
    assert result.keeps_hard_constraints
    stop = threading.Event()

    def observer(event):
        if isinstance(event, Progress) and math.isfinite(event.upper):
            stop.set()

    assert sdpbb.solve(MANY, observer=observer, interrupt=stop).partition.is_feasible(MANY)


def test_a_check_tells_that_there_is_one(monkeypatch):
    monkeypatch.setattr("sdpbb.problem.colouring.solved_within", pytest.fail)
    assert sdpbb.check_constraints(MANY).is_feasible is True


def test_no_clustering_is_still_proven():
    pairs = [(i, j) for i in range(160) for j in range(i)]
    found = first_clustering(contract(Instance(np.arange(400.0)[:, None], 159)), lambda: 60.0)
    assert len(set(found.tolist())) == 159
    found = contract(Instance(np.arange(400.0)[:, None], 159, cannot_link=pairs))
    if not isinstance(found, Infeasibility):
        found = first_clustering(found, lambda: 60.0)
    assert isinstance(found, Infeasibility)


def test_without_time_nothing_is_known():
    assert first_clustering(contract(MANY), lambda: 0.0) is None
