"""Third-party optimisers behind programmes of this package's own. Light: none is imported here."""

from typing import Literal

IntegerSolver = Literal["auto", "highs", "gurobi"]
"""Names of solvers of integer programmes."""
