"""HiGHS, through highspy: binary programmes, their relaxations, and vertices from a basis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from sdpbb.errors import BackendFailure
from sdpbb.runtime.archive import stored
from sdpbb.runtime.backends.programme import (
    BinaryProgramme,
    MilpSolution,
    MilpStatus,
    seconds_for,
    unit,
)
from sdpbb.runtime.time_left import TimeLeft, no_limit

STATUS = {
    highspy.HighsModelStatus.kOptimal: MilpStatus.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: MilpStatus.INFEASIBLE,
    # Variables are from 0 to 1, so the programme is not unbounded.
    highspy.HighsModelStatus.kUnboundedOrInfeasible: MilpStatus.INFEASIBLE,
    highspy.HighsModelStatus.kTimeLimit: MilpStatus.TIME_LIMIT,
    highspy.HighsModelStatus.kInterrupt: MilpStatus.TIME_LIMIT,
}
_INTERRUPTIBLE = (
    highspy.cb.HighsCallbackType.kCallbackSimplexInterrupt,
    highspy.cb.HighsCallbackType.kCallbackMipInterrupt,
)

# Maximum relative difference of an optimal solution and its bound: the tolerance of HiGHS.
LARGEST_GAP = 1e-6

Simplex = Literal["dual", "primal"]
_STRATEGY = {"dual": 1, "primal": 4}
_OTHER: dict[Simplex, Simplex] = {"dual": "primal", "primal": "dual"}
_LOWER = int(highspy.HighsBasisStatus.kLower)
_STATUSES = {int(status): status for status in highspy.HighsBasisStatus.__members__.values()}


def solved_by_highs(
    programme: BinaryProgramme,
    time_left: TimeLeft = no_limit,
    warm_start: NDArray[np.float64] | None = None,
) -> MilpSolution:
    """Minimise a binary programme, as `milp.solve_binary_programme` does.

    Values are not rounded, but near 0 and 1.
    """
    scale = unit(programme.objective)
    lp = _converted(programme, scale)
    lp.integrality_ = [highspy.HighsVarType.kInteger] * programme.n_variables
    highs = holding(lp, mip_rel_gap=0.0, mip_abs_gap=0.0, time_limit=seconds_for(time_left))
    if warm_start is not None:
        columns = np.arange(programme.n_variables, dtype=np.int32)
        values = np.asarray(warm_start, dtype=np.float64)
        expect_ok(highs.setSolution(len(columns), columns, values), "warm start")
    status, info = _status_after(highs, time_left), highs.getInfo()
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        if status is MilpStatus.OPTIMAL:
            raise BackendFailure("HiGHS: optimal without a feasible solution")
        return MilpSolution(status)
    x = np.array(highs.getSolution().col_value)
    bound = scale * info.mip_dual_bound
    is_closed = programme.objective @ np.round(x) - bound <= LARGEST_GAP * max(scale, abs(bound))
    if status is MilpStatus.OPTIMAL and warm_start is not None and not is_closed:
        # HiGHS 1.16 calls some warm starts optimal although they cost more than its own bound.
        return solved_by_highs(programme, time_left)
    return MilpSolution(status, x)


class LinearModel:
    """Linear relaxation of a binary programme, held by HiGHS.

    Its rows over the unit cube are

        minimise    c'x
        subject to  lower <= A x <= upper,  0 <= x <= 1,

    with another c for each call. Only costs change, so the vertex and the basis of one call are
    feasible in the next, and the simplex method continues from them.
    """

    def __init__(self, programme: BinaryProgramme) -> None:
        self._columns = np.arange(programme.n_variables, dtype=np.int32)
        # Presolve ignores the time limit and gains nothing; 1.8 million columns took it seconds.
        self._highs = holding(_converted(programme), solver="simplex", presolve="off")

    def minimise(
        self, objective: NDArray[np.float64], time_left: TimeLeft = no_limit
    ) -> MilpSolution:
        """Minimise c'x for c = objective (p,), finite.

        time_left : checked on the way; the solve ends, out of time, once no time is left

        Returns
        -------
        A solution whose x is a vertex in [0, 1]^p; None unless it is optimal.

        Raises
        ------
        BackendFailure
            If HiGHS ends without a verdict for another reason than time.
        """
        highs = self._highs
        status = highs.changeColsCost(len(self._columns), self._columns, objective)
        expect_ok(status, "changing the costs")
        # HiGHS counts the time of all runs of one object together.
        limit = highs.getRunTime() + seconds_for(time_left)
        expect_ok(highs.setOptionValue("time_limit", limit), "option time_limit")
        found = _status_after(highs, time_left)
        if found is not MilpStatus.OPTIMAL:
            return MilpSolution(found)
        # Values may leave the cube by the feasibility tolerance.
        return MilpSolution(found, np.clip(np.array(highs.getSolution().col_value), 0.0, 1.0))


class _SilentHighs(highspy.Highs):
    """HiGHS that prints nothing, its name and version included."""

    def __init__(self) -> None:
        highspy.Highs.__init__(self)

    def enableCallbacks(self) -> None:  # noqa: N802
        # The constructor of highspy 1.16 calls this method, and would print name and version unless
        # output is off before. Standard output may be a result, or the channel of a worker.
        self.silent()
        highspy.Highs.enableCallbacks(self)


def holding(lp: highspy.HighsLp, **options: float | str) -> highspy.Highs:
    """Return HiGHS with a loaded programme, one thread, no output, and these options."""
    highs = _SilentHighs()
    always: dict[str, bool | int | float | str] = {
        "output_flag": False,
        "threads": 1,
        "parallel": "off",
    }
    for option, value in {**always, **options}.items():
        expect_ok(highs.setOptionValue(option, value), f"option {option}")
    expect_ok(highs.passModel(lp), "passing the model")
    return highs


def run(highs: highspy.Highs, time_left: TimeLeft = no_limit) -> None:
    """Solve the loaded programme; BackendFailure if that ends with an error.

    time_left : checked between steps of the simplex method and between nodes of a tree, not by
        presolve; the solve is interrupted once no time is left
    """

    def look(kind: Any, message: str, data: Any, answer: Any, user: Any) -> None:
        # Logging calls have no answer. HiGHS continues unless the answer interrupts it.
        if answer is not None and time_left() <= 0.0:
            answer.user_interrupt = True

    if time_left is not no_limit:
        highs.setCallback(look, None)
        for kind in _INTERRUPTIBLE:
            highs.startCallback(kind)
    outcome = highs.run()
    if outcome == highspy.HighsStatus.kError:
        # A process has one pool of HiGHS threads. If other code has made a larger pool, HiGHS
        # refuses a limit of one thread; 0 accepts the pool, which "parallel" = "off" does not use.
        expect_ok(highs.setOptionValue("threads", 0), "option threads")
        outcome = highs.run()
    if outcome == highspy.HighsStatus.kError:
        # The presolve of HiGHS 1.15 fails for some small set partitioning programmes.
        expect_ok(highs.setOptionValue("presolve", "off"), "option presolve")
        outcome = highs.run()
    if time_left is not no_limit:
        for kind in _INTERRUPTIBLE:
            highs.stopCallback(kind)
        highs.setCallback(None, None)
    if outcome == highspy.HighsStatus.kError:
        raise BackendFailure("HiGHS: the solve ended with an error")


def _status_after(highs: highspy.Highs, time_left: TimeLeft) -> MilpStatus:
    """Solve the loaded programme; BackendFailure if it ends without a verdict."""
    run(highs, time_left)
    verdict = highs.getModelStatus()
    if verdict not in STATUS:
        raise BackendFailure(f"HiGHS: {highs.modelStatusToString(verdict)}")
    return STATUS[verdict]


def _converted(programme: BinaryProgramme, scale: float = 1.0) -> highspy.HighsLp:
    """Return the linear relaxation of a programme, in units of its objective."""
    rows, columns = programme.matrix.shape
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = rows, columns
    lp.col_cost_ = programme.objective / scale
    lp.col_lower_, lp.col_upper_ = np.zeros(columns), np.ones(columns)
    lp.row_lower_, lp.row_upper_ = programme.lower, programme.upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = programme.matrix.indptr
    lp.a_matrix_.index_ = programme.matrix.indices
    lp.a_matrix_.value_ = programme.matrix.data.astype(np.float64)
    return lp


def expect_ok(status: highspy.HighsStatus, what: str) -> None:
    """Raise BackendFailure if HiGHS has refused a call."""
    if status == highspy.HighsStatus.kError:
        raise BackendFailure(f"HiGHS refused: {what}")


@stored
@dataclass(frozen=True, eq=False)
class Basis:
    """Basic columns (p,) and rows (q,), and the side at which the others are.

    The values are the codes of HiGHS (int8).
    """

    columns: NDArray[np.int8]
    rows: NDArray[np.int8]

    def added(self, count: int) -> Basis:
        """Return the basis with new columns at their lower bounds."""
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

    The vertex depends only on the programme and the basis, to the last bit. If HiGHS fails from the
    basis, it starts again without a basis, and then with the other simplex method. Its last vertex
    counts if it is optimal apart from rounding.

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
    verdict = _run_from(highs, basis)
    if verdict != highspy.HighsModelStatus.kOptimal and basis is not None:
        # From a basis that is far from feasible, after many costs or bounds have changed, simplex
        # sometimes fails, or calls a feasible programme infeasible.
        verdict = _run_from(highs, None)
    if verdict == highspy.HighsModelStatus.kUnknown:
        # Its last vertex may be infeasible: try the other simplex method.
        highs.setOptionValue("simplex_strategy", _STRATEGY[_OTHER[simplex]])
        verdict = _run_from(highs, None)
    if verdict == highspy.HighsModelStatus.kInfeasible:
        return None
    solution, left = highs.getSolution(), highs.getBasis()
    # After unscaling, a row or a dual value violates its tolerance, because coefficients differ too
    # much. That is harmless: bounds are valid at any dual values.
    is_imprecise = verdict == highspy.HighsModelStatus.kUnknown and solution.dual_valid
    if verdict != highspy.HighsModelStatus.kOptimal and not is_imprecise:
        raise BackendFailure(f"HiGHS: {highs.modelStatusToString(verdict)}")
    return Vertex(
        objective=float(highs.getInfo().objective_function_value),
        x=np.array(solution.col_value),
        row_duals=np.array(solution.row_dual),
        basis=Basis(_codes(left.col_status), _codes(left.row_status)),
    )


def _run_from(highs: highspy.Highs, basis: Basis | None) -> highspy.HighsModelStatus:
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
