"""Linear relaxation of a binary programme, held by HiGHS for one objective after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import highspy
import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import BackendFailure, ParameterError
from sdpbb.runtime.backends.highs import converted, expect_ok, holding, run
from sdpbb.runtime.backends.programme import BinaryProgramme


class LinearStatus(Enum):
    """Status of a linear programme."""

    OPTIMAL = "x attains the minimum"
    INFEASIBLE = "no vector in the unit cube satisfies the rows"
    TIME_LIMIT = "out of time"


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """Solution of a linear programme.

    Attributes
    ----------
    status : what is proven, up to the tolerances of the solver
    x : (p,) a vertex in [0, 1]^p, None unless OPTIMAL
    objective : c'x, or inf without an x
    """

    status: LinearStatus
    x: NDArray[np.float64] | None
    objective: float


_STATUS = {
    highspy.HighsModelStatus.kOptimal: LinearStatus.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: LinearStatus.INFEASIBLE,
    # The unit cube is bounded, so that only one of the two remains.
    highspy.HighsModelStatus.kUnboundedOrInfeasible: LinearStatus.INFEASIBLE,
    highspy.HighsModelStatus.kTimeLimit: LinearStatus.TIME_LIMIT,
    highspy.HighsModelStatus.kInterrupt: LinearStatus.TIME_LIMIT,
}


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
        lp = converted(programme)
        lp.integrality_ = []
        # Presolve looks at no clock, and gains nothing: of 1.8 million columns it took seconds.
        self._highs = holding(lp, solver="simplex", presolve="off")

    def minimise(
        self,
        objective: NDArray[np.float64],
        time_limit: float | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> LinearSolution:
        """Minimise c'x for c = objective (p,), finite; time_limit in seconds, > 0.

        It is given up, as when the time is over, once `stop`, which is asked on the way, is true.

        Raises
        ------
        ParameterError
            If the objective has another shape or is not finite.
        BackendFailure
            If HiGHS ends without a verdict for another reason than time.
        """
        highs, count = self._highs, len(self._columns)
        if objective.shape != (count,) or not np.isfinite(objective).all():
            raise ParameterError(f"objective: expected {count} finite numbers")
        expect_ok(highs.changeColsCost(count, self._columns, objective), "changing the costs")
        # Of linear programmes HiGHS counts the time of all runs of one object together.
        limit = highspy.kHighsInf if time_limit is None else highs.getRunTime() + time_limit
        expect_ok(highs.setOptionValue("time_limit", limit), "option time_limit")
        run(highs, stop)
        verdict = highs.getModelStatus()
        if verdict not in _STATUS:
            raise BackendFailure(f"HiGHS: {highs.modelStatusToString(verdict)}")
        status = _STATUS[verdict]
        if status is not LinearStatus.OPTIMAL:
            return LinearSolution(status, None, np.inf)
        # Values may leave the cube by the feasibility tolerance.
        x = np.clip(np.array(highs.getSolution().col_value), 0.0, 1.0)
        return LinearSolution(status, x, float(objective @ x))
