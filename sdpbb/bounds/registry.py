"""Bounding methods by name. Light: a method is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from sdpbb.bounds.bound import BoundingMethod
    from sdpbb.bounds.sdp.parameters import SdpParameters


@dataclass(frozen=True)
class MethodEntry:
    """Bounding method in the registry: where it is, and what is known before it is imported.

    summary : what bounds come from
    keeps_cluster_constraints : whether it takes constraints on clusters beyond pairs and sizes
    """

    module: str
    class_name: str
    summary: str
    keeps_cluster_constraints: bool = True


Bounding = Literal["sdp", "colgen", "hybrid", "decomposition"]
"""The names of the methods."""

BOUNDING_METHODS: Mapping[str, MethodEntry] = {
    "sdp": MethodEntry(
        "sdpbb.bounds.sdp.bounding",
        "SdpBounding",
        "the semidefinite relaxation",
        keeps_cluster_constraints=False,
    ),
    "colgen": MethodEntry(
        "sdpbb.bounds.staged.methods",
        "ColgenBounding",
        "column generation, for many small clusters",
    ),
    "hybrid": MethodEntry(
        "sdpbb.bounds.staged.methods",
        "HybridBounding",
        "both, each where it is stronger",
    ),
    "decomposition": MethodEntry(
        "sdpbb.bounds.staged.methods",
        "HybridBounding",
        "first bounds of subsets, then both",
    ),
}


def bounding_class(name: str) -> type[BoundingMethod[Any]]:
    """Return the class of a method."""
    entry = BOUNDING_METHODS[name]
    found: type[BoundingMethod[Any]] = getattr(import_module(entry.module), entry.class_name)
    return found


def bounding_method(
    name: str, sdp: SdpParameters | None = None, max_pricing_slices: int | None = None
) -> BoundingMethod[Any]:
    """Return a method.

    sdp : parameters of the semidefinite bound; None: the default ones
    max_pricing_slices : of enumeration, for methods that price; None: the default number
    """
    make: Callable[..., BoundingMethod[Any]] = bounding_class(name)
    return make(sdp) if max_pricing_slices is None else make(sdp, max_pricing_slices)
