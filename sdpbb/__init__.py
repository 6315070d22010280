"""Exact constrained minimum sum-of-squares clustering by branch and cut.

Bounds are semidefinite, from column generation, or (by default) from both.

>>> import sdpbb
>>> instance = sdpbb.Instance([[0.0], [0.1], [5.0], [5.1]], k=2, cannot_link=[(0, 1)])
>>> result = sdpbb.solve(instance)

The public names are loaded when they are first used: the engine and its compiler take seconds to
import, which neither a help text nor an error message should wait for.
"""

from __future__ import annotations

import re
from importlib import import_module

from sdpbb.runtime.version import installed_version

TYPE_CHECKING = False  # the typing module takes longer to import than all that is imported here
if TYPE_CHECKING:
    from typing import Any

    from heuristics.result import HeuristicResult as HeuristicResult
    from sdpbb.app.estimator import ExactConstrainedKMeans as ExactConstrainedKMeans
    from sdpbb.bounds.sdp.model import RelaxationModel as RelaxationModel
    from sdpbb.bounds.sdp.model import relaxation as relaxation
    from sdpbb.checker.kernel.verdict import CertificateVerdict as CertificateVerdict
    from sdpbb.errors import ArchiveError as ArchiveError
    from sdpbb.errors import BackendFailure as BackendFailure
    from sdpbb.errors import BackendUnavailable as BackendUnavailable
    from sdpbb.errors import CertificateError as CertificateError
    from sdpbb.errors import FileInUse as FileInUse
    from sdpbb.errors import InstanceError as InstanceError
    from sdpbb.errors import InstanceWarning as InstanceWarning
    from sdpbb.errors import ParameterError as ParameterError
    from sdpbb.errors import SdpbbError as SdpbbError
    from sdpbb.plots.pages import write_html_report as write_html_report
    from sdpbb.problem import AllOf as AllOf
    from sdpbb.problem import AnyOf as AnyOf
    from sdpbb.problem import ClusterConstraint as ClusterConstraint
    from sdpbb.problem import Instance as Instance
    from sdpbb.problem import MaximumDiameter as MaximumDiameter
    from sdpbb.problem import MaximumOverlap as MaximumOverlap
    from sdpbb.problem import MaximumSize as MaximumSize
    from sdpbb.problem import MinimumDifference as MinimumDifference
    from sdpbb.problem import Partition as Partition
    from sdpbb.problem import SoftCannotLinks as SoftCannotLinks
    from sdpbb.problem.formats import read_instance as read_instance
    from sdpbb.problem.partition import Violation as Violation
    from sdpbb.problem.statements import Conflict as Conflict
    from sdpbb.problem.statements import Statement as Statement
    from sdpbb.problem.statements import stated_constraints as stated_constraints
    from sdpbb.questions.batch.batch import BatchParameters as BatchParameters
    from sdpbb.questions.batch.batch import run_batch as run_batch
    from sdpbb.questions.batch.outcome import BatchResult as BatchResult
    from sdpbb.questions.certainty import CertaintyReport as CertaintyReport
    from sdpbb.questions.certainty import certainty as certainty
    from sdpbb.questions.check import ConstraintReport as ConstraintReport
    from sdpbb.questions.check import check_constraints as check_constraints
    from sdpbb.questions.gap import GapReport as GapReport
    from sdpbb.questions.gap import LabelVerdict as LabelVerdict
    from sdpbb.questions.gap import optimality_gap as optimality_gap
    from sdpbb.questions.price import Price as Price
    from sdpbb.questions.price import PriceReport as PriceReport
    from sdpbb.questions.price import constraint_prices as constraint_prices
    from sdpbb.questions.suggest import Query as Query
    from sdpbb.questions.suggest import QueryReport as QueryReport
    from sdpbb.questions.suggest import suggest_queries as suggest_queries
    from sdpbb.questions.sweep import SweepEntry as SweepEntry
    from sdpbb.questions.sweep import SweepReport as SweepReport
    from sdpbb.questions.sweep import sweep as sweep
    from sdpbb.run.explanation import explain_infeasibility as explain_infeasibility
    from sdpbb.run.heuristic import heuristic as heuristic
    from sdpbb.run.parameters import SolverParameters as SolverParameters
    from sdpbb.run.report import ProgressTable as ProgressTable
    from sdpbb.run.solver import resume as resume
    from sdpbb.run.solver import solve as solve
    from sdpbb.run.verification import verify_certificate as verify_certificate
    from sdpbb.runtime.interruption import Interrupted as Interrupted
    from sdpbb.search.result import Result as Result
    from sdpbb.search.result import SolutionStatus as SolutionStatus
    from sdpbb.search.result import Termination as Termination
    from sdpbb.search.trace import Trace as Trace

    __version__: str

_PACKAGES = ("checker", "constraint_sets", "datasets")
"""Public packages within this one, imported when they are first used."""
with open(__file__, encoding="utf-8") as _source:
    _IMPORTS = re.findall(r"^    from (\S+) import \w+ as (\w+)$", _source.read(), re.MULTILINE)
_MODULES = {name: module for module, name in _IMPORTS}
"""Modules of the public names, as the imports above state them."""

__all__ = [*sorted(_MODULES), "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return installed_version()
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
