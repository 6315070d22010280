"""Error of a check that fails."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Rejected(Exception):
    """A certificate does not prove what it claims; one line says why."""


@contextlib.contextmanager
def at(place: str) -> Iterator[None]:
    """Context manager that adds the place in a certificate to a `Rejected`.

    An overflow becomes a `Rejected`, too.
    """
    try:
        yield
    except Rejected as error:
        raise Rejected(f"{place}: {error}") from None
    except OverflowError:  # of `math`, where NumPy has infinity
        raise Rejected(f"{place}: numbers too far apart to calculate with") from None
