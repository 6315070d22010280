"""How a check ends that fails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Rejected(Exception):
    """A certificate proves not what it claims; one line says why."""


@contextlib.contextmanager
def at(place: str) -> Iterator[None]:
    """Say where in a certificate it is that a `Rejected` is about."""
    try:
        yield
    except Rejected as error:
        raise Rejected(f"{place}: {error}") from None
