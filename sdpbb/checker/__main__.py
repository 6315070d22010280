"""`python -m sdpbb.checker ...`, and `python FOLDER ...` for a copy of this folder."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path


def _package() -> str:
    """Load the package of this file, and return its name.

    Python puts a folder that is started by its path on the search path. Here the folder is made a
    package instead, with its own name.
    """
    if __package__:
        return __package__
    folder = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != folder]
    sys.path.insert(0, str(folder.parent))
    importlib.import_module(folder.name)
    del sys.path[0]
    return folder.name


# Two BLAS threads have slowed small eigenvalue problems down by factors. NumPy names its BLAS only
# after it is loaded.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")

if __name__ == "__main__":
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    sys.exit(importlib.import_module(f"{_package()}.command").main(sys.argv[1:]))
