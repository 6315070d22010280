"""Parameters of a run, composed of the parameters of its components."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

from sdpbb.bounds.registry import Bounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.runtime.archive import stored
from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.declaration import Parameters, parameter, wrong

LEAST_CERTIFIED_GAP = 1e-9
"""Least gap of a certified run: certified bounds lose more to rounding."""

LIMITS = ("time_limit", "node_limit", "memory_limit")
"""Names of the parameters that stop a run."""

WORKERS = ("workers", "dask", "mpi")
"""Names of the parameters that say which processes work."""

SHORT_NAMES = {
    "sdp_solver": "sdp.solver",
    "milp_solver": "search.milp_solver",
    "fixing": "search.fixing",
}
"""Names of options and of keys of manifests, with the paths of their parameters."""


# Factor of the minimum number of blocks if sizes or weights of clusters are limited: bounds of
# subsets use only maximum sizes. For 1,000 points in eight dimensions in clusters of 180 to 220,
# the gap after 45 seconds was 12.0 % with subsets, and 8.3 % without.
LIMITED = 2


@stored
@dataclass(frozen=True)
class DecompositionParameters(Parameters):
    """Decomposition bound: the sum of the bounds of subsets, small ones first."""

    least_blocks: int = parameter(
        1000,
        "Minimum blocks for starting with bounds of subsets automatically.",
        ge=2,
    )
    smallest: int = parameter(
        150,
        "Approximate blocks of the smallest subsets; more for many clusters.",
        reason="They give the first bound.",
        ge=2,
    )
    per_cluster: int = parameter(12, "Minimum blocks per cluster of the smallest subsets.", ge=1)
    largest: int = parameter(
        4000,
        "Approximate blocks of the largest subsets; fewer if memory is short.",
        reason="An iteration takes about a second at this size.",
        ge=2,
    )

    def is_large(self, n_blocks: int, has_limits: bool) -> bool:
        """Return whether runs of this many blocks begin with subsets by themselves.

        has_limits : whether sizes or weights of clusters are limited
        """
        return n_blocks >= self.least_blocks * (LIMITED if has_limits else 1)


@stored
@dataclass(frozen=True)
class SearchParameters(Parameters):
    """Parameters of the search, except bounding."""

    milp_solver: IntegerSolver = parameter(
        "auto",
        "Solver of integer programmes; auto: Gurobi for some if licensed, otherwise HiGHS.",
    )
    fixing: bool = parameter(True, "Add cannot-links that every better clustering satisfies.")


@stored
@dataclass(frozen=True)
class SolverParameters(Parameters):
    """Parameters of `sdpbb.solve`. NumPy's scalars are stored as plain numbers.

    Each is declared with its domain and reason; `sdpbb parameters` prints them.

    Raises
    ------
    ParameterError
        One line that begins with the parameter's name and " = ".
    """

    gap: float = parameter(
        1e-4,
        "Stop at a relative gap, (cost - lower bound) / cost, of at most this.",
        reason='Values below 1e-12 count as 1e-12. The run ends as "feasible" if costs are too '
        "small, relative to distances, for double precision.",
        ge=0,
        lt=1,
    )
    time_limit: float = parameter(
        math.inf,
        "Stop after this many seconds, counted over all resumes.",
        gt=0,
        infinite=True,
        unit="seconds",
    )
    node_limit: int | None = parameter(
        None,
        "Stop after this many nodes, counted over all resumes.",
        reason="A signed 64-bit number, as integers of TOML are.",
        ge=1,
        largest=2**63 - 1,
    )
    memory_limit: float = parameter(
        math.inf,
        "Stop if the processes of the run use more MiB.",
        gt=0,
        infinite=True,
        unit="MiB",
    )
    seed: int = parameter(
        0,
        "Seed of the random choices.",
        reason="NumPy recommends 128 bits.",
        ge=0,
        largest=2**128 - 1,
    )
    workers: int = parameter(
        1,
        "Number of cores: threads for bounding a node, processes for nodes of the tree.",
        reason="Runs with one worker, and runs that do not branch, are repeatable. Processes "
        "start only for runs that branch after a few seconds.",
        ge=1,
    )
    dask: str | None = parameter(
        None,
        "Dask cluster for the nodes; not with workers > 1.",
        unit="an address such as tcp://host:8786",
    )
    mpi: bool = parameter(
        False,
        "Evaluate nodes in processes of mpiexec -n N python -m mpi4py.futures -m sdpbb ...",
        reason="Needs workers = 1.",
    )
    bounding: Bounding = parameter(
        "hybrid",
        "Lower bounds: sdp (semidefinite relaxation), colgen (column generation, for many small "
        "clusters), hybrid (both; starts with subsets if there are many points), or "
        "decomposition (always subsets first).",
    )
    certify: bool = parameter(
        False,
        "Compute only bounds that a certificate can prove.",
        reason="A certificate sets it. Set it yourself for a run whose certificate is written "
        "only after a resume.",
    )
    sdp: SdpParameters = parameter(
        SdpParameters, "Bounding of a node by the semidefinite relaxation."
    )
    decomposition: DecompositionParameters = parameter(
        DecompositionParameters, "Sum of the bounds of subsets, for many blocks."
    )
    search: SearchParameters = parameter(SearchParameters, "The search, apart from bounding.")

    def alone(self, workers: int = 1, **changes: Any) -> Self:
        """Return the parameters of a run on this number of cores, without Dask and MPI."""
        return replace(self, workers=workers, dask=None, mpi=False, **changes)

    def check_combination(self) -> None:
        if self.dask is not None and self.workers > 1:
            expected = f"workers = 1 with it, not workers = {self.workers}"
            raise wrong("dask", self.dask, expected)
        if self.mpi and (self.workers > 1 or self.dask is not None):
            expected = "False with workers > 1 or dask"
            raise wrong("mpi", self.mpi, expected)
        if self.certify and self.gap < LEAST_CERTIFIED_GAP:
            raise wrong("gap", self.gap, f"{LEAST_CERTIFIED_GAP} or more for a certificate")
