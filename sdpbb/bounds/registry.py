"""Bounding methods by name. Light: a method is imported when it is requested."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from sdpbb.bounds.bound import BoundingMethod
    from sdpbb.bounds.sdp.parameters import SdpParameters

Bounding = Literal["sdp", "colgen", "hybrid", "decomposition"]
"""The names of the methods."""

# Runs of "decomposition" bound subsets first.
BOUNDING_METHODS: dict[str, str] = {
    "sdp": "sdpbb.bounds.sdp.bounding:SdpBounding",
    "colgen": "sdpbb.bounds.staged.methods:ColgenBounding",
    "hybrid": "sdpbb.bounds.staged.methods:HybridBounding",
    "decomposition": "sdpbb.bounds.staged.methods:HybridBounding",
}
"""The class of each method."""

# Methods that support no constraints on clusters beyond pairs and sizes.
ONLY_PAIRS_AND_SIZES = ("sdp",)


def bounding_class(name: str) -> type[BoundingMethod[Any]]:
    """Return the class of a method."""
    found: type[BoundingMethod[Any]] = resolve_name(BOUNDING_METHODS[name])
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
