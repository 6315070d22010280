"""Exact constrained minimum sum-of-squares clustering by branch and cut.

Bounds are semidefinite, from column generation, or (by default) from both.

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
    from sdpbb.batch import BatchParameters, BatchResult, run_batch
    from sdpbb.bounds.sdp.model import RelaxationModel, relaxation
    from sdpbb.checker.verdict import CertificateVerdict
    from sdpbb.constraint_checks import check_constraints
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
    from sdpbb.estimator import ExactConstrainedKMeans
    from sdpbb.explanation.conflict import Conflict
    from sdpbb.explanation.explain import explain_infeasibility
    from sdpbb.explanation.report import ConstraintReport
    from sdpbb.explanation.statements import Statement
    from sdpbb.gaps.gap import optimality_gap
    from sdpbb.gaps.report import GapReport, LabelVerdict
    from sdpbb.html_report import write_html_report
    from sdpbb.interruption import Interrupted
    from sdpbb.methods import heuristic
    from sdpbb.parameters import SolverParameters
    from sdpbb.prices.prices import constraint_prices, stated_constraints
    from sdpbb.prices.report import Price, PriceReport
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
    from sdpbb.problem.violations import Violation
    from sdpbb.queries.report import Query, QueryReport
    from sdpbb.queries.suggest import suggest_queries
    from sdpbb.report import ProgressTable
    from sdpbb.result import Result, SolutionStatus, Termination
    from sdpbb.solver import resume, solve
    from sdpbb.sweeps.report import SweepEntry, SweepReport
    from sdpbb.sweeps.sweep import sweep
    from sdpbb.traces.file import read_trace
    from sdpbb.traces.trace import Trace
    from sdpbb.verification import verify_certificate

    __version__: str

# Every module of kernels is imported after this package, and heeds it.
ensure_cache_folder()

_HOME = {
    "AllOf": "sdpbb.problem",
    "AnyOf": "sdpbb.problem",
    "ArchiveError": "sdpbb.errors",
    "BackendFailure": "sdpbb.errors",
    "BackendUnavailable": "sdpbb.errors",
    "BatchParameters": "sdpbb.batch",
    "BatchResult": "sdpbb.batch",
    "CertificateError": "sdpbb.errors",
    "CertificateVerdict": "sdpbb.checker.verdict",
    "ClusterConstraint": "sdpbb.problem",
    "Conflict": "sdpbb.explanation.conflict",
    "ConstraintReport": "sdpbb.explanation.report",
    "ExactConstrainedKMeans": "sdpbb.estimator",
    "FileInUse": "sdpbb.errors",
    "GapReport": "sdpbb.gaps.report",
    "HeuristicResult": "heuristics.result",
    "Instance": "sdpbb.problem",
    "InstanceError": "sdpbb.errors",
    "InstanceWarning": "sdpbb.errors",
    "Interrupted": "sdpbb.interruption",
    "LabelVerdict": "sdpbb.gaps.report",
    "MaximumDiameter": "sdpbb.problem",
    "MaximumOverlap": "sdpbb.problem",
    "MaximumSize": "sdpbb.problem",
    "MinimumDifference": "sdpbb.problem",
    "ParameterError": "sdpbb.errors",
    "Partition": "sdpbb.problem",
    "Price": "sdpbb.prices.report",
    "PriceReport": "sdpbb.prices.report",
    "ProgressTable": "sdpbb.report",
    "Query": "sdpbb.queries.report",
    "QueryReport": "sdpbb.queries.report",
    "RelaxationModel": "sdpbb.bounds.sdp.model",
    "Result": "sdpbb.result",
    "SdpbbError": "sdpbb.errors",
    "SoftCannotLinks": "sdpbb.problem",
    "SolutionStatus": "sdpbb.result",
    "SolverParameters": "sdpbb.parameters",
    "Statement": "sdpbb.explanation.statements",
    "SweepEntry": "sdpbb.sweeps.report",
    "SweepReport": "sdpbb.sweeps.report",
    "Termination": "sdpbb.result",
    "Trace": "sdpbb.traces.trace",
    "Violation": "sdpbb.problem.violations",
    "check_constraints": "sdpbb.constraint_checks",
    "constraint_prices": "sdpbb.prices.prices",
    "explain_infeasibility": "sdpbb.explanation.explain",
    "heuristic": "sdpbb.methods",
    "optimality_gap": "sdpbb.gaps.gap",
    "read_instance": "sdpbb.problem.formats",
    "read_trace": "sdpbb.traces.file",
    "relaxation": "sdpbb.bounds.sdp.model",
    "resume": "sdpbb.solver",
    "run_batch": "sdpbb.batch",
    "solve": "sdpbb.solver",
    "stated_constraints": "sdpbb.prices.prices",
    "suggest_queries": "sdpbb.queries.suggest",
    "sweep": "sdpbb.sweeps.sweep",
    "verify_certificate": "sdpbb.verification",
    "write_html_report": "sdpbb.html_report",
}

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
    "check_constraints",
    "constraint_prices",
    "explain_infeasibility",
    "heuristic",
    "optimality_gap",
    "read_instance",
    "read_trace",
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
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
