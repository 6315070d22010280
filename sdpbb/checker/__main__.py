"""`python -m sdpbb.checker ...`, and `python FOLDER ...` for a copy of this folder."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path

_COPY = "certificate_checker"


def _package() -> str:
    """Return the name of the package that this file belongs to.

    One is made for a folder that was started by its path.
    """
    if __package__:
        return __package__
    folder = Path(__file__).resolve().parent
    # Started by its path, a folder stands on the search path itself; its modules are a package's.
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != folder]
    spec = importlib.util.spec_from_file_location(
        _COPY, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder}: is no package")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_COPY] = module
    spec.loader.exec_module(module)
    return _COPY


# Two BLAS threads have been seen to slow small eigenvalue problems down by factors; which library
# NumPy comes with, it does not say before it is loaded.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")

if __name__ == "__main__":
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    sys.exit(importlib.import_module(f"{_package()}.command").main(sys.argv[1:]))
