"""Peng-Wei relaxation, solved by Clarabel or SCS.

Their values and solutions are to compare with and to steer by, never to prune by; their dual
values prove something only once the dual function is evaluated at them.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sdpbb.errors import BackendFailure, BackendUnavailable

ConicSolver = Literal["clarabel", "scs"]

# Tolerances that the solvers reach reliably on this relaxation: its feasible set often has no
# interior, and its set of dual solutions is unbounded, which costs interior-point methods digits.
OPTIONS: dict[str, dict[str, Any]] = {
    "clarabel": {"tol_gap_abs": 1e-7, "tol_gap_rel": 1e-7, "tol_feas": 1e-7},
    "scs": {"eps_abs": 1e-7, "eps_rel": 1e-7, "max_iters": 20_000},
}


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """Solution of the relaxation as a conic solver returns it: nothing of it is proven.

    value : objective value in units of gram; nan where there is no solution
    Z : (m, m) symmetric, or None where the solver ended without a solution
    N : (m, m) symmetric dual values of Z_ij >= 0, 0 on the diagonal, of either sign on cannot-links
    multipliers : (number of cuts,) dual values of the cuts
    accurate : whether the solver reached its tolerances
    infeasible : whether it reports that the programme has no solution. N and multipliers are then a
        direction in which the dual function grows without bound
    iterations : iterations of the solver
    """

    value: float
    Z: NDArray[np.float64] | None
    N: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    accurate: bool
    infeasible: bool
    iterations: int


def require(solver: str) -> Any:
    """Return the module of a solver.

    Raises
    ------
    BackendUnavailable
        If it cannot be imported.
    """
    try:
        return importlib.import_module(solver)
    except ImportError as error:
        raise BackendUnavailable(
            f"{solver} cannot be imported ({error}); expected it to be installed, as sdpbb requires"
        ) from None


def solve_peng_wei(
    gram: NDArray[np.float64],
    weights: NDArray[np.float64],
    k: int,
    cannot_link: NDArray[np.integer],
    cuts: sp.csr_array | None = None,
    rhs: NDArray[np.float64] | None = None,
    kernel: NDArray[np.float64] | None = None,
    solver: ConicSolver = "clarabel",
) -> ConicSolution:
    """Solve the contracted Peng-Wei relaxation (PC-SOS-SDP, equation 7) with cuts.

    maximise    <gram, Z>
    subject to  Z weights = 1,  <diag(weights), Z> = k,  Z_ij = 0 for cannot-links,
                Z_ij >= 0 for all others,  Z semidefinite,  cuts vec(Z) >= rhs

    It is passed to the solver in Y = D^1/2 Z D^1/2, D = diag(weights), with the objective and each
    cut divided by their norms; the solution is returned in Z again. (Z_ii >= 0 follows from the
    rest.) With a kernel V, Y V = 0 is added.

    The solver runs in one thread, and is not interrupted: an iteration of Clarabel factorises a
    dense matrix of order m (m + 1) / 2.

    Parameters
    ----------
    gram : (m, m) inner products of the block sums, sizes_i sizes_j <mean_i, mean_j>
    weights : (m,)
    cannot_link : (p, 2) pairs of different blocks
    cuts : (number of cuts, m * m) in the entries i * m + j of Z
    rhs : (number of cuts,)
    kernel : (m, p)

    Raises
    ------
    BackendUnavailable
        If the solver is not installed.
    BackendFailure
        If the solver ends without finite dual values, or reports that the objective is unbounded,
        which is impossible.
    """
    m = len(weights)
    roots = np.sqrt(weights)
    inverse = 1.0 / roots
    K = inverse[:, None] * gram * inverse
    unit = float(np.linalg.norm(K)) or 1.0
    scaled_cuts, scaled_rhs, norms = _scale_cuts(cuts, rhs, inverse)
    forbidden = np.zeros((m, m), dtype=bool)
    forbidden[tuple(np.asarray(cannot_link, dtype=np.intp).reshape(-1, 2).T)] = True
    forbidden |= forbidden.T
    free, fixed = np.nonzero(np.triu(~forbidden, 1)), np.nonzero(np.triu(forbidden))
    orthogonal = [] if kernel is None else [_product(column) for column in kernel.T]
    trace = sp.csr_array(np.eye(m).reshape(1, -1))
    programme = _Programme.of(
        objective=-(K / unit),
        equations=[_product(roots), trace, *orthogonal, _entries(fixed, m)],
        right=np.concatenate([roots, [k], np.zeros(m * len(orthogonal) + len(fixed[0]))]),
        inequalities=[_entries(free, m), scaled_cuts],
        least=np.concatenate([np.zeros(len(free[0])), scaled_rhs]),
    )
    found = _solve(programme, solver)
    of_fixed = found.z[programme.n_equations - len(fixed[0]) : programme.n_equations]
    of_free, of_cuts = np.split(found.z[programme.n_equations :], [len(free[0])])
    N = np.zeros((m, m))
    N[free], N[fixed] = 0.5 * unit * of_free, -0.5 * unit * of_fixed
    Z = None
    if found.x is not None and np.isfinite(found.x).all():
        Y = np.zeros((m, m))
        Y[np.triu_indices(m)] = found.x
        Z = inverse[:, None] * (Y + np.triu(Y, 1).T) * inverse
    return ConicSolution(
        value=np.nan if Z is None else -found.objective * unit,
        Z=Z,
        N=(N + N.T) * np.outer(roots, roots),
        multipliers=unit * of_cuts / norms,
        accurate=found.accurate,
        infeasible=found.infeasible,
        iterations=found.iterations,
    )


@dataclass(frozen=True, eq=False)
class _Programme:
    """Semidefinite programme in the form of both solvers.

    minimise    <q, x>
    subject to  A x + s = b,  s in {0}^n_equations x R_+^n_inequalities

    and the symmetric matrix of order m whose upper triangle, row by row, is x is semidefinite.
    """

    m: int
    q: NDArray[np.float64]
    A: sp.csr_array
    b: NDArray[np.float64]
    n_equations: int
    n_inequalities: int

    @classmethod
    def of(
        cls,
        objective: NDArray[np.float64],
        equations: list[sp.csr_array],
        right: NDArray[np.float64],
        inequalities: list[sp.csr_array],
        least: NDArray[np.float64],
    ) -> _Programme:
        """Return the programme min <objective, Y> with equations and inequalities.

        They are vec(Y) = right and vec(Y) >= least, all of them in the m * m entries of Y, row by
        row.
        """
        m = len(objective)
        i, j = np.triu_indices(m)
        position = np.zeros((m, m), dtype=np.intp)
        position[i, j] = position[j, i] = np.arange(len(i))
        entries = (np.ones(m * m), (np.arange(m * m), position.reshape(-1)))
        folded = sp.csr_array(entries, shape=(m * m, len(i)))
        A = sp.csr_array(sp.vstack([*equations, *(-rows for rows in inequalities)]) @ folded)
        A.eliminate_zeros()
        b = np.concatenate([right, -least])
        return cls(m, objective.reshape(-1) @ folded, A, b, len(right), len(least))

    def with_cone(self, by_columns: bool) -> tuple[sp.csc_array, NDArray[np.float64]]:
        """Return A and b with the rows of the semidefinite cone.

        They are the upper triangle by rows or by columns, off-diagonal entries multiplied by
        sqrt(2).
        """
        i, j = np.triu_indices(self.m)
        order = np.lexsort((i, j)) if by_columns else np.arange(len(i))
        scale = np.where(i == j, -1.0, -np.sqrt(2.0))[order]
        cone = sp.csr_array((scale, (np.arange(len(i)), order)))
        return sp.csc_array(sp.vstack([self.A, cone])), np.append(self.b, np.zeros(len(i)))


@dataclass(frozen=True, eq=False)
class _Answer:
    """Answer of a solver: status, primal values where it calls them a solution, dual values."""

    status: str
    x: NDArray[np.float64] | None
    z: NDArray[np.float64]
    objective: float
    iterations: int
    accurate: bool
    infeasible: bool
    unbounded: bool


def _solve(programme: _Programme, solver: ConicSolver) -> _Answer:
    """Return the answer of a solver, with its last dual values whatever its status."""
    module, call = require(solver), {"clarabel": _clarabel, "scs": _scs}[solver]
    # A solver comes with a BLAS of its own, which limits that were set before do not know of.
    with threadpool_limits(1):
        try:
            found = call(module, programme)
        except MemoryError:
            raise
        except Exception as error:  # whatever comes out of the solvers' own code
            detail = " ".join(str(error).split())
            raise BackendFailure(f"{solver}: {type(error).__name__}: {detail}") from error
    of_rows = found.z[: programme.n_equations + programme.n_inequalities]
    if found.unbounded or not np.isfinite(of_rows).all():
        raise BackendFailure(f"{solver} ended with status {found.status} and no dual values")
    return replace(found, z=of_rows)


def _clarabel(clarabel: Any, programme: _Programme) -> _Answer:
    """Return the answer of Clarabel."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    if hasattr(settings, "max_threads"):  # older versions have no threads
        settings.max_threads = 1
    for name, value in OPTIONS["clarabel"].items():
        setattr(settings, name, value)
    A, b = programme.with_cone(by_columns=True)
    cones = [
        clarabel.ZeroConeT(programme.n_equations),
        clarabel.NonnegativeConeT(programme.n_inequalities),
        clarabel.PSDTriangleConeT(programme.m),
    ]
    P = sp.csc_array((len(programme.q), len(programme.q)))
    found = clarabel.DefaultSolver(P, programme.q, A, b, cones, settings).solve()
    status = str(found.status)
    is_solution = status in ("Solved", "AlmostSolved", "MaxIterations", "MaxTime")
    return _Answer(
        status=status,
        x=np.asarray(found.x) if is_solution else None,
        z=np.asarray(found.z),
        objective=float(found.obj_val),
        iterations=int(found.iterations),
        accurate=status in ("Solved", "PrimalInfeasible"),
        infeasible=status in ("PrimalInfeasible", "AlmostPrimalInfeasible"),
        unbounded=status in ("DualInfeasible", "AlmostDualInfeasible"),
    )


def _scs(scs: Any, programme: _Programme) -> _Answer:
    """Return the answer of SCS."""
    A, b = programme.with_cone(by_columns=False)
    cone = {"z": programme.n_equations, "l": programme.n_inequalities, "s": [programme.m]}
    data = {"A": A, "b": b, "c": programme.q}
    found = scs.SCS(data, cone, verbose=False, **OPTIONS["scs"]).solve()
    info = found["info"]
    status = info["status_val"]  # 1 solved, -1 unbounded, -2 infeasible; 2, -6, -7: inaccurate
    return _Answer(
        status=info["status"],
        x=found["x"] if status in (1, 2) else None,
        z=found["y"],
        objective=float(info["pobj"]),
        iterations=int(info["iter"]),
        accurate=status in (1, -2),
        infeasible=status in (-2, -7),
        unbounded=status in (-1, -6),
    )


def _scale_cuts(
    cuts: sp.csr_array | None, rhs: NDArray[np.float64] | None, inverse: NDArray[np.float64]
) -> tuple[sp.csr_array, NDArray[np.float64], NDArray[np.float64]]:
    """Return cuts on Z as cuts on Y of norm 1, their right-hand sides, and the norms."""
    m = len(inverse)
    if cuts is None or rhs is None or cuts.shape[0] == 0:
        return sp.csr_array((0, m * m)), np.zeros(0), np.ones(0)
    A = sp.csr_array(cuts @ sp.diags_array(np.outer(inverse, inverse).reshape(-1)))
    norms = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).reshape(-1))
    norms[norms == 0.0] = 1.0
    return sp.csr_array(sp.diags_array(1.0 / norms) @ A), rhs / norms, norms


def _product(vector: NDArray[np.float64]) -> sp.csr_array:
    """Return the matrix that takes Y vector from all m * m entries of Y."""
    return sp.csr_array(sp.kron(sp.eye_array(len(vector)), sp.csr_array(vector[None, :])))


def _entries(pairs: tuple[NDArray[np.intp], ...], m: int) -> sp.csr_array:
    """Return the matrix that takes the entries of these pairs from all m * m."""
    i, j = pairs
    return sp.csr_array((np.ones(len(i)), (np.arange(len(i)), i * m + j)), shape=(len(i), m * m))
