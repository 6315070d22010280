"""Solvers of binary linear programmes: HiGHS, or Gurobi, which is optional."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import BackendFailure, BackendUnavailable
from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.backends.programme import (
    BinaryProgramme,
    MilpSolution,
    MilpStatus,
    seconds_for,
    unit,
)
from sdpbb.runtime.time_left import TimeLeft, no_limit
from sdpbb.runtime.version import install_command

_log = logging.getLogger(__name__)
NAMED: ContextVar[IntegerSolver] = ContextVar("solver of integer programmes", default="auto")
"""Solver of the innermost `using_integer_solver` block."""


@contextmanager
def using_integer_solver(solver: IntegerSolver) -> Iterator[None]:
    """Context manager: this solver solves the integer programmes within the block.

    solver : "auto" keeps the solver of the outer block. Outside of all blocks, it is Gurobi if it
        is installed and its licence covers the programme, and HiGHS otherwise
    """
    before = NAMED.set(NAMED.get() if solver == "auto" else solver)
    try:
        yield
    finally:
        NAMED.reset(before)


def require_integer_solver(solver: IntegerSolver) -> None:
    """Check that a solver is installed.

    Raises
    ------
    BackendUnavailable
        If not. An integer programme may come up late, or never.
    """
    if solver == "gurobi":
        _gurobi()


def solve_binary_programme(
    programme: BinaryProgramme,
    time_left: TimeLeft = no_limit,
    warm_start: NDArray[np.float64] | None = None,
) -> MilpSolution:
    """Minimise a binary programme: one thread, no output, no optimality gap.

    The solver is the one that `using_integer_solver` names.

    Parameters
    ----------
    time_left : checked on the way; the solve ends, out of time, once no time is left
    warm_start : (p,) values to start from, or None

    Raises
    ------
    BackendUnavailable
        If the solver is not installed or not licensed.
    BackendFailure
        If the solver ends without a verdict for another reason than time, or its values violate a
        row once they are rounded to 0 and 1.
    """
    solution = _solved(programme, time_left, warm_start)
    if solution.x is None:
        return solution
    x = np.round(solution.x)
    if not (np.isin(x, (0.0, 1.0)).all() and programme.satisfied_by(x)):
        raise BackendFailure("the solver's values violate the programme once rounded to 0 and 1")
    return MilpSolution(solution.status, x)


def _solved(
    programme: BinaryProgramme, time_left: TimeLeft, warm_start: NDArray[np.float64] | None
) -> MilpSolution:
    """Return the unchecked solution of the solver."""
    solver = NAMED.get()
    if solver != "highs":
        try:
            return _solved_by_gurobi(programme, time_left, warm_start)
        except BackendUnavailable as error:
            if solver == "gurobi":
                raise
            if not error.extra:  # it is installed
                _log.info("HiGHS instead: %s", error)
    from sdpbb.runtime.backends.highs import solved_by_highs  # slow to import

    return solved_by_highs(programme, time_left, warm_start)


def _gurobi() -> Any:
    """Return the module of Gurobi; BackendUnavailable if it is not installed."""
    try:
        import gurobipy
    except ImportError:
        raise BackendUnavailable(
            f"Gurobi: gurobipy is not installed ({install_command('gurobi')})", extra="gurobi"
        ) from None
    return gurobipy


def _solved_by_gurobi(
    programme: BinaryProgramme, time_left: TimeLeft, warm_start: NDArray[np.float64] | None
) -> MilpSolution:
    gurobipy = _gurobi()
    codes = gurobipy.GRB
    try:
        model = gurobipy.Model(env=gurobipy.Env(params={"OutputFlag": 0}))
    except gurobipy.GurobiError as error:
        raise BackendUnavailable(f"Gurobi: {error}") from None
    model.Params.Threads = 1
    model.Params.MIPGap = model.Params.MIPGapAbs = 0.0
    model.Params.TimeLimit = min(codes.INFINITY, seconds_for(time_left))
    # One variable x in {0,1}^p, and each side of the rows that is present.
    x = model.addMVar(programme.n_variables, vtype=codes.BINARY)
    for side, sense in ((programme.lower, ">"), (programme.upper, "<")):
        present = np.flatnonzero(np.isfinite(side))
        if len(present):
            model.addMConstr(programme.matrix[present], x, sense, side[present])
    model.setObjective((programme.objective / unit(programme.objective)) @ x, codes.MINIMIZE)
    if warm_start is not None:
        x.Start = warm_start

    def look(model: Any, where: int) -> None:
        if time_left() <= 0.0:
            model.terminate()

    try:
        model.optimize(None if time_left is no_limit else look)
    except gurobipy.GurobiError as error:
        # The licence that comes with gurobipy stops at 2,000 variables, and says so only now.
        if error.errno in (codes.Error.NO_LICENSE, codes.Error.SIZE_LIMIT_EXCEEDED):
            raise BackendUnavailable(f"Gurobi: {error}") from None
        raise BackendFailure(f"Gurobi: {error}") from None
    status = {
        codes.OPTIMAL: MilpStatus.OPTIMAL,
        codes.INFEASIBLE: MilpStatus.INFEASIBLE,
        codes.INF_OR_UNBD: MilpStatus.INFEASIBLE,
        codes.TIME_LIMIT: MilpStatus.TIME_LIMIT,
        codes.INTERRUPTED: MilpStatus.TIME_LIMIT,
    }.get(model.Status)
    if status is None:
        raise BackendFailure(f"Gurobi: status {model.Status}")
    return MilpSolution(status, x.X if model.SolCount else None)
