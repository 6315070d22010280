"""Semidefinite programmes by established conic solvers, through CVXPY.

Their values and solutions are to compare with and to steer by, never to prune by; their dual
values prove something only once the dual function is evaluated at them.
"""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sdpbb.errors import BackendFailure, BackendUnavailable

ConicSolver = Literal["clarabel", "scs"]

# What each reaches reliably on this relaxation: the set of its solutions often has no interior, and
# its dual none that is bounded, which costs interior-point methods their last digits.
OPTIONS: dict[str, dict[str, Any]] = {
    "clarabel": {"tol_gap_abs": 1e-7, "tol_gap_rel": 1e-7, "tol_feas": 1e-7},
    "scs": {"eps_abs": 1e-7, "eps_rel": 1e-7, "max_iters": 20_000},
}


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """What a conic solver says. None of it proves anything.

    value : of the objective, in units of gram; nan where there is none
    Z : (m, m) symmetric, or None where the solver ended without
    N : (m, m) symmetric dual values of Z_ij >= 0, 0 on the diagonal, of either sign on cannot-links
    multipliers : (number of cuts,) of the cuts
    accurate : whether the solver reached its tolerances
    infeasible : whether it says that the programme has no solution. N and multipliers are then a
        direction in which the dual function grows without end
    iterations : of the solver
    """

    value: float
    Z: NDArray[np.float64] | None
    N: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    accurate: bool
    infeasible: bool
    iterations: int


def require(solver: str) -> None:
    """Find out whether a solver can be used.

    Raises
    ------
    BackendUnavailable
    """
    for name in ("cvxpy", solver):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise BackendUnavailable(
                f"{solver}: {name} cannot be imported ({error}); expected it to be installed, as "
                "sdpbb requires"
            ) from None


def solve_peng_wei(
    gram: NDArray[np.float64],
    sizes: NDArray[np.float64],
    k: int,
    cannot_link: NDArray[np.integer],
    cuts: sp.csr_array | None = None,
    rhs: NDArray[np.float64] | None = None,
    kernel: NDArray[np.float64] | None = None,
    solver: ConicSolver = "clarabel",
) -> ConicSolution:
    """The contracted Peng-Wei relaxation (PC-SOS-SDP, equation 7), with cuts.

    maximise    <gram, Z>
    subject to  Z sizes = 1,  <diag(sizes), Z> = k,  Z_ij = 0 for cannot-links,
                Z_ij >= 0 for all others,  Z semidefinite,  cuts vec(Z) >= rhs

    It is stated to the solver in Y = D^1/2 Z D^1/2, D = diag(sizes), with the objective and each
    cut divided by their norms; what comes back is in Z again. (Z_ii >= 0 follows from the rest.)
    With a kernel V, Y V = 0 besides.

    The solver runs in one thread, and is not interrupted: an iteration of Clarabel factorises a
    dense matrix of order m (m + 1) / 2.

    Parameters
    ----------
    gram : (m, m) inner products of the block sums, sizes_i sizes_j <mean_i, mean_j>
    sizes : (m,)
    cannot_link : (p, 2) pairs of different blocks
    cuts : (number of cuts, m * m) in the entries i * m + j of Z
    rhs : (number of cuts,)
    kernel : (m, p)

    Raises
    ------
    BackendUnavailable
        If CVXPY or the solver is not installed.
    BackendFailure
        If the solver ends without dual values that are numbers, or says that the objective grows
        without end, which it cannot.
    """
    require(solver)
    import cvxpy as cp

    m = len(sizes)
    roots = np.sqrt(sizes)
    inverse = 1.0 / roots
    K = inverse[:, None] * gram * inverse
    unit = float(np.linalg.norm(K)) or 1.0
    A, b, norms = _scaled(cuts, rhs, inverse)
    forbidden = np.zeros((m, m), dtype=bool)
    forbidden[tuple(np.asarray(cannot_link, dtype=np.intp).reshape(-1, 2).T)] = True
    forbidden |= forbidden.T

    Y = cp.Variable((m, m), symmetric=True)
    flat = cp.vec(Y, order="C")
    free, fixed = np.nonzero(np.triu(~forbidden, 1)), np.nonzero(np.triu(forbidden))
    nonnegative = _entries(free, m) @ flat >= 0.0 if len(free[0]) else None
    zero = _entries(fixed, m) @ flat == 0.0 if len(fixed[0]) else None
    valid = A @ flat >= b if A.shape[0] else None
    always = [Y >> 0, Y @ roots == roots, cp.trace(Y) == k]
    if kernel is not None and kernel.shape[1]:
        always.append(Y @ kernel == 0.0)
    sometimes = [constraint for constraint in (nonnegative, zero, valid) if constraint is not None]
    problem = cp.Problem(cp.Minimize(-cp.sum(cp.multiply(K / unit, Y))), [*always, *sometimes])
    found = _solved(problem, solver)

    def dual(constraint: Any, count: int) -> NDArray[np.float64]:
        if constraint is None:
            return np.zeros(count)
        values = np.asarray(found.dual_vars.get(constraint.id, np.nan), dtype=np.float64)
        return unit * values.reshape(-1)

    N = np.zeros((m, m))
    N[free], N[fixed] = 0.5 * dual(nonnegative, 0), -0.5 * dual(zero, 0)
    N = (N + N.T) * np.outer(roots, roots)
    multipliers = dual(valid, 0) / norms
    if not (np.isfinite(N).all() and np.isfinite(multipliers).all()):
        raise BackendFailure(f"{solver} ended with status {found.status} and no dual values")
    values = found.primal_vars.get(Y.id)
    if values is not None and not np.isfinite(values).all():
        values = None
    return ConicSolution(
        value=np.nan if values is None else -float(found.opt_val) * unit,
        Z=None if values is None else inverse[:, None] * np.asarray(values) * inverse,
        N=N,
        multipliers=multipliers,
        accurate=found.status in (cp.OPTIMAL, cp.INFEASIBLE),
        infeasible=found.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE),
        iterations=int(found.attr.get("num_iters") or 0),
    )


def _solved(problem: Any, solver: ConicSolver) -> Any:
    """CVXPY's solution of a problem, with the dual values that the solver ended with, whatever
    status it gives them (`Problem.solve` drops those of solvers that give up)."""
    import cvxpy as cp

    name, options = solver.upper(), dict(OPTIONS[solver])
    if solver == "clarabel":
        settings = importlib.import_module("clarabel").DefaultSettings()
        if hasattr(settings, "max_threads"):  # older ones have no threads
            options["max_threads"] = 1
    # A solver comes with a BLAS of its own, which limits that were set before do not know of.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # CVXPY's "may be inaccurate" is told by the solution
        try:
            data, chain, inverse_data = problem.get_problem_data(name, solver_opts=options)
            raw = chain.solve_via_data(
                problem, data, warm_start=False, verbose=False, solver_opts=options
            )
            found = chain.invert(raw, inverse_data)
        except MemoryError:
            raise
        except Exception as error:  # whatever comes out of the solvers' own code
            detail = " ".join(str(error).split())
            raise BackendFailure(f"{solver}: {type(error).__name__}: {detail}") from error
    if found.status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE) or not found.dual_vars:
        raise BackendFailure(f"{solver} ended with status {found.status} and no dual values")
    return found


def _scaled(
    cuts: sp.csr_array | None, rhs: NDArray[np.float64] | None, inverse: NDArray[np.float64]
) -> tuple[sp.csr_array, NDArray[np.float64], NDArray[np.float64]]:
    """Cuts on Z as cuts on Y of norm 1, their right-hand sides, and the norms."""
    m = len(inverse)
    if cuts is None or rhs is None or cuts.shape[0] == 0:
        return sp.csr_array((0, m * m)), np.zeros(0), np.ones(0)
    A = sp.csr_array(cuts @ sp.diags_array(np.outer(inverse, inverse).reshape(-1)))
    norms = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).reshape(-1))
    norms[norms == 0.0] = 1.0
    return sp.csr_array(sp.diags_array(1.0 / norms) @ A), rhs / norms, norms


def _entries(pairs: tuple[NDArray[np.intp], ...], m: int) -> sp.csr_array:
    """The matrix that takes the entries of these pairs from all m * m."""
    i, j = pairs
    return sp.csr_array((np.ones(len(i)), (np.arange(len(i)), i * m + j)), shape=(len(i), m * m))
