"""Linear relaxation of a binary programme, held by HiGHS for one objective after another."""

from __future__ import annotations

from collections.abc import Callable

import highspy
import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import BackendFailure, ParameterError
from sdpbb.runtime.backends.highs import STATUS, converted, expect_ok, holding, run
from sdpbb.runtime.backends.programme import BinaryProgramme, MilpSolution, MilpStatus


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
    ) -> MilpSolution:
        """Minimise c'x for c = objective (p,), finite; time_limit in seconds, > 0.

        It is given up, as when the time is over, once `stop`, which is asked on the way, is true.

        Returns
        -------
        A solution whose x is a vertex in [0, 1]^p; None unless it is optimal.

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
        if verdict not in STATUS:
            raise BackendFailure(f"HiGHS: {highs.modelStatusToString(verdict)}")
        status = STATUS[verdict]
        if status is not MilpStatus.OPTIMAL:
            bound = np.inf if status is MilpStatus.INFEASIBLE else -np.inf
            return MilpSolution(status, None, np.inf, bound)
        # Values may leave the cube by the feasibility tolerance.
        x = np.clip(np.array(highs.getSolution().col_value), 0.0, 1.0)
        value = float(objective @ x)
        return MilpSolution(status, x, value, value)
