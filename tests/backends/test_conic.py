import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from sdpbb.backends import conic
from sdpbb.backends.conic import require, solve_peng_wei
from sdpbb.errors import BackendFailure, BackendUnavailable

SOLVERS = ("clarabel", "scs")


def programme(seed: int = 0, m: int = 8) -> dict:
    """A programme with a cut, Z_00 >= Z_01 + Z_02 - Z_12, and two cannot-links."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, size=m).astype(float)
    sums = sizes[:, None] * rng.normal(size=(m, 2))
    sums -= sizes[:, None] * sums.sum(axis=0) / sizes.sum()
    cut = np.zeros((m, m))
    cut[0, 0], cut[0, 1], cut[0, 2], cut[1, 2] = 1, -1, -1, 1
    return {
        "gram": sums @ sums.T,
        "weights": sizes,
        "k": 3,
        "cannot_link": np.array([[0, 3], [2, 5]]),
        "cuts": csr_array(cut.reshape(1, -1)),
        "rhs": np.zeros(1),
    }


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_the_solution_is_feasible_and_the_dual_values_complement_it(solver, seed):
    given = programme(seed)
    sizes = given["weights"]
    found = solve_peng_wei(**given, solver=solver)
    Z, N = found.Z, found.N
    assert found.accurate
    assert not found.infeasible
    assert found.iterations > 0
    np.testing.assert_allclose(Z @ sizes, 1, atol=1e-5)
    assert np.diag(Z) @ sizes == pytest.approx(3, abs=1e-5)
    assert Z.min() > -1e-5
    assert np.linalg.eigvalsh(Z).min() > -1e-5
    assert max(abs(Z[0, 3]), abs(Z[2, 5])) < 1e-5
    assert found.value == pytest.approx((given["gram"] * Z).sum(), rel=1e-4)
    free = np.ones_like(N, dtype=bool)
    free[[0, 3, 2, 5], [3, 0, 5, 2]] = False
    unit = np.abs(given["gram"]).max()
    np.testing.assert_array_equal(N, N.T)
    assert N[free].min() > -1e-5 * unit
    assert (N * Z).sum() == pytest.approx(0, abs=1e-3 * unit)
    slack = given["cuts"] @ Z.reshape(-1)
    assert found.multipliers.min() > -1e-5 * unit
    assert found.multipliers @ slack == pytest.approx(0, abs=1e-3 * unit)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_the_dual_function_has_the_same_value(solver, seed):
    """max <gram, Z> = <M, E> / n + the k - 1 largest eigenvalues of M on the complement of e, with
    the dual values added to gram: in the coordinates of Y, computed here from the beginning."""
    given = programme(seed)
    found = solve_peng_wei(**given, solver=solver)
    m, roots = len(given["weights"]), np.sqrt(given["weights"])
    cut = given["cuts"].toarray().reshape(m, m)
    M = given["gram"] + found.N + found.multipliers[0] * 0.5 * (cut + cut.T)
    M = M / roots[:, None] / roots
    u = roots / np.linalg.norm(roots)
    P = np.eye(m) - np.outer(u, u)
    restricted = np.sort(np.linalg.eigvalsh(P @ M @ P - 1e6 * np.outer(u, u)))
    assert found.value == pytest.approx(u @ M @ u + restricted[-2:].sum(), rel=1e-5)


def test_the_solvers_agree():
    values = [solve_peng_wei(**programme(5), solver=solver).value for solver in SOLVERS]
    assert values[0] == pytest.approx(values[1], rel=1e-5)


def test_one_cluster_has_one_solution():
    given = programme() | {"k": 1, "cannot_link": np.empty((0, 2), int), "cuts": None, "rhs": None}
    found = solve_peng_wei(**given)
    n = given["weights"].sum()
    np.testing.assert_allclose(found.Z, 1 / n, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_kernel_is_one(solver):
    V = np.zeros((8, 1))
    roots = np.sqrt(programme()["weights"])
    V[1, 0], V[6, 0] = 1 / roots[1], -1 / roots[6]
    found = solve_peng_wei(**programme(), kernel=V / np.linalg.norm(V), solver=solver)
    Y = roots[:, None] * found.Z * roots
    np.testing.assert_allclose(Y @ V, 0, atol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_solution_comes_with_a_direction(solver):
    """Four blocks that are all apart, in three clusters: <1 - I, Z> = 0 and Z sizes = 1 leave
    Z = diag(1 / sizes), of trace 4."""
    sizes = np.ones(4)
    pairs = np.argwhere(np.triu(np.ones((4, 4), bool), 1))
    found = solve_peng_wei(np.eye(4), sizes, 3, pairs, solver=solver)
    assert found.infeasible
    assert found.Z is None
    assert np.isnan(found.value)
    # The dual function at step * N alone: <gram, Z> is at most that, so it falls without end.
    u = np.full(4, 0.5)
    P = np.eye(4) - np.outer(u, u)
    upper = [
        u @ (step * found.N) @ u
        + np.sort(np.linalg.eigvalsh(P @ (step * found.N) @ P - 1e9 * np.outer(u, u)))[-2:].sum()
        for step in (1.0, 10.0, 100.0)
    ]
    assert 0 > upper[0] > upper[1] > upper[2]


@pytest.mark.parametrize(
    ("solver", "options"),
    [("clarabel", {"max_iter": 2}), ("scs", {"max_iters": 3, "eps_abs": 1e-9, "eps_rel": 1e-9})],
)
def test_dual_values_of_a_solver_that_gave_up_are_kept(solver, options, monkeypatch):
    monkeypatch.setitem(conic.OPTIONS, solver, options)
    found = solve_peng_wei(**programme(), solver=solver)
    assert not found.accurate
    assert np.isfinite(found.N).all()
    assert np.isfinite(found.multipliers).all()
    assert found.N.any()


def ending(status: str, duals: float):
    """A solver in Clarabel's place that ends so."""

    def solver(P, q, A, b, cones, settings):
        found = SimpleNamespace(
            status=status, obj_val=1.0, x=np.ones(len(q)), z=np.full(len(b), duals), iterations=1
        )
        return SimpleNamespace(solve=lambda: found)

    return solver


@pytest.mark.parametrize(
    ("status", "duals"), [("NumericalError", np.nan), ("Solved", np.inf), ("DualInfeasible", 1.0)]
)
def test_what_is_no_answer_is_a_failure(status, duals, monkeypatch):
    monkeypatch.setattr("clarabel.DefaultSolver", ending(status, duals))
    with pytest.raises(BackendFailure, match=f"clarabel ended with status {status}"):
        solve_peng_wei(**programme())


def test_dual_values_of_a_solver_that_fails_count(monkeypatch):
    monkeypatch.setattr("clarabel.DefaultSolver", ending("NumericalError", 1.0))
    found = solve_peng_wei(**programme())
    assert found.Z is None
    assert not found.accurate
    assert found.N.any()


def test_an_exception_is_a_failure(monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr("scs.SCS", broken)
    with pytest.raises(BackendFailure, match=r"^scs: ZeroDivisionError: by zero$"):
        solve_peng_wei(**programme(), solver="scs")


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_that_is_not_installed_is_named(solver, monkeypatch):
    monkeypatch.setitem(sys.modules, solver, None)
    with pytest.raises(BackendUnavailable, match=f"^{solver} cannot be imported"):
        require(solver)
    with pytest.raises(BackendUnavailable, match=f"^{solver} cannot be imported"):
        solve_peng_wei(**programme(), solver=solver)
