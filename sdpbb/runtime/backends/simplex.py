"""Linear programmes solved by the simplex method of HiGHS, from a basis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from sdpbb.errors import BackendFailure
from sdpbb.runtime.archive import stored
from sdpbb.runtime.backends.highs import expect_ok, holding, run

Simplex = Literal["dual", "primal"]

_STRATEGY = {"dual": 1, "primal": 4}
_OTHER: dict[Simplex, Simplex] = {"dual": "primal", "primal": "dual"}
_LOWER = int(highspy.HighsBasisStatus.kLower)
_STATUSES = {int(status): status for status in highspy.HighsBasisStatus.__members__.values()}


@stored
@dataclass(frozen=True, eq=False)
class Basis:
    """Basic columns (p,) and rows (q,), and the side at which the others are.

    The values are the codes of HiGHS (int8).
    """

    columns: NDArray[np.int8]
    rows: NDArray[np.int8]

    def added(self, count: int) -> Basis:
        """Return the basis with further columns, at their lower bounds."""
        return Basis(np.concatenate([self.columns, np.full(count, _LOWER, np.int8)]), self.rows)

    def kept(self, keep: NDArray[np.bool_]) -> Basis:
        """Return the basis of the marked columns only."""
        return Basis(self.columns[keep], self.rows)


@dataclass(frozen=True, eq=False)
class Vertex:
    """Optimal basic solution.

    objective : c'x
    x : (p,) values of the columns
    row_duals : (q,) multipliers of the rows, >= 0 for `>=` and <= 0 for `<=` rows
    basis : to resume from
    """

    objective: float
    x: NDArray[np.float64]
    row_duals: NDArray[np.float64]
    basis: Basis


def optimal_vertex(
    costs: NDArray[np.float64],
    matrix: csc_array,
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    x_upper: NDArray[np.float64],
    simplex: Simplex,
    tolerance: float,
    basis: Basis | None,
) -> Vertex | None:
    """Return an optimal vertex of a linear programme; None if no x satisfies the rows.

        minimise    c'x
        subject to  lower <= A x <= upper,  0 <= x <= x_upper

    It depends on the programme and the basis, to the last bit. Where HiGHS finds none from the
    basis, it begins once more without, and then by the other simplex method. Its last vertex is
    returned, too, if that is optimal but for rounding.

    Parameters
    ----------
    costs, x_upper : (p,) of the columns; inf for no bound
    matrix : (q, p) sparse columns
    lower, upper : (q,) sides of the rows; -inf and inf for a side that is absent
    simplex : the method
    tolerance : of primal and dual feasibility
    basis : to begin from, or None

    Raises
    ------
    BackendFailure
        If HiGHS ends without a verdict.
    """
    lp = highspy.HighsLp()
    lp.num_row_, lp.row_lower_, lp.row_upper_ = len(lower), lower, upper
    lp.a_matrix_.start_ = np.zeros(1, np.int32)
    highs = holding(
        lp,
        solver="simplex",
        presolve="off",
        simplex_strategy=_STRATEGY[simplex],
        primal_feasibility_tolerance=tolerance,
        dual_feasibility_tolerance=tolerance,
    )
    starts, indices = (part.astype(np.int32) for part in (matrix.indptr, matrix.indices))
    columns = len(costs), costs, np.zeros(len(costs)), x_upper
    status = highs.addCols(*columns, matrix.nnz, starts, indices, matrix.data)
    expect_ok(status, "adding columns")
    verdict = _run(highs, basis)
    if verdict != highspy.HighsModelStatus.kOptimal and basis is not None:
        # Simplex now and then gives up on a basis that is far from feasible, after the costs
        # or bounds of many columns have changed, or calls what has a solution infeasible.
        verdict = _run(highs, None)
    if verdict == highspy.HighsModelStatus.kUnknown:
        # Nor does what it ends with then have to be feasible: the other simplex method may say.
        highs.setOptionValue("simplex_strategy", _STRATEGY[_OTHER[simplex]])
        verdict = _run(highs, None)
    if verdict == highspy.HighsModelStatus.kInfeasible:
        return None
    solution, left = highs.getSolution(), highs.getBasis()
    # Simplex has ended, and after unscaling a row or a dual value is beyond its tolerance, as
    # coefficients are too far apart. Nothing is proven by a vertex alone: bounds hold at any
    # dual values.
    is_imprecise = verdict == highspy.HighsModelStatus.kUnknown and solution.dual_valid
    if verdict != highspy.HighsModelStatus.kOptimal and not is_imprecise:
        raise BackendFailure(f"HiGHS: {highs.modelStatusToString(verdict)}")
    return Vertex(
        objective=float(highs.getInfo().objective_function_value),
        x=np.array(solution.col_value),
        row_duals=np.array(solution.row_dual),
        basis=Basis(_codes(left.col_status), _codes(left.row_status)),
    )


def _run(highs: highspy.Highs, basis: Basis | None) -> highspy.HighsModelStatus:
    expect_ok(highs.clearSolver(), "discarding the last solve")
    if basis is not None:
        held = highspy.HighsBasis()
        held.col_status = [_STATUSES[code] for code in basis.columns.tolist()]
        held.row_status = [_STATUSES[code] for code in basis.rows.tolist()]
        held.valid = True
        expect_ok(highs.setBasis(held), "the basis")
    run(highs)
    return highs.getModelStatus()


def _codes(statuses: list[highspy.HighsBasisStatus]) -> NDArray[np.int8]:
    return np.array([int(status) for status in statuses], np.int8)
