"""Error of a check that fails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Rejected(Exception):
    """A certificate does not prove what it claims; one line says why."""


@contextlib.contextmanager
def at(place: str) -> Iterator[None]:
    """Add the place in a certificate to a `Rejected` of the block."""
    try:
        yield
    except Rejected as error:
        raise Rejected(f"{place}: {error}") from None
