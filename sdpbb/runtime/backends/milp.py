"""Solvers of binary linear programmes: HiGHS, or Gurobi, which is optional."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import BackendFailure, BackendUnavailable, ParameterError
from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.backends.programme import BinaryProgramme, MilpSolution, MilpStatus, unit
from sdpbb.runtime.version import install_command

_log = logging.getLogger(__name__)
NAMED: ContextVar[IntegerSolver] = ContextVar("solver of integer programmes", default="auto")
"""Solver that the block at work names."""


@contextmanager
def using_integer_solver(solver: IntegerSolver) -> Iterator[None]:
    """Context manager: programmes within the block are solved by this solver unless told otherwise.

    With "auto" it is as outside of the block.
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
    solver: IntegerSolver = "auto",
    stop: Callable[[], bool] | None = None,
    time_limit: float | None = None,
    warm_start: NDArray[np.float64] | None = None,
) -> MilpSolution:
    """Minimise a binary programme: one thread, no output, no optimality gap.

    Parameters
    ----------
    solver : "highs", "gurobi", or "auto": what `using_integer_solver` names, and else Gurobi where
        it is installed and its licence covers the programme, and HiGHS elsewhere
    stop : is asked on the way; the solve is given up, as one out of time, once it is true
    time_limit : seconds, > 0, or None
    warm_start : (p,) values to start from, or None

    Raises
    ------
    ParameterError
        If no solver has this name.
    BackendUnavailable
        If the solver is not installed or not licensed.
    BackendFailure
        If the solver ends without a verdict for another reason than time, or its values violate a
        row once they are rounded to 0 and 1.
    """
    solver = NAMED.get() if solver == "auto" else solver
    if solver not in get_args(IntegerSolver):
        raise ParameterError(f"solver = {solver!r}: expected 'auto', 'highs' or 'gurobi'")
    solution = _solved(programme, solver, stop, time_limit, warm_start)
    if solution.x is None:
        return solution
    x = np.round(solution.x)
    if not (np.isin(x, (0.0, 1.0)).all() and programme.satisfied_by(x)):
        raise BackendFailure("the solver's values violate the programme once rounded to 0 and 1")
    return MilpSolution(solution.status, x)


def _solved(programme: BinaryProgramme, solver: IntegerSolver, *limits: Any) -> MilpSolution:
    """Return the solution of a solver as it is."""
    if solver != "highs":
        try:
            return _solved_by_gurobi(programme, *limits)
        except BackendUnavailable as error:
            if solver == "gurobi":
                raise
            if not error.extra:  # it is installed
                _log.info("HiGHS instead: %s", error)
    # Imported where it is asked for: it is not needed to read this module.
    from sdpbb.runtime.backends.highs import solved_by_highs

    return solved_by_highs(programme, *limits)


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
    programme: BinaryProgramme,
    stop: Callable[[], bool] | None,
    time_limit: float | None,
    warm_start: NDArray[np.float64] | None,
) -> MilpSolution:
    gurobipy = _gurobi()
    codes = gurobipy.GRB
    try:
        model = gurobipy.Model(env=gurobipy.Env(params={"OutputFlag": 0}))
    except gurobipy.GurobiError as error:
        raise BackendUnavailable(f"Gurobi: {error}") from None
    model.Params.Threads = 1
    model.Params.MIPGap = model.Params.MIPGapAbs = 0.0
    model.Params.TimeLimit = codes.INFINITY if time_limit is None else time_limit
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
        if stop is not None and stop():
            model.terminate()

    try:
        model.optimize(None if stop is None else look)
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
