"""Parameters of the semidefinite bound. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.runtime.archive import stored
from sdpbb.runtime.declaration import Parameters, parameter

LARGEST_CONIC = 150
"""Maximum blocks for a conic solver; more are refused before the run. Clarabel factorises dense
matrices of order m (m + 1) / 2: for 150 blocks an iteration takes 28 seconds, and 7 GiB. SCS takes
12 seconds for all of its iterations."""


@stored
@dataclass(frozen=True)
class SdpParameters(Parameters):
    """Parameters of bounding by the semidefinite relaxation."""

    solver: str = parameter(
        "admm",
        "SDP solver: admm, which is built in, or a conic solver that CVXPY finds (clarabel, scs, "
        "mosek, ...) as a slow cross-check for up to 150 blocks.",
        reason="Bounds are proven in the same way.",
        unit="admm, or a conic solver that CVXPY finds",
    )
    max_iterations: int = parameter(3000, "Maximum iterations of a node.", ge=1)

    def check_combination(self) -> None:
        if self.solver != "admm":
            from sdpbb.runtime.backends.conic import require

            require(self.solver, "admm")
