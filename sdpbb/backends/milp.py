"""The solvers that can be asked to minimise binary linear programmes."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sdpbb.backends.programme import BinaryProgramme, MilpSolution
from sdpbb.errors import ParameterError


class BinaryModel(Protocol):
    """A programme held by a solver, to be minimised for one objective after another."""

    def minimise(
        self,
        objective: NDArray[np.float64],
        warm_start: NDArray[np.float64] | None = None,
        time_limit: float | None = None,
    ) -> MilpSolution:
        """Minimise another objective (p,) over the same rows."""


def load(programme: BinaryProgramme, solver: str = "highs") -> BinaryModel:
    """Hand a programme to a solver: "highs" or "gurobi".

    Raises
    ------
    ParameterError
        If no solver has this name.
    BackendUnavailable
        If the solver is not installed or not licensed.
    """
    # Each solver is imported where it is asked for: neither is needed to read this module.
    if solver == "highs":
        from sdpbb.backends.highs import HighsModel

        return HighsModel(programme)
    if solver == "gurobi":
        from sdpbb.backends.gurobi import GurobiModel

        return GurobiModel(programme)
    raise ParameterError(f"solver = {solver!r}: expected 'highs' or 'gurobi'")


def solve_binary_programme(programme: BinaryProgramme, solver: str = "highs") -> MilpSolution:
    """Minimise a binary programme with the solver of the given name.

    Raises
    ------
    ParameterError, BackendUnavailable
        As `load` does.
    BackendFailure
        If the solver ends without a verdict for another reason than time.
    """
    model = load(programme, solver)
    return model.minimise(programme.objective, programme.warm_start, programme.time_limit)
