"""Reference solves of semidefinite programmes through CVXPY: to compare with, never to prune by."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import BackendFailure, BackendUnavailable

ConicSolver = Literal["clarabel", "scs"]

# What each reaches reliably on this relaxation: its rows Z sizes = 1 leave the dual unbounded along
# one direction, which costs interior-point methods their last digits.
OPTIONS: dict[str, dict[str, Any]] = {
    "clarabel": {"tol_gap_abs": 1e-7, "tol_gap_rel": 1e-7, "tol_feas": 1e-7},
    "scs": {"eps": 1e-7, "max_iters": 100_000},
}


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """What a conic solver says: its value and Z (m, m), and whether it reached its tolerances. The
    value proves nothing."""

    value: float
    Z: NDArray[np.float64]
    accurate: bool


def solve_peng_wei(
    gram: NDArray[np.float64],
    sizes: NDArray[np.float64],
    k: int,
    cannot_link: NDArray[np.intp],
    cuts: list[tuple[NDArray[np.float64], float]] | None = None,
    solver: ConicSolver = "clarabel",
) -> ConicSolution:
    """The contracted Peng-Wei relaxation (PC-SOS-SDP, equation 7) as stated, with cuts.

    maximise    <gram, Z>
    subject to  Z sizes = 1,  <diag(sizes), Z> = k,  Z_ij = 0 for cannot-links,
                Z >= 0 (entrywise and semidefinite),  <B, Z> >= b for (B, b) in cuts

    Parameters
    ----------
    gram : (m, m) inner products of the block sums, sizes_i sizes_j <mean_i, mean_j>
    sizes : (m,)
    cuts : symmetric matrices (m, m) and right-hand sides

    Raises
    ------
    BackendUnavailable, BackendFailure
    """
    try:
        import cvxpy as cp
    except ImportError as error:
        raise BackendUnavailable(f"cvxpy cannot be imported: {error}") from None
    m = len(sizes)
    scale = float(np.abs(gram).max()) or 1.0
    Z = cp.Variable((m, m), PSD=True)
    constraints: list[Any] = [Z @ sizes == 1, sizes @ cp.diag(Z) == k, Z >= 0]
    if len(cannot_link):
        i, j = np.asarray(cannot_link).T
        constraints.append(Z[i, j] == 0)
    constraints += [cp.sum(cp.multiply(B, Z)) >= b for B, b in cuts or []]
    problem = cp.Problem(cp.Maximize(cp.sum(cp.multiply(gram / scale, Z))), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CVXPY's "may be inaccurate" is told by the solution
        try:
            problem.solve(solver=solver.upper(), **OPTIONS[solver])
        except cp.SolverError as error:
            raise BackendFailure(f"{solver}: {error}") from None
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise BackendFailure(f"{solver} ended with status {problem.status}")
    accurate = problem.status == cp.OPTIMAL
    return ConicSolution(float(problem.value) * scale, np.asarray(Z.value), accurate)
