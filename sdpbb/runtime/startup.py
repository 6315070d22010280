"""Start of a process of this project. Light: it is imported first."""

from __future__ import annotations

import contextlib
import gc

TYPE_CHECKING = False  # what typing needs is not imported
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def lean_imports() -> Iterator[None]:
    """Context manager for the imports of a process of this project's own.

    Garbage is collected after the block: modules leave none, and looking for it takes a quarter of
    the time of all imports. Objects that are there by then are not looked at later either.
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if is_collecting:
            gc.enable()
