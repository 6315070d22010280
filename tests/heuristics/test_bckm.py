"""BCKM: over blocks it is the scheme of the paper over points; an exact programme finishes."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from heuristics import bckm
from heuristics.bckm import BCKM
from heuristics.kmeans import best_kmeans
from heuristics.method import RunClock
from heuristics.result import Stop
from sdpbb.problem import Instance, contract
from tests.enumeration import sums_of_squares
from tests.examples import examples
from tests.graphs import cycle, random_graph

SEEDS = st.integers(0, 2**32 - 1)


def edges_of(adjacency: np.ndarray) -> np.ndarray:
    return np.argwhere(np.triu(adjacency)).astype(np.intp)


def literal_step(instance, distances, V, plus, minus, least, most):
    """(13) as the source states it: over points, must-links as equations, and columns gamma+ and
    gamma- for the absolute values; everything (n, k). Its minimum, and S."""
    n, k = distances.shape
    unit, zero = np.eye(n * k), np.zeros((n * k, n * k))

    def rows(S_part, plus_part=zero, minus_part=zero):
        count = len(S_part)
        return np.hstack([S_part, plus_part[:count], minus_part[:count]])

    def of_point(i):
        return unit[i * k : i * k + k]

    apart = [rows(of_point(i) + of_point(j)) for i, j in instance.cannot_link]
    together = [rows(of_point(i) - of_point(j)) for i, j in instance.must_link]
    sizes = rows(np.tile(np.eye(k), n))
    solution = linprog(
        np.concatenate([distances.reshape(-1), plus.reshape(-1), minus.reshape(-1)]),
        A_ub=np.vstack([rows(-unit, -unit), rows(unit, zero, -unit), sizes, -sizes, *apart]),
        b_ub=np.concatenate([-V.reshape(-1), V.reshape(-1), most, -least, np.ones(k * len(apart))]),
        A_eq=np.vstack([rows(np.kron(np.eye(n), np.ones(k))), *together]),
        b_eq=np.concatenate([np.ones(n), np.zeros(k * len(together))]),
        bounds=[(0, 1)] * (n * k) + [(0, None)] * (2 * n * k),
    )
    assert solution.success
    return solution.fun, solution.x[: n * k].reshape(n, k)


def instance_with_a_block(rng: np.random.Generator) -> Instance:
    """Nothing is forced together by the cannot-links, which have no clique of three."""
    pairs = {"must_link": [(0, 1), (1, 2)], "cannot_link": [(1, 3), (3, 4), (5, 6)]}
    return Instance(rng.normal(size=(8, 2)), 3, max_size=4, **pairs)


def squared_distances(points, centres):
    return ((points[:, None] - centres) ** 2).sum(axis=2)


def by_the_letter(instance, S, rho, least, most):
    """Algorithms 1 and 2 over points, from S: the least sum of squares of a binary S."""
    X, best, last_centres = instance.centred, np.inf, None
    for _ in range(100):
        centres = np.linalg.solve(S.T @ S + 1e-4 * np.eye(instance.k), S.T @ X)
        distances = squared_distances(X, centres)
        V, plus, minus = np.rint(S), np.full_like(S, rho), np.full_like(S, rho)
        for _ in range(100):
            _, S_next = literal_step(instance, distances, V, plus, minus, least, most)
            if np.abs(S_next - np.rint(S_next)).max() < 1e-6:
                labels = S_next.argmax(axis=1)
                best = min(best, float(sums_of_squares(X, labels[None])[0]))
            V_next = (minus * S_next > plus * (1 - S_next)).astype(float)
            minus[V_next == 0] *= 1.1
            plus[V_next == 1] *= 1.1
            moved = ((S_next - S) ** 2).sum() + ((V_next - V) ** 2).sum()
            S, V = S_next, V_next
            if moved <= 1e-6:
                break
        if last_centres is not None and ((centres - last_centres) ** 2).sum() <= 1e-9:
            break
        last_centres = centres
    return best


@pytest.mark.parametrize("rho", [0.5, 0.05])
def test_over_blocks_it_is_the_scheme_over_points(rho):
    compared = 0
    for seed in range(12):
        instance = instance_with_a_block(np.random.default_rng(seed))
        contraction = contract(instance)
        start = best_kmeans(contraction, np.random.default_rng(seed), RunClock(), 1, 100)
        S = np.eye(3)[contraction.lift(start.labels)]
        expected = by_the_letter(instance, S, rho, np.ones(3), np.full(3, 4))
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


def test_any_penalty_ends_with_a_clustering():
    rng = np.random.default_rng(1)
    pairs = edges_of(random_graph(rng, 12, 0.4))
    instance = Instance(rng.normal(size=(12, 2)), 5, cannot_link=pairs)
    for rho in (1e-300, 1e308):
        assert BCKM(rho=rho).run(instance).keeps_hard_constraints


def test_an_exact_programme_finishes_where_no_vertex_is_binary(monkeypatch):
    """Five points at the centre of one cluster, in an odd cycle of cannot-links: the relaxation
    has half of each in that cluster, and nothing else is as cheap."""
    monkeypatch.setattr(bckm, "MAX_STEPS", 1)
    rng = np.random.default_rng(0)
    points = 0.01 * rng.normal(size=(25, 2))
    points[5:15, 0] += 100.0
    points[15:, 0] -= 110.0
    instance = Instance(points, 3, cannot_link=edges_of(cycle(5)))
    result = BCKM(rho=1e-3, max_iterations=1).run(instance)
    assert result.n_iterations == 3  # of the pump, of the exact programme, of the pump from there
    assert result.keeps_hard_constraints
    # No more than two of the five can be in any cluster; the nearest two take two, and the farthest
    # one.
    assert np.bincount(result.labels[:5]).tolist() in [
        list(p) for p in set(permutations((2, 2, 1)))
    ]
    assert len(np.unique(result.labels[5:15])) == len(np.unique(result.labels[15:])) == 1
    assert (result.labels[:5] == result.labels[5]).sum() == 2
    assert (result.labels[:5] == result.labels[15]).sum() == 1


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("scale", [0.0, 1e-90, 1.0, 1e90])
def test_degenerate_instances(k, scale):
    points = scale * np.array([[0.0], [0.0], [1.0], [2.0], [7.0]])
    result = BCKM().run(Instance(points, k))
    assert result.keeps_hard_constraints
