"""Third-party optimisers, and the programmes that they solve. This file imports none of them."""

from typing import Literal

IntegerSolver = Literal["auto", "highs", "gurobi"]
"""Names of solvers of integer programmes."""
