"""Exact constrained minimum sum-of-squares clustering by branch and cut.

Bounds are semidefinite, from column generation, or (by default) from both.

>>> import sdpbb
>>> instance = sdpbb.Instance([[0.0], [0.1], [5.0], [5.1]], k=2, cannot_link=[(0, 1)])
>>> result = sdpbb.solve(instance)

The public names are loaded when they are first used: the engine and its compiler take seconds to
import, which neither a help text nor an error message should wait for.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from sdpbb.runtime.version import installed_version

TYPE_CHECKING = False  # the typing module takes longer to import than all that is imported here
if TYPE_CHECKING:
    from typing import Any

    from heuristics.result import HeuristicResult
    from sdpbb.app.estimator import ExactConstrainedKMeans
    from sdpbb.bounds.sdp.model import RelaxationModel, relaxation
    from sdpbb.checker.kernel.verdict import CertificateVerdict
    from sdpbb.errors import (
        ArchiveError,
        BackendFailure,
        BackendUnavailable,
        CertificateError,
        FileInUse,
        InstanceError,
        InstanceWarning,
        ParameterError,
        SdpbbError,
    )
    from sdpbb.plots.pages import write_html_report
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
    from sdpbb.problem.partition import Violation
    from sdpbb.problem.statements import Conflict, Statement, stated_constraints
    from sdpbb.questions.batch.batch import BatchParameters, run_batch
    from sdpbb.questions.batch.outcome import BatchResult
    from sdpbb.questions.certainty import certainty
    from sdpbb.questions.certainty_report import CertaintyReport
    from sdpbb.questions.check import ConstraintReport, check_constraints
    from sdpbb.questions.gap import GapReport, LabelVerdict, optimality_gap
    from sdpbb.questions.price import Price, PriceReport, constraint_prices
    from sdpbb.questions.suggest import Query, QueryReport, suggest_queries
    from sdpbb.questions.sweep import SweepEntry, SweepReport, sweep
    from sdpbb.run.explanation import explain_infeasibility
    from sdpbb.run.heuristic import heuristic
    from sdpbb.run.parameters import SolverParameters
    from sdpbb.run.report import ProgressTable
    from sdpbb.run.solver import resume, solve
    from sdpbb.run.verification import verify_certificate
    from sdpbb.runtime.interruption import Interrupted
    from sdpbb.search.result import Result, SolutionStatus, Termination
    from sdpbb.search.trace import Trace

    __version__: str

_PACKAGES = ("checker", "constraint_sets", "datasets")
"""Public packages within this one, imported when they are first used."""

__all__ = [
    "AllOf",
    "AnyOf",
    "ArchiveError",
    "BackendFailure",
    "BackendUnavailable",
    "BatchParameters",
    "BatchResult",
    "CertaintyReport",
    "CertificateError",
    "CertificateVerdict",
    "ClusterConstraint",
    "Conflict",
    "ConstraintReport",
    "ExactConstrainedKMeans",
    "FileInUse",
    "GapReport",
    "HeuristicResult",
    "Instance",
    "InstanceError",
    "InstanceWarning",
    "Interrupted",
    "LabelVerdict",
    "MaximumDiameter",
    "MaximumOverlap",
    "MaximumSize",
    "MinimumDifference",
    "ParameterError",
    "Partition",
    "Price",
    "PriceReport",
    "ProgressTable",
    "Query",
    "QueryReport",
    "RelaxationModel",
    "Result",
    "SdpbbError",
    "SoftCannotLinks",
    "SolutionStatus",
    "SolverParameters",
    "Statement",
    "SweepEntry",
    "SweepReport",
    "Termination",
    "Trace",
    "Violation",
    "__version__",
    "certainty",
    "check_constraints",
    "constraint_prices",
    "explain_infeasibility",
    "heuristic",
    "optimality_gap",
    "read_instance",
    "relaxation",
    "resume",
    "run_batch",
    "solve",
    "stated_constraints",
    "suggest_queries",
    "sweep",
    "verify_certificate",
    "write_html_report",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return installed_version()
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_modules()[name]), name)
    globals()[name] = value
    return value


@cache
def _modules() -> dict[str, str]:
    """Return the module of each public name, as the imports for type checkers state it."""
    import ast

    with open(__file__, "rb") as file:
        nodes = ast.walk(ast.parse(file.read()))
    imports = (node for node in nodes if isinstance(node, ast.ImportFrom))
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
