"""Upper bounds: assignment-based heuristics for constrained clustering.

`IPCKMeans` finds clusterings that keep the constraints; it is built from `Assignment` (the exact
assignment step), `LocalSearch` (exchanges along Kempe chains) and `starts` (initial centres).
"""

from importlib import import_module

_HOME = {
    "Assignment": "heuristics.assignment",
    "HeuristicSolution": "heuristics.ipc_kmeans",
    "IPCKMeans": "heuristics.ipc_kmeans",
    "IPCKMeansParameters": "heuristics.parameters",
    "LocalSearch": "heuristics.local_search",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    # Numba is slow to import, so that names are loaded on first use.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
