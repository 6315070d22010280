"""Methods of assignment steps within limits: BLPKM, IPC-k-means, PCCC and BH-k-means."""

from itertools import product
from random import Random
from time import sleep

import numpy as np
import pytest

from heuristics import BCKM, BLPKM, PCCC, BestOf, BHKMeans, IPCKMeans
from heuristics.assignment import steps
from heuristics.assignment.steps import Assignment, SizedAssignment
from heuristics.result import HeuristicStatus
from sdpbb.errors import InstanceError
from sdpbb.problem import Infeasibility, InfeasibilityKind, Instance, Partition, contract
from sdpbb.problem.feasibility import Packing
from tests.any_instance import drawn_instance
from tests.heuristics.test_assignment import objective

PARTS = ("equal points", "pairs", "soft pairs")


def cheapest(contraction, costs, penalty):
    """The least objective of labels within the limits, by enumeration; inf if no labels are.

    Listed sizes are in the order of the sizes of the cheapest clusters.
    """
    first = contraction.limited_amounts[0].linear
    nearest = np.bincount(costs.argmin(axis=1), first, contraction.k)
    order = np.argsort(np.argsort(nearest, kind="stable"), kind="stable")
    bounds = [each.bounds for each in contraction.limited_amounts]
    best = np.inf
    for labels in map(np.array, product(range(contraction.k), repeat=contraction.n_blocks)):
        amounts = contraction.limited_amounts
        sums = [np.bincount(labels, each.linear, contraction.k) for each in amounts]
        fits = [
            ((least[order] <= each) & (each <= most[order])).all()
            for each, (least, most) in zip(sums, bounds, strict=True)
        ]
        if all(fits):
            best = min(best, objective(contraction, costs, penalty, labels))
    return best


@pytest.mark.parametrize("seed", range(60))
def test_a_step_within_limits_is_optimal_for_its_costs(seed, monkeypatch):
    instance = drawn_instance(Random(seed), *PARTS, always=["sizes"], n=(3, 6), k=(1, 4))
    contraction = contract(instance.in_pairs_and_sizes())
    if isinstance(contraction, Infeasibility) or not contraction.has_limits:
        return
    step = SizedAssignment(contraction, np.inf, is_exact=True)
    costs = np.random.default_rng(seed).uniform(0.0, 2.0, (contraction.n_blocks, contraction.k))
    monkeypatch.setattr(steps, "fill_by_objective", lambda potts, labels: labels)
    free = Assignment(contraction, is_thorough=True).of_costs(costs, penalty=0.5).labels
    found = step.of_costs(costs, penalty=0.5)
    least = cheapest(contraction, costs, 0.5)
    assert found.is_optimal == (found.labels is not None) == (least < np.inf)
    if found.labels is not None:
        assert contraction.keeps(found.labels)
        reached = objective(contraction, costs, 0.5, found.labels)
        assert reached == pytest.approx(least, rel=1e-9, abs=1e-9)
        assert reached >= objective(contraction, costs, 0.5, free) - 1e-9


def test_integer_programmes_share_their_seconds_without_a_time_limit(monkeypatch):
    seconds = []

    def slow(contraction, costs, time_left, soft):
        seconds.append(time_left())
        sleep(0.05)
        return Packing(None)

    monkeypatch.setattr(steps, "packed_exactly", slow)
    contraction = contract(Instance(np.arange(6.0)[:, None], 2, cannot_link=[(0, 1)], max_size=4))
    step = SizedAssignment(contraction, 0.12)
    for _ in range(5):
        assert step.of_costs(np.ones((6, 2))).labels is None
    assert np.all(np.diff(seconds) < -0.05)
    assert len(seconds) <= 3


@pytest.mark.parametrize("method", [BLPKM(), IPCKMeans(), PCCC(), BHKMeans()])
@pytest.mark.parametrize("pairs", [{}, {"must_link": [(0, 1)], "cannot_link": [(1, 2)]}])
def test_large_instances_are_within_limits(method, pairs, monkeypatch):
    """Without integer programmes: by a flow, a repair, or with the first clustering."""
    monkeypatch.setattr(steps, "MOST_VARIABLES", 10)
    points = np.random.default_rng(1).normal(size=(30, 2))
    instance = Instance(points, 3, min_size=9, max_size=11, **pairs)
    result = method.run(instance, 0)
    assert result.status is HeuristicStatus.FOUND
    assert Partition(result.labels).keeps_sizes(instance)
    assert result.keeps_hard_constraints or isinstance(method, BHKMeans)


def test_pairs_and_sizes_that_cannot_hold_together_are_told_as_such():
    """Four blocks of three points, and a cluster of five."""
    points = np.arange(12.0)[:, None]
    together = [(i, i + 1) for i in range(11) if i % 3 < 2]
    instance = Instance(points, 2, must_link=together, sizes=[5, 7])
    for method in (BLPKM(), IPCKMeans(), PCCC()):
        result = method.run(instance)
        assert result.status is HeuristicStatus.INFEASIBLE
        assert result.infeasibility.kind is InfeasibilityKind.SIZES
    assert BHKMeans().run(instance).status is HeuristicStatus.FOUND


def test_the_semidefinite_start_keeps_sizes():
    import sdpbb

    points = np.random.default_rng(2).normal(size=(30, 2))
    instance = Instance(points, 3, must_link=[(0, 1)], cannot_link=[(2, 3)], sizes=[5, 10, 15])
    result = sdpbb.heuristic("ipc-kmeans", start="sdp").run(instance)
    assert Partition(result.labels).is_feasible(instance)


def test_nearest_clusters_alone_and_limits_on_weights_are_refused():
    points = np.arange(6.0)[:, None]
    with pytest.raises(InstanceError, match=r"^pccc: q = 2: with limits on sizes or weights"):
        PCCC(q=2).run(Instance(points, 2, max_size=4))
    with pytest.raises(
        InstanceError, match=r"^bckm: does not support limits on the weights of clusters"
    ):
        BCKM().run(Instance(points, 2, weights=np.arange(1.0, 7.0), max_weight=12.0))


def test_best_of_solves_programmes_where_no_repair_keeps_cannot_links(monkeypatch):
    """Of more blocks than it solves any for where there are no cannot-links."""
    points = np.random.default_rng(3).normal(size=(30, 2))
    instance = Instance(points, 3, cannot_link=[(0, 1), (2, 3)], min_size=9, max_size=11)
    method = BestOf(n_runs=1, n_relocations=5)
    usual = method.run(instance, 0)
    monkeypatch.setattr(steps, "FEW_VARIABLES", 10)
    assert np.array_equal(method.run(instance, 0).labels, usual.labels)
    monkeypatch.setattr(steps, "MOST_VARIABLES", 10)
    assert method.run(instance, 0).n_iterations == 0
