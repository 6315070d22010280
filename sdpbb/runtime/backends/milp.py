"""Solvers of binary linear programmes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import BackendUnavailable, ParameterError
from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.backends.programme import BinaryProgramme, MilpSolution


class BinaryModel(Protocol):
    """Programme held by a solver, to be minimised for one objective after another."""

    def minimise(
        self,
        objective: NDArray[np.float64],
        warm_start: NDArray[np.float64] | None = None,
        time_limit: float | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> MilpSolution:
        """Minimise another objective (p,) over the same rows.

        It is given up, as when the time is over, once `stop`, which is asked on the way, is true.
        """


_log = logging.getLogger(__name__)
_named: ContextVar[IntegerSolver] = ContextVar("solver of integer programmes", default="auto")


@contextmanager
def using_integer_solver(solver: IntegerSolver) -> Iterator[None]:
    """Context manager: programmes within the block are solved by this solver unless told otherwise.

    With "auto" it is as outside of the block.
    """
    before = _named.set(_named.get() if solver == "auto" else solver)
    try:
        yield
    finally:
        _named.reset(before)


def integer_solver(preferred: IntegerSolver) -> IntegerSolver:
    """Return the solver that the block names, or the preferred one."""
    named = _named.get()
    return preferred if named == "auto" else named


def require_integer_solver(solver: IntegerSolver) -> None:
    """Check that a solver is installed.

    Raises
    ------
    BackendUnavailable
        If not. An integer programme may come up late, or never.
    """
    if solver == "gurobi":
        from sdpbb.runtime.backends.gurobi import require_gurobi

        require_gurobi()


def load(programme: BinaryProgramme, solver: IntegerSolver = "auto") -> BinaryModel:
    """Hand a programme to a solver.

    "highs", "gurobi", or "auto": what `using_integer_solver` names, and else Gurobi where it is
    installed and its licence covers the programme, and HiGHS elsewhere.

    Raises
    ------
    ParameterError
        If no solver has this name.
    BackendUnavailable
        If the solver is not installed or not licensed.
    """
    # Each solver is imported where it is asked for: neither is needed to read this module.
    solver = integer_solver("auto") if solver == "auto" else solver
    if solver == "auto":
        return _PreferredModel(programme)
    if solver == "highs":
        from sdpbb.runtime.backends.highs import HighsModel

        return HighsModel(programme)
    if solver == "gurobi":
        from sdpbb.runtime.backends.gurobi import GurobiModel

        return GurobiModel(programme)
    raise ParameterError(f"solver = {solver!r}: expected 'auto', 'highs' or 'gurobi'")


class _PreferredModel:
    """Programme held by Gurobi for as long as it is available, then by HiGHS."""

    def __init__(self, programme: BinaryProgramme) -> None:
        self._programme = programme
        try:
            self._model = load(programme, "gurobi")
        except BackendUnavailable:
            self._model = load(programme, "highs")

    def minimise(
        self,
        objective: NDArray[np.float64],
        warm_start: NDArray[np.float64] | None = None,
        time_limit: float | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> MilpSolution:
        """Minimise another objective over the same rows (`BinaryModel`)."""
        try:
            return self._model.minimise(objective, warm_start, time_limit, stop)
        except BackendUnavailable as error:
            # The licence that comes with gurobipy stops at 2,000 variables, and says so only now.
            _log.info("HiGHS instead: %s", error)
            self._model = load(self._programme, "highs")
            return self._model.minimise(objective, warm_start, time_limit, stop)


def solve_binary_programme(
    programme: BinaryProgramme,
    solver: IntegerSolver = "auto",
    stop: Callable[[], bool] | None = None,
    time_limit: float | None = None,
) -> MilpSolution:
    """Minimise a binary programme with the solver of the given name.

    time_limit : seconds, > 0, or None

    It is given up once `stop`, which is asked on the way, is true.

    Raises
    ------
    ParameterError, BackendUnavailable
        As `load` does.
    BackendFailure
        If the solver ends without a verdict for another reason than time.
    """
    model = load(programme, solver)
    return model.minimise(programme.objective, None, time_limit, stop)
