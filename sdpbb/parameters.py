"""Parameters of a run, composed of those of its components."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from heuristics.parameters import HeuristicSchedule
from sdpbb.archive.stored import stored
from sdpbb.bounds.colgen.parameters import ColgenParameters
from sdpbb.bounds.hybrid.parameters import HybridParameters
from sdpbb.bounds.places.parameters import PlaceParameters
from sdpbb.bounds.registry import Bounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.declaration import Parameters, parameter, wrong
from sdpbb.decomposition.parameters import DecompositionParameters
from sdpbb.search.parameters import SearchParameters

LEAST_CERTIFIED_GAP = 1e-9
"""Bounds that others can check lose more to rounding than others."""

SHORT_NAMES = {"sdp_solver": "sdp.solver", "fixing": "search.fixing"}
"""Paths of the parameters that options of the command line and keys of manifests call by other
names."""


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
        "Stop when (upper - lower) / upper is at most this.",
        reason="Below 1e-12 it counts as 1e-12. Where costs are too small beside distances for "
        'double precision to show so little, the run ends as "feasible".',
        ge=0,
        lt=1,
    )
    time_limit: float = parameter(
        math.inf,
        "Stop after this many seconds of the whole run, including those before it was resumed.",
        gt=0,
        infinite=True,
        unit="seconds",
    )
    node_limit: int | None = parameter(
        None,
        "Stop after this many nodes of the whole run whose bound is computed.",
        reason="A signed number of 64 bits, as integers of TOML are.",
        ge=1,
        largest=2**63 - 1,
    )
    memory_limit: float = parameter(
        math.inf,
        "Stop when all processes of the run on this machine occupy more than this many MiB.",
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
        "Cores: threads that bound a node together, and processes that evaluate nodes once there "
        "are several.",
        reason="With one the run is repeatable, and with more a run that does not branch is, too; "
        "processes are started only for runs that branch after a few seconds.",
        ge=1,
    )
    dask: str | None = parameter(
        None,
        "Have nodes evaluated by the workers of a Dask cluster, whose scheduler is at this "
        "address, in the place of local processes, so that workers must be 1.",
        unit="an address such as tcp://host:8786",
    )
    bounding: Bounding = parameter(
        "hybrid",
        "Where lower bounds come from: the semidefinite relaxation; column generation, for many "
        "small clusters; both, each where it is the better one, which begins with the bounds of "
        "subsets where there are many blocks; or always so.",
    )
    certify: bool = parameter(
        False,
        "Whether every bound is to be one that a certificate can show.",
        reason="Asking for a certificate sets it; a run that is to leave its certificate only when "
        "it is resumed needs it.",
    )
    sdp: SdpParameters = parameter(
        SdpParameters, "Bounding of a node by the semidefinite relaxation."
    )
    colgen: ColgenParameters = parameter(ColgenParameters, "Bounding by column generation.")
    hybrid: HybridParameters = parameter(
        HybridParameters, "Combination of the semidefinite bound and column generation."
    )
    decomposition: DecompositionParameters = parameter(
        DecompositionParameters, "Sum of the bounds of subsets, for many blocks."
    )
    places: PlaceParameters = parameter(
        PlaceParameters, "Bound by prices and places, for many blocks in few dimensions."
    )
    search: SearchParameters = parameter(SearchParameters, "The search besides bounding.")
    heuristics: HeuristicSchedule = parameter(
        HeuristicSchedule, "Efforts of the search for upper bounds."
    )

    def check_combination(self) -> None:
        if self.dask is not None and self.workers > 1:
            expected = f"no workers besides, instead of workers = {self.workers}"
            raise wrong("dask", self.dask, expected)
        if self.certify and self.gap < LEAST_CERTIFIED_GAP:
            raise wrong("gap", self.gap, f"{LEAST_CERTIFIED_GAP} or more for a certificate")

    def for_certificates(self) -> SolverParameters:
        """Return the parameters for a run that is certified.

        Raises
        ------
        ParameterError
            If the gap is too small.
        """
        return replace(self, certify=True)
