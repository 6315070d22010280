"""Exact constrained minimum sum-of-squares clustering, by branch and cut over semidefinite bounds.

>>> import sdpbb
>>> instance = sdpbb.Instance([[0.0], [0.1], [5.0], [5.1]], k=2, cannot_link=[(0, 1)])
>>> result = sdpbb.solve(instance)

The public names are loaded when they are first used: the engine and its compiler take seconds to
import, which neither a help text nor an error message should wait for.
"""

from __future__ import annotations

from importlib import import_module

from sdpbb.cache_folder import ensure_cache_folder
from sdpbb.version import installed_version

TYPE_CHECKING = False  # the typing module takes longer to import than all that is imported here
if TYPE_CHECKING:
    from typing import Any

    from heuristics.result import HeuristicResult
    from sdpbb.errors import (
        ArchiveError,
        BackendFailure,
        BackendUnavailable,
        InstanceError,
        ParameterError,
        SdpbbError,
    )
    from sdpbb.methods import heuristic
    from sdpbb.parameters import SolverParameters
    from sdpbb.problem import (
        AllOf,
        AnyOf,
        ClusterConstraint,
        Instance,
        MaximumDiameter,
        MaximumOverlap,
        MaximumSize,
        MinimumDifference,
        Partition,
        SoftCannotLinks,
    )
    from sdpbb.problem.formats import read_instance
    from sdpbb.result import Result, SolutionStatus, Termination
    from sdpbb.solver import resume, solve

    __version__: str

# Every module of kernels is imported after this package, and heeds it.
ensure_cache_folder()

_HOME = {
    "AllOf": "sdpbb.problem",
    "AnyOf": "sdpbb.problem",
    "ArchiveError": "sdpbb.errors",
    "BackendFailure": "sdpbb.errors",
    "BackendUnavailable": "sdpbb.errors",
    "ClusterConstraint": "sdpbb.problem",
    "HeuristicResult": "heuristics.result",
    "Instance": "sdpbb.problem",
    "InstanceError": "sdpbb.errors",
    "MaximumDiameter": "sdpbb.problem",
    "MaximumOverlap": "sdpbb.problem",
    "MaximumSize": "sdpbb.problem",
    "MinimumDifference": "sdpbb.problem",
    "ParameterError": "sdpbb.errors",
    "Partition": "sdpbb.problem",
    "Result": "sdpbb.result",
    "SdpbbError": "sdpbb.errors",
    "SoftCannotLinks": "sdpbb.problem",
    "SolutionStatus": "sdpbb.result",
    "SolverParameters": "sdpbb.parameters",
    "Termination": "sdpbb.result",
    "heuristic": "sdpbb.methods",
    "read_instance": "sdpbb.problem.formats",
    "resume": "sdpbb.solver",
    "solve": "sdpbb.solver",
}

__all__ = [
    "AllOf",
    "AnyOf",
    "ArchiveError",
    "BackendFailure",
    "BackendUnavailable",
    "ClusterConstraint",
    "HeuristicResult",
    "Instance",
    "InstanceError",
    "MaximumDiameter",
    "MaximumOverlap",
    "MaximumSize",
    "MinimumDifference",
    "ParameterError",
    "Partition",
    "Result",
    "SdpbbError",
    "SoftCannotLinks",
    "SolutionStatus",
    "SolverParameters",
    "Termination",
    "__version__",
    "heuristic",
    "read_instance",
    "resume",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return installed_version()
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
