"""Conic solvers that CVXPY finds on this machine.

Their values and solutions prove nothing: they are for comparison and guidance. Dual values prove a
bound once the dual function is evaluated at them.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from sdpbb.errors import BackendFailure, ParameterError

if TYPE_CHECKING:
    import cvxpy

# Tolerances that both solvers reach on the relaxation. With 1e-7, SCS needs 17,000 iterations
# instead of 1,450 for 75 blocks without cuts, and bounds differ by 2e-6.
OPTIONS: dict[str, dict[str, Any]] = {
    "CLARABEL": {
        "tol_gap_abs": 1e-7,
        "tol_gap_rel": 1e-7,
        "tol_feas": 1e-7,
        "max_threads": 1,
        # Accept a solution that stalls: the dual function is evaluated anyway.
        "accept_unknown": True,
    },
    "SCS": {"eps_abs": 1e-6, "eps_rel": 1e-6, "max_iters": 20_000},
}


def conic_solvers() -> list[str]:
    """Return the names of the installed solvers of semidefinite programmes, in lower case."""
    import cvxpy as cp

    Z = cp.Variable((2, 2), PSD=True)
    trial, found = cp.Problem(cp.Minimize(cp.trace(Z))), []
    for name in cp.installed_solvers():
        try:
            trial.get_problem_data(name)
        except cp.SolverError:  # a solver of other programmes
            continue
        found.append(name.lower())
    return found


def require(solver: str, *others: str) -> None:
    """Check that CVXPY finds a solver of semidefinite programmes, or that it is among the others.

    Raises
    ------
    ParameterError
        If not.
    """
    expected = [*others, *conic_solvers()]
    if solver.lower() not in expected:
        known = ", ".join(expected)
        raise ParameterError(f"solver = {solver!r}: CVXPY finds none; expected one of {known}")


def solve(problem: cvxpy.Problem, solver: str, **options: Any) -> None:
    """Solve a problem by a solver of the given name, in one thread of BLAS.

    options : of the solver; they override `OPTIONS`

    Raises
    ------
    ParameterError
        If CVXPY does not find the solver.
    BackendFailure
        If the solver fails, or reports an unbounded problem: values of relaxations are bounded.
    """
    if not isinstance(solver, str):
        kind = type(solver).__name__
        raise ParameterError(f"solver: of type {kind}; expected a name such as 'scs'")
    name = solver.upper()
    # A solver may load another BLAS, which earlier limits do not cover.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about inaccurate solutions; the status reports them
        try:
            problem.solve(solver=name, **(OPTIONS.get(name, {}) | options))
        except MemoryError:
            raise
        except Exception as error:  # solvers raise any exception
            require(solver)
            detail = " ".join(str(error).split())
            raise BackendFailure(f"{solver}: {type(error).__name__}: {detail}") from error
    if problem.value is None or problem.value == -float("inf"):
        raise BackendFailure(f"{solver}: {problem.status}")
