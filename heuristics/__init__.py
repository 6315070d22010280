"""Upper bounds: assignment-based heuristics for constrained clustering.

The published methods are classes with a common `run` (see `Heuristic`), by name in
`heuristics.registry`, where a class of your own can be registered:

>>> import heuristics, sdpbb
>>> instance = sdpbb.Instance([[0.0], [0.1], [5.0], [5.1]], k=2, cannot_link=[(0, 1)])
>>> result = heuristics.PCCC(q=2).run(instance, seed=1)

`MultiStart` is what the exact solver finds clusterings with; it is built from `Assignment` (the
exact assignment step), `LocalSearch` (exchanges along Kempe chains) and `starts` (initial centres).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from heuristics.registry import METHODS, register

if TYPE_CHECKING:
    from heuristics.assignment import Assignment
    from heuristics.descent import HeuristicSolution
    from heuristics.local_search import LocalSearch
    from heuristics.measures import (
        adjusted_rand_index,
        normalised_mutual_information,
        silhouette,
    )
    from heuristics.method import Heuristic
    from heuristics.multi_start import MultiStart
    from heuristics.parameters import HeuristicSchedule, MultiStartParameters
    from heuristics.result import HeuristicResult, HeuristicStatus

__all__ = [
    "Assignment",
    "Heuristic",
    "HeuristicResult",
    "HeuristicSchedule",
    "HeuristicSolution",
    "HeuristicStatus",
    "LocalSearch",
    "MultiStart",
    "MultiStartParameters",
    "adjusted_rand_index",
    "normalised_mutual_information",
    "register",
    "silhouette",
]
_HOME = {
    "Assignment": "heuristics.assignment",
    "Heuristic": "heuristics.method",
    "HeuristicResult": "heuristics.result",
    "HeuristicSchedule": "heuristics.parameters",
    "HeuristicSolution": "heuristics.descent",
    "HeuristicStatus": "heuristics.result",
    "LocalSearch": "heuristics.local_search",
    "MultiStart": "heuristics.multi_start",
    "MultiStartParameters": "heuristics.parameters",
    "adjusted_rand_index": "heuristics.measures",
    "normalised_mutual_information": "heuristics.measures",
    "silhouette": "heuristics.measures",
}
for _place in METHODS.values():
    if isinstance(_place, str):
        _module, _, _class_name = _place.partition(":")
        _HOME[_class_name] = _module
        __all__ += [_class_name]


def __getattr__(name: str) -> Any:
    # Numba is slow to import, so that names are loaded on first use.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
