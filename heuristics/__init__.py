"""Upper bounds: assignment-based heuristics for constrained clustering.

The published methods are classes with a common `run` (see `Heuristic`), by name in
`heuristics.registry`, where a class of your own can be registered:

>>> import heuristics, sdpbb
>>> instance = sdpbb.Instance([[0.0], [0.1], [5.0], [5.1]], k=2, cannot_link=[(0, 1)])
>>> result = heuristics.PCCC(q=2).run(instance, seed=1)

The exact solver finds clusterings by `MultiStart`. It is built from `Assignment` (the exact
assignment step), `LocalSearch` (exchanges along Kempe chains) and `starts` (initial centres).
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heuristics.registry import register as register

if TYPE_CHECKING:
    from heuristics.assignment import Assignment as Assignment
    from heuristics.bckm import BCKM as BCKM
    from heuristics.best_of import BestOf as BestOf
    from heuristics.descent import HeuristicSolution as HeuristicSolution
    from heuristics.incumbents import MultiStart as MultiStart
    from heuristics.ipc_kmeans import IPCKMeans as IPCKMeans
    from heuristics.kmeans import COPKMeans as COPKMeans
    from heuristics.kmeans import KMeans as KMeans
    from heuristics.local_search import LocalSearch as LocalSearch
    from heuristics.measures import adjusted_rand_index as adjusted_rand_index
    from heuristics.measures import normalised_mutual_information as normalised_mutual_information
    from heuristics.measures import silhouette as silhouette
    from heuristics.method import Heuristic as Heuristic
    from heuristics.parameters import HeuristicSchedule as HeuristicSchedule
    from heuristics.parameters import MultiStartParameters as MultiStartParameters
    from heuristics.penalised import BLPKM as BLPKM
    from heuristics.penalised import PCCC as PCCC
    from heuristics.penalised import BHKMeans as BHKMeans
    from heuristics.post_processing import PostProcessing as PostProcessing
    from heuristics.result import HeuristicResult as HeuristicResult
    from heuristics.result import HeuristicStatus as HeuristicStatus

# The module of each public name, as the imports above state it.
_HOME = {
    alias.asname: str(node.module)
    for node in ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
    if alias.asname
}
__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    # Numba is slow to import, so that names are loaded on first use.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
