"""First clustering of many blocks: by mending k-means, without an integer programme."""

import math
import threading

import numpy as np
import pytest

import sdpbb
from heuristics.first_clustering import first_clustering
from sdpbb.problem import Infeasibility, Instance, contract
from sdpbb.search.events import Progress

# Clouds that overlap, with cannot-links between points of different ones.
RNG = np.random.default_rng(0)
CLOUDS = np.arange(1500) % 5
POINTS = 6.0 * RNG.normal(size=(5, 3))[CLOUDS] + 2.0 * RNG.normal(size=(1500, 3))
PAIRS = RNG.integers(1500, size=(50_000, 2))
PAIRS = PAIRS[CLOUDS[PAIRS[:, 0]] != CLOUDS[PAIRS[:, 1]]][:25_000]
MANY = Instance(POINTS, 5, cannot_link=np.unique(np.sort(PAIRS, axis=1), axis=0))


def test_many_cannot_links_that_agree_with_the_data_need_no_integer_programme(monkeypatch):
    """In a check, a heuristic and the engine."""
    monkeypatch.setattr("sdpbb.problem.colouring.solve_binary_programme", pytest.fail)
    contraction = contract(MANY)
    labels, again = (first_clustering(contraction, lambda: 60.0) for _ in range(2))
    assert contraction.keeps(labels)
    assert set(labels.tolist()) == set(range(5))
    assert np.array_equal(labels, again)
    assert first_clustering(contraction, lambda: 0.0) is None
    assert sdpbb.check_constraints(MANY).is_feasible is True
    result = sdpbb.heuristic("ipc-kmeans", time_limit=60.0).run(MANY)
    assert result.keeps_hard_constraints
    stop = threading.Event()

    def observer(event):
        if isinstance(event, Progress) and math.isfinite(event.upper):
            stop.set()

    assert sdpbb.solve(MANY, observer=observer, interrupt=stop).partition.is_feasible(MANY)


def test_no_clustering_is_still_proven():
    pairs = [(i, j) for i in range(160) for j in range(i)]
    found = contract(Instance(np.arange(400.0)[:, None], 159, cannot_link=pairs))
    if not isinstance(found, Infeasibility):
        found = first_clustering(found, lambda: 60.0)
    assert isinstance(found, Infeasibility)
