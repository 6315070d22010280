"""Linear programme over fixed rows whose columns come and go, held by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from sdpbb.errors import BackendFailure
from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.backends.highs import expect_ok, holding, run

Simplex = Literal["dual", "primal"]

_STRATEGY = {"dual": 1, "primal": 4}
_BASIC = int(highspy.HighsBasisStatus.kBasic)
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

    def basic(self) -> NDArray[np.bool_]:
        """Return which columns are basic, (p,)."""
        are_basic: NDArray[np.bool_] = self.columns == _BASIC
        return are_basic

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


class GrowingModel:
    """Linear programme whose columns come and go, held by HiGHS:

        minimise    c'x
        subject to  lower <= A x <= upper,  0 <= x <= u

    with rows that stay and columns that are added and deleted.

    Each solve begins from a basis and from nothing else that earlier solves may have left behind:
    what it comes to depends on the programme and the basis, to the last bit.
    """

    def __init__(
        self,
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        simplex: Simplex,
        tolerance: float,
    ) -> None:
        self._simplex = simplex
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = len(lower), 0
        lp.row_lower_, lp.row_upper_ = lower, upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = np.zeros(1, np.int32)
        self._highs = holding(
            lp,
            solver="simplex",
            presolve="off",
            simplex_strategy=_STRATEGY[simplex],
            primal_feasibility_tolerance=tolerance,
            dual_feasibility_tolerance=tolerance,
        )

    @property
    def n_columns(self) -> int:
        return int(self._highs.getNumCol())

    def add(
        self, costs: NDArray[np.float64], matrix: csc_array, upper: NDArray[np.float64]
    ) -> None:
        """Append columns with these costs (p,), coefficients (q, p) and upper bounds (p,)."""
        count = len(costs)
        if not count:
            return
        matrix = csc_array(matrix)
        status = self._highs.addCols(
            count,
            np.ascontiguousarray(costs, np.float64),
            np.zeros(count),
            np.ascontiguousarray(upper, np.float64),
            matrix.nnz,
            matrix.indptr.astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.float64),
        )
        expect_ok(status, "adding columns")

    def delete(self, positions: NDArray[np.intp]) -> None:
        """Delete the columns at these positions; those behind them move up."""
        if len(positions):
            status = self._highs.deleteCols(len(positions), positions.astype(np.int32))
            expect_ok(status, "deleting columns")

    def set_costs(self, costs: NDArray[np.float64]) -> None:
        """Change the costs (p,) of all columns."""
        columns = np.arange(self.n_columns, dtype=np.int32)
        expect_ok(self._highs.changeColsCost(len(columns), columns, costs), "changing the costs")

    def set_upper(self, first: int, upper: NDArray[np.float64]) -> None:
        """Change the upper bounds of columns first, first + 1, ..., inf for none."""
        columns = np.arange(first, first + len(upper), dtype=np.int32)
        status = self._highs.changeColsBounds(len(columns), columns, np.zeros(len(upper)), upper)
        expect_ok(status, "changing bounds")

    def solve(self, basis: Basis | None) -> Vertex | None:
        """Return an optimal vertex, from a basis if one is given; None if no x satisfies the rows.

        Where HiGHS finds none from the basis, it begins once more without, and then by the other
        simplex method. Its last vertex is returned, too, if that is optimal but for rounding.

        Raises
        ------
        BackendFailure
            If HiGHS ends without a verdict.
        """
        verdict = self._run(basis)
        if verdict != highspy.HighsModelStatus.kOptimal and basis is not None:
            # Simplex now and then gives up on a basis that is far from feasible, after the costs
            # or bounds of many columns have changed, or calls what has a solution infeasible.
            verdict = self._run(None)
        highs = self._highs
        if verdict == highspy.HighsModelStatus.kUnknown:
            # Nor does what it ends with then have to be feasible: the other simplex method may say.
            other: Simplex = "dual" if self._simplex == "primal" else "primal"
            highs.setOptionValue("simplex_strategy", _STRATEGY[other])
            verdict = self._run(None)
            highs.setOptionValue("simplex_strategy", _STRATEGY[self._simplex])
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

    def _run(self, basis: Basis | None) -> highspy.HighsModelStatus:
        highs = self._highs
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
