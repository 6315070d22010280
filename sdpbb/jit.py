"""`njit` of Numba, with the cache of `sdpbb.kernel_cache`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

NEWEST = (0, 68)
"""The newest release of Numba with which that cache was tested; newer ones have their own."""


def njit(*, cache: bool = False, **options: Any) -> Callable[[Kernel], Kernel]:
    """Return the decorator that Numba's `njit` returns for these options."""
    decorate = numba.njit(cache=cache, **options)

    def decorated(function: Kernel) -> Kernel:
        kernel: Any = decorate(function)
        if cache and is_tested(numba.__version__) and hasattr(kernel, "_cache"):
            from sdpbb.kernel_cache import KernelCache  # by parts that other releases may lack

            kernel._cache = KernelCache(function)
        return kernel  # type: ignore[no-any-return]

    return decorated


def is_tested(version: str) -> bool:
    """Return whether a version of Numba is none newer than those that were tested."""
    release = version.split(".")[:2]
    return all(map(str.isdecimal, release)) and tuple(map(int, release)) <= NEWEST
