"""The parameters of a run, composed of those of its components."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sdpbb.archive.stored import stored
from sdpbb.bounds.colgen.parameters import ColgenParameters
from sdpbb.bounds.hybrid_parameters import HybridParameters
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.domains import LARGEST_INTEGER, as_integer, as_number, wrong
from sdpbb.search.parameters import SearchParameters

BOUNDINGS = ("sdp", "colgen", "hybrid")
# NumPy recommends 128 bits. Limits of nodes have a signed number of 64, as integers of TOML do.
LARGEST_SEED = 2**128 - 1
LARGEST_NODE_LIMIT = 2**63 - 1
# What is proven in a way that others can check loses more to rounding than what is not.
LEAST_CERTIFIED_GAP = 1e-9


@stored
@dataclass(frozen=True)
class SolverParameters:
    """What `sdpbb.solve` is asked for. NumPy's scalars are stored as plain numbers.

    Parameters
    ----------
    gap : stop when (upper - lower) / upper is at most this, >= 0; below 1e-12 it counts as 1e-12.
        Where costs are too small beside distances for double precision to show so little, the run
        ends as "feasible" (`Termination.PRECISION`)
    time_limit : seconds, > 0. This and node_limit are for the whole run, including what it took
        before it was resumed
    node_limit : nodes whose bound is computed, >= 1 and below 2^63; None for no limit
    memory_limit : MiB of resident memory of all processes of the run on this machine, > 0
    seed : of all random choices, >= 0 and below 2^128
    workers : processes that evaluate nodes, >= 1. With one the run is repeatable; more are started
        only for runs that branch after a few seconds
    dask : the address of the scheduler of a Dask cluster whose workers evaluate nodes, in the place
        of local processes, so that workers must be 1; None for none
    bounding : where lower bounds come from: "sdp", the semidefinite relaxation; "colgen", column
        generation; or "hybrid", both, each where it is the better one
    certify : whether every bound is to be one that a certificate can show (`for_certificates`);
        `sdpbb.solve(certificate=...)` sets it, and a run that is to leave its certificate only when
        it is resumed needs it
    sdp, colgen, hybrid, search : parameters of the components

    Raises
    ------
    ParameterError
        One line that begins with the parameter's name and " = ".
    """

    gap: float = 1e-4
    time_limit: float = math.inf
    node_limit: int | None = None
    memory_limit: float = math.inf
    seed: int = 0
    workers: int = 1
    dask: str | None = None
    bounding: str = "hybrid"
    certify: bool = False
    sdp: SdpParameters = field(default_factory=SdpParameters)
    colgen: ColgenParameters = field(default_factory=ColgenParameters)
    hybrid: HybridParameters = field(default_factory=HybridParameters)
    search: SearchParameters = field(default_factory=SearchParameters)

    def __post_init__(self) -> None:
        gap = as_number(self.gap)
        if gap is None or not 0.0 <= gap < 1.0:
            raise wrong("gap", self.gap, "a number in [0, 1)")
        time_limit = as_number(self.time_limit)
        if time_limit is None or not time_limit > 0.0:
            raise wrong("time_limit", self.time_limit, "seconds > 0")
        node_limit = None if self.node_limit is None else as_integer(self.node_limit)
        if self.node_limit is not None and (node_limit is None or node_limit < 1):
            raise wrong("node_limit", self.node_limit, "an integer >= 1, or None")
        if node_limit is not None and node_limit > LARGEST_NODE_LIMIT:
            raise wrong("node_limit", self.node_limit, "an integer below 2^63, or None")
        memory_limit = as_number(self.memory_limit)
        if memory_limit is None or not memory_limit > 0.0:
            raise wrong("memory_limit", self.memory_limit, "MiB > 0")
        seed = as_integer(self.seed)
        if seed is None or seed < 0:
            raise wrong("seed", self.seed, "an integer >= 0")
        if seed > LARGEST_SEED:
            raise wrong("seed", self.seed, "an integer below 2^128")
        workers = as_integer(self.workers)
        if workers is None or workers < 1:
            raise wrong("workers", self.workers, "an integer >= 1")
        if workers > LARGEST_INTEGER:
            raise wrong("workers", self.workers, f"an integer of at most {LARGEST_INTEGER}")
        if self.dask is not None and not (isinstance(self.dask, str) and self.dask):
            raise wrong("dask", self.dask, "an address such as tcp://host:8786, or None")
        if self.dask is not None and workers > 1:
            raise wrong("dask", self.dask, f"no workers besides, instead of workers = {workers}")
        if not isinstance(self.bounding, str) or self.bounding not in BOUNDINGS:
            raise wrong("bounding", self.bounding, f"one of {', '.join(BOUNDINGS)}")
        if not isinstance(self.certify, bool):
            raise wrong("certify", self.certify, "True or False")
        if self.certify and gap < LEAST_CERTIFIED_GAP:
            raise wrong("gap", self.gap, f"{LEAST_CERTIFIED_GAP} or more for a certificate")
        kinds = {
            "sdp": SdpParameters,
            "colgen": ColgenParameters,
            "hybrid": HybridParameters,
            "search": SearchParameters,
        }
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                raise wrong(name, getattr(self, name), f"a {kind.__name__}")
        plain = {
            "gap": gap,
            "time_limit": time_limit,
            "node_limit": node_limit,
            "memory_limit": memory_limit,
            "seed": seed,
            "workers": workers,
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    def for_certificates(self) -> SolverParameters:
        """The same for a run that is certified.

        Raises
        ------
        ParameterError
            If the gap is too small.
        """
        # Pairs that are proven to share a cluster by another run leave no dual values behind.
        return replace(self, certify=True, sdp=replace(self.sdp, together_candidates=0))

    def to_dict(self) -> dict[str, Any]:
        """Nested plain values."""
        return asdict(self)
