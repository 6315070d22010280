"""Binary linear programmes and their solutions, for all solvers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.runtime.time_left import TimeLeft

# A rounded solution may violate a row by the rounding errors of its coefficients.
ROW_TOLERANCE = 1e-9
# Least time limit of a solver, in seconds: limits must be above 0.
LEAST_SECONDS = 0.01


@dataclass(frozen=True, eq=False)
class BinaryProgramme:
    """Binary linear programme.

    minimise    c'x
    subject to  lower <= A x <= upper,  x in {0, 1}^p

    Attributes
    ----------
    objective : (p,) c, finite; p > 0
    matrix : (q, p) A, sparse rows, finite
    lower, upper : (q,) sides of the rows; -inf and inf for a side that is absent
    row_tolerance : allowed violation of a row, times 1 plus the sum of its absolute coefficients
    """

    objective: NDArray[np.float64]
    matrix: csr_array
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    row_tolerance: float = ROW_TOLERANCE

    @property
    def n_variables(self) -> int:
        return len(self.objective)

    def satisfied_by(self, x: NDArray[np.float64]) -> bool:
        """Return whether a binary vector satisfies every row."""
        activity = self.matrix @ x
        scale = 1 + abs(self.matrix) @ np.ones(self.n_variables)
        slack = self.row_tolerance * scale
        return bool(
            np.all(activity >= self.lower - slack) and np.all(activity <= self.upper + slack)
        )


class MilpStatus(Enum):
    """Status of a binary programme, or of its linear relaxation."""

    OPTIMAL = "x attains the minimum"
    INFEASIBLE = "no vector satisfies the rows"
    TIME_LIMIT = "out of time; x is the best vector met, or None"


@dataclass(frozen=True, eq=False)
class MilpSolution:
    """Solution of a binary programme, or of its linear relaxation.

    status : what is proven, up to the tolerances of the solver
    x : (p,) zeros and ones that satisfy the rows (checked), or None; of a relaxation, numbers from
        0 to 1
    """

    status: MilpStatus
    x: NDArray[np.float64] | None = None


def unit(objective: NDArray[np.float64]) -> float:
    """Return the unit of an objective: a power of two near a thousandth of its largest coefficient.

    The tolerances of solvers are absolute, so solvers get objectives in these units.
    """
    largest = float(np.abs(objective).max(initial=0.0))
    return 2.0 ** (math.frexp(largest)[1] - 10) if largest > 0.0 else 1.0


def seconds_for(time_left: TimeLeft) -> float:
    """Return the time limit of a solver, in seconds: LEAST_SECONDS or more; inf: no limit."""
    return max(LEAST_SECONDS, time_left())
