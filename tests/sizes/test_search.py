"""Heuristics where sizes are limited: assignments of least cost, and exchanges."""

from random import Random

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import eye, kron, vstack

from heuristics.assignment.flow import sized_labels
from heuristics.best_of import BestOf
from heuristics.descent import Descent
from heuristics.incumbents import MultiStart
from heuristics.parameters import MultiStartParameters
from heuristics.result import HeuristicStatus
from sdpbb.problem import Infeasibility, Partition, contract
from sdpbb.problem.feasibility import find_feasible
from tests.any_instance import drawn_instance
from tests.enumeration import feasible_clusterings


def drawn(seed, *always, n=(3, 8)):
    return drawn_instance(Random(seed), "pairs", "weights", always=always, n=n, k=(1, 4))


def least_cost(costs, least, most):
    m, k = costs.shape
    rows, columns = kron(eye(m), np.ones((1, k))), kron(np.ones((1, m)), eye(k))
    return linprog(
        costs.ravel(),
        A_ub=vstack([columns, -columns]),
        b_ub=np.concatenate([most, -least]),
        A_eq=rows,
        b_eq=np.ones(m),
        bounds=(0, 1),
    ).fun


@pytest.mark.parametrize("seed", range(60))
def test_assignments_are_those_of_least_cost_whatever_the_prices(seed):
    """With ties; prices start at nothing, then come from other centres."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 60))
    k = int(rng.integers(1, min(6, m) + 1))
    sizes = rng.multinomial(m - k, np.ones(k) / k) + 1
    least = np.maximum(0, sizes - rng.integers(0, 4, k))
    most = sizes + rng.integers(0, 4, k)
    points, centres = rng.normal(size=(m, 2)), rng.normal(size=(k, 2))
    prices = rng.normal(size=k) * (seed % 5 == 0)
    for _ in range(4):
        costs = ((points[:, None] - centres) ** 2).sum(axis=2)
        costs = costs if seed % 2 else np.round(costs)
        labels = sized_labels(costs, least, most, prices)
        found = np.bincount(labels, minlength=k)
        assert (found >= least).all()
        assert (found <= most).all()
        cost = costs[np.arange(m), labels].sum()
        assert cost == pytest.approx(least_cost(costs, least, most), abs=1e-9)
        with_prices = costs + prices
        assert with_prices[np.arange(m), labels] == pytest.approx(with_prices.min(axis=1))
        centres = centres + rng.normal(scale=0.2, size=(k, 2))


def test_sizes_that_do_not_add_up_are_told():
    costs, prices = np.zeros((3, 2)), np.zeros(2)
    assert sized_labels(costs, np.array([2, 2]), np.array([2, 2]), prices) is None
    assert sized_labels(costs, np.array([0, 0]), np.array([1, 1]), prices) is None


def searched(contraction, known, parameters=None, found=None):
    """What a search from a known clustering comes to; `found` gets each that is cheaper."""
    parameters = parameters or MultiStartParameters()
    rng, descent = np.random.default_rng(0), Descent(contraction, parameters, known)
    return MultiStart(parameters).run(contraction, rng, descent=descent, found=found)


@pytest.mark.parametrize("seed", range(60))
def test_search_keeps_all_limits_from_the_first_clustering_on(seed):
    instance = drawn(seed, "sizes")
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility) or contraction.size_limits is None:
        return
    known = find_feasible(contraction)
    if isinstance(known, Infeasibility):
        return
    found = []
    best = searched(contraction, known, MultiStartParameters(n_starts=2), found.append)
    assert all(contraction.keeps(each.labels) for each in found)
    costs = [each.cost for each in found]
    assert costs[0] == contraction.cost(known)
    assert all(np.diff(costs) < 0)
    assert best is found[-1]


@pytest.mark.parametrize("limits", ["sizes", "weight limits"])
@pytest.mark.parametrize("seed", range(40))
def test_search_with_soft_pairs_finds_the_optimum_from_the_worst_clustering(limits, seed):
    """Heavy pairs that it violates, too, are repaired within the limits."""
    instance = drawn(seed, limits, "soft pairs")
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility) or not contraction.has_limits:
        return
    labels = [each[contraction.representatives] for each in feasible_clusterings(instance)]
    if not labels:
        return
    costs = [contraction.cost(each) for each in labels]
    worst = labels[int(np.argmax(costs))]
    best = searched(contraction, worst)
    assert contraction.keeps(best.labels)
    rounding = 1e-11 * (contraction.total + np.abs(contraction.soft.weights).sum())
    assert best.cost <= min(costs) + rounding


@pytest.mark.parametrize("seed", range(60))
def test_best_of_finds_the_optimum_of_tiny_instances(seed):
    instance = drawn_instance(Random(seed), "pairs", always=["sizes"], n=(3, 9), k=(1, 4))
    costs = [Partition(labels).cost(instance) for labels in feasible_clusterings(instance)]
    result = BestOf(n_runs=2, n_starts=3, n_relocations=10).run(instance, seed)
    if not costs:
        assert result.status is HeuristicStatus.INFEASIBLE
        return
    assert result.keeps_hard_constraints
    assert Partition(result.labels).keeps_sizes(instance)
    assert result.sum_of_squares == pytest.approx(min(costs), rel=1e-9, abs=1e-9)
