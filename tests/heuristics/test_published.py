"""Published methods: against their papers to the letter, and against enumeration."""

from itertools import pairwise, product
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog
from sklearn.cluster import KMeans as Reference

from heuristics import BCKM, PCCC, BHKMeans, COPKMeans, IPCKMeans, KMeans, PostProcessing, bckm
from heuristics.alternating import alternate, kmeans
from heuristics.assignment import Assignment
from heuristics.kmeans import best_kmeans, unconstrained
from heuristics.method import RunClock
from heuristics.penalised import PenalisedStep
from heuristics.registry import method
from heuristics.result import HeuristicStatus, Stop, Violations
from heuristics.starts import kmeans_plus_plus
from sdpbb.errors import InstanceError
from sdpbb.problem import Contraction, Instance, Partition, contract
from sdpbb.problem.graph import connected_components
from tests.any_instance import any_instance, drawn_instance
from tests.enumeration import (
    ExactSquares,
    clustering_matrix,
    feasible_clusterings,
    random_instance,
)
from tests.examples import examples
from tests.graphs import cycle

SEEDS = st.integers(0, 2**32 - 1)
SOFT = any_instance("equal points", "pairs", always=["soft pairs"], n=(2, 5), k=(1, 4))
HARD = any_instance("equal points", always=["pairs"], n=(2, 5), k=(1, 4))


def means(instance, labels):
    return np.array([instance.centred[labels == c].mean(axis=0) for c in range(instance.k)])


def objective(instance, labels, centres, price):
    """Squared distances of the points, and the price of violated soft pairs."""
    squares = ((instance.centred - centres[labels]) ** 2).sum()
    return squares + price * Violations.of(instance, labels).soft_weight


def labels_that_keep(instance):
    """All labels (number, n) that keep the hard constraints; clusters may be empty."""
    labels = np.array([*product(range(instance.k), repeat=instance.n_points)])
    keep = np.ones(len(labels), bool)
    for i, j in instance.must_link:
        keep &= labels[:, i] == labels[:, j]
    for i, j in instance.cannot_link:
        keep &= labels[:, i] != labels[:, j]
    return labels[keep]


# Alternations of exact assignment steps and means


@pytest.mark.parametrize(
    ("name", "instances"), [("pccc", SOFT), ("pccc", HARD), ("blpkm", HARD), ("ipc-kmeans", HARD)]
)
@given(st.data())
@examples(40)
def test_the_end_is_the_cheapest_assignment_to_its_own_means(name, instances, data):
    instance, price = data.draw(instances), data.draw(st.floats(0.01, 10))
    result = method(name, **{"penalty": price} if name == "pccc" else {}).run(instance, 1)
    if result.labels is None:
        return
    centres = means(instance, result.labels)
    reached = objective(instance, result.labels, centres, price)
    if name == "pccc":
        assert result.penalised_objective == pytest.approx(reached, rel=1e-9, abs=1e-12)
    feasible = labels_that_keep(instance)
    costs = [objective(instance, labels, centres, price) for labels in feasible]
    # Where the cheapest labels leave a cluster empty, that is filled at a price.
    if len(np.unique(feasible[int(np.argmin(costs))])) == instance.k:
        assert reached <= min(costs) + 1e-9


@given(SOFT, st.floats(0.01, 10))
@examples(20)
def test_more_starts_never_end_at_a_greater_objective_of_one_price(instance, price):
    results = [PCCC(penalty=price, n_starts=t).run(instance, 1) for t in range(1, 5)]
    if results[0].labels is None:
        return
    reached = [result.penalised_objective for result in results]
    assert all(after <= before * (1 + 1e-12) + 1e-12 for before, after in pairwise(reached))


def test_more_assignment_steps_never_end_worse():
    rng = np.random.default_rng(0)
    instance = Instance(rng.normal(size=(80, 2)), 5, cannot_link=[(i, i + 1) for i in range(40)])
    results = [IPCKMeans(max_iterations=steps).run(instance, 1) for steps in range(1, 30)]
    costs = np.array([result.sum_of_squares for result in results])
    assert (np.diff(costs) <= 1e-9).all()
    assert results[-1].stop is Stop.CONVERGED


def test_a_penalty_that_goes_up_and_down_does_not_go_on_for_ever():
    # The soft must-link is kept at the high price and given up at the low one, again and again.
    points = np.array([[-9.0], [-8.0], [8.0], [9.0]])
    contraction = contract(Instance(points, 2, soft_must_link=[(1, 2, 1.0)]))
    prices, assign = iter([1e6, 1e-6] * 50), Assignment(contraction)
    step = PenalisedStep(contraction, "squared", 2, assign, lambda _: next(prices))
    found = alternate(contraction, step, points[[0, 3]], step.rule, 50)
    assert found.stop is Stop.CONVERGED
    assert found.n_iterations <= 4


def test_the_start_of_a_tight_relaxation_is_its_clustering():
    """Algorithm 2 of PC-SOS-SDP: for the Z of a clustering the centres are its means."""
    rng = np.random.default_rng(2)
    truth = np.repeat(np.arange(3), 10)
    instance = Instance(10.0 * np.eye(3)[truth] + rng.normal(size=(30, 3)), 3, (), [(0, 10)])

    def affinities(contraction):
        yield clustering_matrix(truth[contraction.representatives], contraction.weights)

    result = IPCKMeans(start="sdp", affinities=affinities).run(instance)
    assert Partition(result.labels) == Partition(truth)


# PCCC and BH-k-means


def test_lists_are_long_enough_for_the_hard_cannot_links():
    means = np.random.default_rng(2).normal(size=(8, 2))

    def lengths(pairs):
        blocks = 6, np.arange(8), np.ones(8), means, np.zeros(8), np.array(pairs).reshape(-1, 2)
        return [PCCC(q=q).n_candidates(Contraction(*blocks)) for q in (None, 1, 2, 5, 9, "auto")]

    assert lengths([(0, 1), (0, 2), (0, 3)]) == [6, 4, 4, 5, 6, 4]
    assert lengths(np.empty((0, 2), int)) == [6, 1, 2, 5, 6, 2]


@pytest.mark.parametrize("distance", ["squared", "euclidean"])
@pytest.mark.parametrize("name", ["pccc", "bh-kmeans"])
def test_prices_are_taken_at_the_centres_of_the_iteration(name, distance):
    """The mean distance to a centre times k, or the largest times p; one soft pair is violated."""
    points, pair = np.random.default_rng(6).normal(size=(20, 2)), [(3, 4, 1.0)]
    instance = Instance(points, 3, soft_must_link=pair, soft_cannot_link=pair)
    own = {"p": 0.5} if name == "bh-kmeans" else {}
    result = method(name, distance=distance, max_iterations=1, **own).run(instance, 9)
    points, power = instance.centred, 2 if distance == "squared" else 1
    initial = kmeans_plus_plus(unconstrained(instance), np.random.default_rng(9))
    lengths = np.linalg.norm(points[:, None] - initial, axis=2) ** power
    of_labels = np.linalg.norm(points - means(instance, result.labels)[result.labels], axis=1)
    price = result.penalised_objective - (of_labels**power).sum()
    expected = 0.5 * lengths.max() if name == "bh-kmeans" else lengths.sum() / 20
    assert price == pytest.approx(expected)


def test_hard_and_soft_constraints_are_one_and_the_same_and_count_once():
    points = np.random.default_rng(7).normal(size=(30, 2))
    must, cannot = [(0, 1), (2, 3)], [(0, 4), (1, 5), (6, 7)]
    soft_must, soft_cannot = ([(*pair, 1.0) for pair in pairs] for pairs in (must, cannot))
    stated = (
        {"must_link": must, "cannot_link": cannot},
        {"soft_must_link": soft_must, "soft_cannot_link": soft_cannot},
        {"must_link": must * 2, "cannot_link": cannot, "soft_must_link": soft_must},
        {"must_link": must, "cannot_link": cannot, "soft_cannot_link": [(4, 0, 1.0)]},
    )
    first, *others = (BHKMeans().run(Instance(points, 3, **each), 2) for each in stated)
    for other in others:
        assert np.array_equal(first.labels, other.labels)
        assert first.penalised_objective == other.penalised_objective
    with pytest.raises(InstanceError, match=r"soft_cannot_link\[1\] has weight 0\.5.*pccc"):
        BHKMeans().run(Instance(points, 2, soft_cannot_link=[(0, 1, 1.0), (1, 2, 0.5)]))


# k-means and COP-k-means


@pytest.mark.parametrize("seed", range(5))
def test_it_comes_to_what_scikit_learn_comes_to(seed):
    points = unconstrained(Instance(np.random.default_rng(seed).normal(size=(100, 3)), 5))
    centres = kmeans_plus_plus(points, np.random.default_rng(seed))
    reference = Reference(5, init=centres, n_init=1, tol=0.0, algorithm="lloyd").fit(points.means)
    found = kmeans(points, centres, 300)
    assert points.cost(found.labels) == pytest.approx(reference.inertia_, rel=1e-12)


# Where both ends come before the middle they go apart, and the middle has no cluster left.
PATH = Instance([[0.0], [5.0], [10.0], [0.1]], 2, cannot_link=[(0, 1), (1, 2)])


def one_pass(instance, order, centres):
    """The labels of one pass over single points, by the letter of the source: constraints are
    closed transitively, and checked with the points assigned before. None at a dead end."""
    block = connected_components(instance.n_points, instance.must_link)
    apart = {(block[i], block[j]) for i, j in instance.cannot_link}
    apart |= {(b, a) for a, b in apart}
    labels = np.full(instance.n_points, -1)
    for i in order:
        distances = ((instance.centred[i] - centres) ** 2).sum(axis=1)
        for c in np.argsort(distances, kind="stable"):
            inside, others = (
                np.flatnonzero(labels == c),
                np.flatnonzero((labels >= 0) & (labels != c)),
            )
            breaks = any((block[i], block[j]) in apart for j in inside)
            if not breaks and not (block[others] == block[i]).any():
                labels[i] = c
                break
        else:
            return None
    return labels


def by_single_points(instance, seed):
    """The labels that the passes end with, None at a dead end; () where a cluster is empty."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(instance.n_points)
    centres = kmeans_plus_plus(unconstrained(instance), rng)
    met = [np.empty(0)]
    for _ in range(100):
        labels = one_pass(instance, order, centres)
        if labels is None or len(np.unique(labels)) < instance.k:
            return None if labels is None else ()
        if np.array_equal(labels, met[-1]):
            break
        met.append(labels)
        centres = means(instance, labels)
    return min(met[1:], key=ExactSquares(instance.points).of)


FEW = {"always": ["pairs"], "n": (6, 12), "k": (2, 3), "d": (2, 3)}


@given(any_instance("pairs", **FEW), st.integers(0, 99))
@example(drawn_instance(Random(230), "pairs", **FEW), 230)  # the last pass is not the cheapest
@example(drawn_instance(Random(320), "pairs", **FEW), 320)
@examples(60)
def test_blocks_at_a_time_are_points_at_a_time(instance, seed):
    result = COPKMeans().run(instance, seed)
    if result.status is HeuristicStatus.INFEASIBLE or len(np.unique(instance.points)) < 9:
        return  # on a grid, centres are equally near
    expected = by_single_points(instance, seed)
    if expected is None:
        assert result.stop is Stop.DEAD_END
    elif len(expected):
        assert Partition(result.labels) == Partition(expected)


def test_a_dead_end_is_no_clustering_and_no_proof_and_more_starts_get_past_it():
    results = [COPKMeans().run(PATH, seed) for seed in range(30)]
    failed = [result for result in results if result.status is HeuristicStatus.NOT_FOUND]
    assert 0 < len(failed) < 30
    for result in failed:
        assert (result.stop, result.n_iterations) == (Stop.DEAD_END, 1)
        assert result.labels is result.infeasibility is None
    assert all(COPKMeans(n_starts=30).run(PATH, seed).keeps_hard_constraints for seed in range(5))


# Post-processing


def agreement(labels, membership):
    """The sum of the memberships, with the clusters named as agrees most."""
    by_cluster = np.zeros((membership.shape[1], membership.shape[1]))
    np.add.at(by_cluster, labels, membership)
    return float(by_cluster[linear_sum_assignment(by_cluster, maximize=True)].sum())


@given(SEEDS, st.sampled_from([1e-300, 1.0, 1e300]))
@examples(80)
def test_no_clustering_agrees_more(seed, scale):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, n_max=6)
    n = instance.n_points
    membership = rng.random((n, instance.k))
    result = PostProcessing(membership=scale * membership).run(instance)
    feasible = feasible_clusterings(instance)
    if not len(feasible):
        assert result.status is HeuristicStatus.INFEASIBLE
        return
    assert result.stop is Stop.CONVERGED
    found = agreement(result.labels, membership)
    best = max(agreement(labels, membership) for labels in feasible)
    assert found <= best + 1e-9
    every = labels_that_keep(instance)
    # Unless a cluster had to be filled, nothing agrees more.
    if membership[np.arange(n), every].sum(axis=1).max() <= best + 1e-9:
        assert found >= best - 1e-9


def test_by_default_it_begins_from_kmeans():
    instance = Instance(np.random.default_rng(0).normal(size=(60, 2)), 3)
    results = [each(n_starts=4).run(instance, 5) for each in (KMeans, PostProcessing)]
    assert np.array_equal(*[result.labels for result in results])


# BCKM


def literal_step(instance, distances, V, plus, minus):
    """(13) as the source states it, of clusters of one to four points: over points, must-links as
    equations, and columns gamma+ and gamma- for the absolute values. S (n, k)."""
    n, k = distances.shape
    unit, zero = np.eye(n * k), np.zeros((n * k, n * k))

    def rows(S_part, plus_part=zero, minus_part=zero):
        return np.hstack([S_part, plus_part[: len(S_part)], minus_part[: len(S_part)]])

    of_point = unit.reshape(n, k, n * k)
    apart = [rows(of_point[i] + of_point[j]) for i, j in instance.cannot_link]
    together = [rows(of_point[i] - of_point[j]) for i, j in instance.must_link]
    sizes = rows(np.tile(np.eye(k), n))
    most, least, one = np.full(k, 4.0), np.ones(k), np.ones(k * len(apart))
    solution = linprog(
        np.concatenate([distances.reshape(-1), plus.reshape(-1), minus.reshape(-1)]),
        A_ub=np.vstack([rows(-unit, -unit), rows(unit, zero, -unit), sizes, -sizes, *apart]),
        b_ub=np.concatenate([-V.reshape(-1), V.reshape(-1), most, -least, one]),
        A_eq=np.vstack([rows(np.kron(np.eye(n), np.ones(k))), *together]),
        b_eq=np.concatenate([np.ones(n), np.zeros(k * len(together))]),
        bounds=[(0, 1)] * (n * k) + [(0, None)] * (2 * n * k),
    )
    return solution.x[: n * k].reshape(n, k)


def by_the_letter(instance, S, rho):
    """Algorithms 1 and 2 over points, from S: the least sum of squares of a binary S."""
    X, best, last_centres = instance.centred, np.inf, np.inf
    for _ in range(100):
        centres = np.linalg.solve(S.T @ S + 1e-4 * np.eye(instance.k), S.T @ X)
        distances = ((X[:, None] - centres) ** 2).sum(axis=2)
        V, plus, minus = np.rint(S), np.full_like(S, rho), np.full_like(S, rho)
        for _ in range(100):
            S_next = literal_step(instance, distances, V, plus, minus)
            if np.abs(S_next - np.rint(S_next)).max() < 1e-6:
                best = min(best, float(ExactSquares(X).of(S_next.argmax(axis=1))))
            V_next = (minus * S_next > plus * (1 - S_next)).astype(float)
            minus[V_next == 0] *= 1.1
            plus[V_next == 1] *= 1.1
            moved = ((S_next - S) ** 2).sum() + ((V_next - V) ** 2).sum()
            S, V = S_next, V_next
            if moved <= 1e-6:
                break
        if ((centres - last_centres) ** 2).sum() <= 1e-9:
            break
        last_centres = centres
    return best


@pytest.mark.parametrize("rho", [0.5, 0.05])
def test_over_blocks_it_is_the_scheme_over_points(rho):
    compared = 0
    for seed in range(12):
        points = np.random.default_rng(seed).normal(size=(8, 2))
        pairs = {"must_link": [(0, 1), (1, 2)], "cannot_link": [(1, 3), (3, 4), (5, 6)]}
        instance = Instance(points, 3, max_size=4, **pairs)
        contraction = contract(instance)
        start = best_kmeans(contraction, np.random.default_rng(seed), RunClock(), 1, 100)
        expected = by_the_letter(instance, np.eye(3)[contraction.lift(start.labels)], rho)
        result = BCKM(rho=rho).run(instance, seed)
        assert result.keeps_hard_constraints
        assert result.stop is Stop.CONVERGED
        if expected < np.inf:  # otherwise the exact programme is on its own
            compared += 1
            assert result.sum_of_squares == pytest.approx(expected, rel=1e-9)
    assert compared >= 6


@given(SEEDS)
@examples(30)
def test_rounding_has_the_least_penalties_and_makes_them_grow(seed):
    S, plus, minus = np.random.default_rng(seed).random((3, 6, 4))

    def penalties(V):
        return plus * np.maximum(0, V - S) + minus * np.maximum(0, S - V)

    V, next_plus, next_minus = bckm.nearest_binary(S, plus, minus)
    assert np.isin(V, (0, 1)).all()
    assert (penalties(V) <= penalties(1 - V)).all()
    assert next_plus == pytest.approx(np.where(V == 1, 1.1 * plus, plus))
    assert next_minus == pytest.approx(np.where(V == 0, 1.1 * minus, minus))


def test_an_exact_programme_finishes_where_no_vertex_is_binary(monkeypatch):
    """Five points at the centre of one cluster, in an odd cycle of cannot-links: the relaxation
    has half of each in that cluster, and nothing else is as cheap."""
    monkeypatch.setattr(bckm, "MAX_STEPS", 1)
    points = 0.01 * np.random.default_rng(0).normal(size=(25, 2))
    points[5:15, 0] += 100.0
    points[15:, 0] -= 110.0
    instance = Instance(points, 3, cannot_link=np.argwhere(np.triu(cycle(5))))
    result = BCKM(rho=1e-3, max_iterations=1).run(instance)
    assert result.n_iterations == 3  # of the pump, of the exact programme, of the pump from there
    assert result.keeps_hard_constraints
    # Two of the five are with the nearer group, which is as many as an odd cycle allows.
    sizes = [(result.labels[:5] == result.labels[i]).sum() for i in (5, 15)]
    assert sizes == [2, 1]
    assert BCKM(rho=1e308).run(instance).keeps_hard_constraints


def test_the_clustering_of_the_exact_programme_stays_if_the_time_ends_with_it(monkeypatch):
    has_ended, solve = [], bckm._PenaltyMethod.solve_exactly

    def solve_last(search: bckm._PenaltyMethod) -> None:
        solve(search)
        has_ended.append(search.labels is not None)

    monkeypatch.setattr(bckm._PenaltyMethod, "_pump", lambda search, S: S)  # no binary vertex
    monkeypatch.setattr(bckm._PenaltyMethod, "solve_exactly", solve_last)
    instance = Instance(np.random.default_rng(0).normal(size=(12, 2)), 3, cannot_link=[(0, 1)])
    result = BCKM().run(instance, 1, stop=lambda: bool(has_ended))
    assert has_ended == [True]
    assert result.keeps_hard_constraints
    assert result.stop is Stop.INTERRUPTED
