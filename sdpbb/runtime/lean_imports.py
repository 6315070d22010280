"""Imports without what the libraries import on the side. Light: for the start of processes."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NUMPY_ON_DEMAND = ("f2py", "testing")
NUMBA_SETTINGS = ".numba_config.yaml"


@contextmanager
def lean_imports() -> Iterator[None]:
    """Context manager for the imports of a process of this project's own, in its only thread.

    SciPy copies all names of NumPy, with modules that NumPy imports on demand: one that translates
    Fortran, and one for tests. Numba imports YAML, for a file of settings. Nobody here uses them,
    and they take a tenth of a second; after the block they can be imported as always.

    Garbage is collected after the block: modules leave none, and looking for it takes another tenth
    of a second. Objects that are there by then are not looked at later either.
    """
    import numpy

    modules: dict[str, Any] = sys.modules
    has_settings = os.path.exists(NUMBA_SETTINGS)
    absent = [] if has_settings or "yaml" in modules else ["yaml"]
    names = vars(numpy)
    unnamed = [name for name in NUMPY_ON_DEMAND if name not in names]
    is_collecting = gc.isenabled()
    gc.disable()
    names.update(dict.fromkeys(unnamed))  # a name that is there is not imported
    modules.update(dict.fromkeys(absent))  # importing None raises an ImportError
    try:
        yield
    finally:
        for name in absent:
            del modules[name]
        for name in unnamed:
            if names[name] is None:
                del names[name]
        gc.freeze()
        if is_collecting:
            gc.enable()
