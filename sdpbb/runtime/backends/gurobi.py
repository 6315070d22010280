"""Gurobi, through gurobipy: optional, and used only when asked for by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import BackendFailure, BackendUnavailable
from sdpbb.runtime.backends.programme import (
    BinaryProgramme,
    MilpSolution,
    MilpStatus,
    checked_solution,
    unit,
)
from sdpbb.runtime.extras import install_command


def require_gurobi() -> Any:
    """Return the module of Gurobi.

    Raises
    ------
    BackendUnavailable
        If it is not installed.
    """
    try:
        import gurobipy
    except ImportError:
        raise BackendUnavailable(
            f"Gurobi: gurobipy is not installed ({install_command('gurobi')})", extra="gurobi"
        ) from None
    return gurobipy


class GurobiModel:
    """Binary programme held by Gurobi: one thread, no output, no optimality gap.

    Raises
    ------
    BackendUnavailable
        If gurobipy is not installed, or no licence covers the programme.
    """

    def __init__(self, programme: BinaryProgramme) -> None:
        gurobipy = require_gurobi()
        self._gurobi = gurobipy
        self._programme = programme
        try:
            environment = gurobipy.Env(params={"OutputFlag": 0})
            model = gurobipy.Model(env=environment)
        except gurobipy.GurobiError as error:
            raise BackendUnavailable(f"Gurobi: {error}") from None
        model.Params.Threads = 1
        model.Params.MIPGap = model.Params.MIPGapAbs = 0.0
        # One variable x in {0,1}^p, and each side of the rows that is present.
        self._x = model.addMVar(programme.n_variables, vtype=gurobipy.GRB.BINARY)
        for side, sense in ((programme.lower, ">"), (programme.upper, "<")):
            present = np.flatnonzero(np.isfinite(side))
            if len(present):
                model.addMConstr(programme.matrix[present], self._x, sense, side[present])
        self._model = model

    def minimise(
        self,
        objective: NDArray[np.float64],
        warm_start: NDArray[np.float64] | None = None,
        time_limit: float | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> MilpSolution:
        """Minimise another objective over the same rows (`BinaryModel`).

        Raises
        ------
        BackendUnavailable
            If no licence covers a programme of this size.
        BackendFailure
            If Gurobi ends without a verdict for another reason than time.
        """
        model, codes = self._model, self._gurobi.GRB
        model.reset()
        scale = unit(objective)
        model.setObjective((objective / scale) @ self._x, codes.MINIMIZE)
        model.Params.TimeLimit = codes.INFINITY if time_limit is None else time_limit
        if warm_start is not None:
            self._x.Start = warm_start
        try:
            model.optimize(None if stop is None else _terminating(stop))
        except self._gurobi.GurobiError as error:
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
        if status is MilpStatus.INFEASIBLE:
            return MilpSolution(status, None, np.inf, np.inf)
        values = self._x.X if model.SolCount else None
        return checked_solution(self._programme, objective, status, values, scale * model.ObjBound)


def _terminating(stop: Callable[[], bool]) -> Callable[[Any, int], None]:
    """Return the callback that ends a solve."""

    def look(model: Any, where: int) -> None:
        if stop():
            model.terminate()

    return look
