"""Conic solvers that CVXPY finds."""

import sys

import cvxpy as cp
import numpy as np
import pytest

from sdpbb.errors import BackendFailure, ParameterError
from sdpbb.runtime.backends.conic import conic_solvers, require, solve


def problem() -> cp.Problem:
    Z = cp.Variable((2, 2), PSD=True)
    return cp.Problem(cp.Minimize(cp.trace(Z)), [Z[0, 1] == 3.0])


def test_solvers_of_semidefinite_programmes_are_found_and_no_others():
    found = conic_solvers()
    assert {"clarabel", "scs"} <= {*found}
    assert not {"osqp", "highs", "scipy"} & {*found}
    for solver in found:
        require(solver)


def test_each_of_them_solves():
    for solver in conic_solvers():
        asked = problem()
        solve(asked, solver)
        assert asked.value == pytest.approx(6.0, abs=1e-3), solver


def test_a_solver_that_is_not_there_is_named(monkeypatch):
    with pytest.raises(ParameterError, match=r"^solver = 'osqp': CVXPY finds none; .* of clarabel"):
        require("osqp")
    with pytest.raises(ParameterError, match=r"expected one of admm, clarabel"):
        require("osqp", "admm")
    require("admm", "admm")
    monkeypatch.setitem(sys.modules, "scs", None)
    with pytest.raises(ParameterError, match=r"^solver = 'scs': CVXPY finds none; .* of clarabel"):
        require("scs")
    with pytest.raises(ParameterError, match=r"^solver = 'scs': CVXPY finds none"):
        solve(problem(), "scs")


def test_an_exception_of_a_solver_is_a_failure_in_one_line(monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr("scs.SCS", broken)
    with pytest.raises(BackendFailure, match=r"^scs: ZeroDivisionError: by zero$"):
        solve(problem(), "scs")


def test_an_unbounded_problem_is_a_failure():
    asked = cp.Problem(cp.Minimize(cp.trace(-cp.Variable((2, 2), PSD=True))))
    with pytest.raises(BackendFailure, match=r"^clarabel: unbounded"):
        solve(asked, "clarabel")


def test_options_of_the_caller_come_first():
    asked = problem()
    solve(asked, "scs", max_iters=1)
    assert asked.status == "optimal_inaccurate"
    assert np.isfinite(asked.value)
