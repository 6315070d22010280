"""Upper bounds: assignment-based heuristics for constrained clustering.

The published methods are classes with a common `run` (see `Heuristic`), by name in
`heuristics.registry`:

>>> import heuristics, sdpbb
>>> instance = sdpbb.Instance([[0.0], [0.1], [5.0], [5.1]], k=2, cannot_link=[(0, 1)])
>>> result = heuristics.PCCC(q=2).run(instance, seed=1)

`MultiStart` is what the exact solver finds clusterings with; it is built from `Assignment` (the
exact assignment step), `LocalSearch` (exchanges along Kempe chains) and `starts` (initial centres).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from heuristics.registry import METHODS

if TYPE_CHECKING:
    from heuristics.assignment import Assignment
    from heuristics.bckm import BCKM
    from heuristics.best_of import BestOf
    from heuristics.bh_kmeans import BHKMeans
    from heuristics.blpkm import BLPKM
    from heuristics.cop_kmeans import COPKMeans
    from heuristics.ipc_kmeans import IPCKMeans
    from heuristics.kmeans import KMeans
    from heuristics.local_search import LocalSearch
    from heuristics.measures import (
        adjusted_rand_index,
        normalised_mutual_information,
        silhouette,
    )
    from heuristics.method import Heuristic
    from heuristics.multi_start import HeuristicSolution, MultiStart
    from heuristics.parameters import MultiStartParameters
    from heuristics.pccc import PCCC
    from heuristics.post_processing import PostProcessing
    from heuristics.result import HeuristicResult, HeuristicStatus

_HOME = {
    "Assignment": "heuristics.assignment",
    "Heuristic": "heuristics.method",
    "HeuristicResult": "heuristics.result",
    "HeuristicSolution": "heuristics.multi_start",
    "HeuristicStatus": "heuristics.result",
    "LocalSearch": "heuristics.local_search",
    "MultiStart": "heuristics.multi_start",
    "MultiStartParameters": "heuristics.parameters",
    "adjusted_rand_index": "heuristics.measures",
    "normalised_mutual_information": "heuristics.measures",
    "silhouette": "heuristics.measures",
    **{entry.class_name: entry.module for entry in METHODS.values()},
}

__all__ = [
    "BCKM",
    "BLPKM",
    "PCCC",
    "Assignment",
    "BHKMeans",
    "BestOf",
    "COPKMeans",
    "Heuristic",
    "HeuristicResult",
    "HeuristicSolution",
    "HeuristicStatus",
    "IPCKMeans",
    "KMeans",
    "LocalSearch",
    "MultiStart",
    "MultiStartParameters",
    "PostProcessing",
    "adjusted_rand_index",
    "normalised_mutual_information",
    "silhouette",
]


def __getattr__(name: str) -> Any:
    # Numba is slow to import, so that names are loaded on first use.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
