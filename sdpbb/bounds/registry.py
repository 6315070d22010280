"""Bounding methods by name. Light: a method is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from sdpbb.bounds.bound import BoundingMethod


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


def bounding_method(name: str, *arguments: Any) -> BoundingMethod[Any]:
    """Return a method.

    arguments : of its constructor, the first the parameters of the semidefinite bound
        (`SdpParameters`)
    """
    return bounding_class(name)(*arguments)
