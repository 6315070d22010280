"""Bounding methods by name. Light: a method is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from sdpbb.bounds.method import BoundingMethod


@dataclass(frozen=True)
class MethodEntry:
    """Bounding method in the registry: where it is, and what is known before it is imported.

    summary : what bounds come from
    parameters : the fields of the parameters of a run that its constructor takes, in order
    kernels : the methods whose compiled loops it calls, the one that it begins with first; "-rare"
        stands for those of a method that few runs call
    keeps_cluster_constraints : whether it takes constraints on clusters that are more than
        cannot-links
    """

    module: str
    class_name: str
    summary: str
    parameters: tuple[str, ...]
    kernels: tuple[str, ...]
    keeps_cluster_constraints: bool = True


Bounding = Literal["sdp", "colgen", "hybrid", "decomposition"]
"""The names of the methods."""

BOUNDING_METHODS: Mapping[str, MethodEntry] = {
    "sdp": MethodEntry(
        "sdpbb.bounds.sdp.bounding",
        "SdpBounding",
        "the semidefinite relaxation",
        parameters=("sdp",),
        kernels=("sdp", "sdp-rare"),
        keeps_cluster_constraints=False,
    ),
    "colgen": MethodEntry(
        "sdpbb.bounds.colgen.bounding",
        "ColgenBounding",
        "column generation, for many small clusters",
        parameters=("colgen", "sdp"),
        kernels=("colgen",),
    ),
    "hybrid": MethodEntry(
        "sdpbb.bounds.hybrid.bounding",
        "HybridBounding",
        "both, each where it is stronger",
        parameters=("sdp", "colgen", "hybrid", "places"),
        kernels=("sdp", "sdp-rare", "colgen", "places"),
    ),
    "decomposition": MethodEntry(
        "sdpbb.bounds.hybrid.bounding",
        "HybridBounding",
        "first bounds of subsets, then both",
        parameters=("sdp", "colgen", "hybrid", "places"),
        kernels=("sdp", "sdp-rare", "colgen", "places"),
    ),
}


def bounding_class(name: str) -> type[BoundingMethod[Any]]:
    """Return the class of a method."""
    entry = BOUNDING_METHODS[name]
    found: type[BoundingMethod[Any]] = getattr(import_module(entry.module), entry.class_name)
    return found


def bounding_method(name: str, parameters: Any = None) -> BoundingMethod[Any]:
    """Return a method.

    parameters : of a run (`SolverParameters`), from which it takes its own; None for the defaults
    """
    fields = () if parameters is None else BOUNDING_METHODS[name].parameters
    return bounding_class(name)(*(getattr(parameters, field) for field in fields))
