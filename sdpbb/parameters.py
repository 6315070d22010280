"""The parameters of a run, composed of those of its components."""

from __future__ import annotations

import math
import numbers
from dataclasses import asdict, dataclass, field
from typing import Any

from sdpbb.bounds.colgen.parameters import ColgenParameters
from sdpbb.bounds.hybrid_parameters import HybridParameters
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import ParameterError
from sdpbb.search.parameters import SearchParameters

BOUNDINGS = ("sdp", "colgen", "hybrid")
# What is proven in a way that others can check loses more to rounding than what is not.
LEAST_CERTIFIED_GAP = 1e-9


@dataclass(frozen=True)
class SolverParameters:
    """What `sdpbb.solve` is asked for. NumPy's scalars are stored as plain numbers.

    Parameters
    ----------
    gap : stop when (upper - lower) / upper is at most this, >= 0. Differences below the rounding of
        double precision, relative to the total sum of squares, cannot be resolved whatever the gap
    time_limit : seconds, > 0. This and node_limit are for the whole run, including what it took
        before it was resumed
    node_limit : nodes whose bound is computed, >= 1; None for no limit
    memory_limit : MiB of resident memory of all processes of the run on this machine, > 0
    seed : of all random choices, >= 0
    workers : processes that evaluate nodes, >= 1. With one the run is repeatable; more are started
        only for runs that branch after a few seconds
    dask : the address of the scheduler of a Dask cluster whose workers evaluate nodes, in the place
        of local processes, so that workers must be 1; None for none
    bounding : where lower bounds come from: "sdp", the semidefinite relaxation; "colgen", column
        generation; or "hybrid", both, each where it is the better one
    certify : whether every bound is to be one that a certificate can show: see
        `sdpbb.solve(certificate=...)`, which sets it
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
        gap = _number(self.gap)
        if gap is None or not 0.0 <= gap < 1.0:
            raise _wrong("gap", self.gap, "a number in [0, 1)")
        time_limit = _number(self.time_limit)
        if time_limit is None or not time_limit > 0.0:
            raise _wrong("time_limit", self.time_limit, "seconds > 0")
        node_limit = None if self.node_limit is None else _integer(self.node_limit)
        if self.node_limit is not None and (node_limit is None or node_limit < 1):
            raise _wrong("node_limit", self.node_limit, "an integer >= 1, or None")
        memory_limit = _number(self.memory_limit)
        if memory_limit is None or not memory_limit > 0.0:
            raise _wrong("memory_limit", self.memory_limit, "MiB > 0")
        seed = _integer(self.seed)
        if seed is None or seed < 0:
            raise _wrong("seed", self.seed, "an integer >= 0")
        workers = _integer(self.workers)
        if workers is None or workers < 1:
            raise _wrong("workers", self.workers, "an integer >= 1")
        if self.dask is not None and not (isinstance(self.dask, str) and self.dask):
            raise _wrong("dask", self.dask, "an address such as tcp://host:8786, or None")
        if self.dask is not None and workers > 1:
            raise _wrong("dask", self.dask, f"no workers besides, instead of workers = {workers}")
        if self.bounding not in BOUNDINGS:
            raise _wrong("bounding", self.bounding, f"one of {', '.join(BOUNDINGS)}")
        if not isinstance(self.certify, bool):
            raise _wrong("certify", self.certify, "True or False")
        if self.certify and gap < LEAST_CERTIFIED_GAP:
            raise _wrong("gap", self.gap, f"{LEAST_CERTIFIED_GAP} or more for a certificate")
        kinds = {
            "sdp": SdpParameters,
            "colgen": ColgenParameters,
            "hybrid": HybridParameters,
            "search": SearchParameters,
        }
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                raise _wrong(name, getattr(self, name), f"a {kind.__name__}")
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

    def to_dict(self) -> dict[str, Any]:
        """Nested plain values."""
        return asdict(self)


def _number(value: object) -> float | None:
    """A real number, NumPy's included, as a float; None for all else."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer beyond all floats
        return None


def _integer(value: object) -> int | None:
    """An integer, NumPy's included, as an int; None for all else."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        return None
    return int(value)


def _wrong(parameter: str, value: object, expected: str) -> ParameterError:
    shown = repr(value)
    shown = " ".join((shown if len(shown) <= 60 else f"{shown[:57]}...").split())
    return ParameterError(f"{parameter} = {shown}: expected {expected}")
