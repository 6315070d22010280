"""Reports of the run of a heuristic: header, summary, JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heuristics.result import HeuristicResult, HeuristicStatus, Violations
from sdpbb.app.cli.inputs import constraint_counts
from sdpbb.problem import Instance, Partition
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.values import counted

_NAMES = {
    "adjusted_rand_index": "Adjusted Rand index",
    "normalised_mutual_information": "Mutual information",
    "silhouette": "Silhouette",
}


@dataclass(frozen=True)
class HeuristicReport:
    """A result with what belongs to it.

    measures : by name; None for what is not defined for the clustering
    parameters : of the method
    """

    instance: Instance
    result: HeuristicResult
    measures: Mapping[str, float | None]
    parameters: Mapping[str, Any]
    version: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; numbers that are not finite become None."""
        parameters = {name: _finite_or_none(value) for name, value in self.parameters.items()}
        return {
            "instance": self.instance.name,
            **self.result.to_dict(),
            "measures": dict(self.measures),
            "parameters": parameters,
            "version": self.version,
        }

    def summary(self) -> str:
        """Return what was found, what it violates and what it took, over several lines."""
        result = self.result
        lines = [("Status", _status(self.instance, result))]
        if result.sum_of_squares is not None:
            lines.append(("Sum of squares", f"{result.sum_of_squares:.12g}"))
        if result.penalised_objective is not None:
            lines.append(("Penalised objective", f"{result.penalised_objective:.12g}"))
        if result.violations is not None:
            lines.append(("Violated", _violated(self.instance, result.violations)))
        if result.labels is not None:
            lines.append(("Clusters", str(Partition(result.labels))))
        lines += [
            ("Iterations", str(result.n_iterations)),
            ("Time", f"{result.seconds:.2f} s"),
            ("Stopped", result.stop.value),
        ]
        lines += [(_NAMES[name], _measure(name, value)) for name, value in self.measures.items()]
        return "\n".join(f"{name:<20} {text}" for name, text in lines)


def header(method: str, instance: Instance, version: str) -> str:
    """Return the header: method and instance."""
    counts = constraint_counts(instance)
    constraints = [counted(count, kind) for kind, count in counts.items() if count]
    constraints += instance.stated_limits
    return (
        f"sdpbb {version}: constrained clustering by {method}, without a proof\n"
        f"{shown_path(instance.name) or 'unnamed'}: {counted(instance.n_points, 'point')}"
        f"{'' if instance.weights is None else ' with weights'}, "
        f"{counted(instance.n_features, 'feature')}, k = {instance.k}, "
        f"{', '.join(constraints) or 'no constraints'}\n"
    )


def _status(instance: Instance, result: HeuristicResult) -> str:
    status = result.status.value
    match result.status:
        case HeuristicStatus.INFEASIBLE:
            return f"proven infeasible: {result.infeasibility}"
        case HeuristicStatus.NOT_FOUND:
            return status
        case HeuristicStatus.FOUND:
            if not (len(instance.must_link) or len(instance.cannot_link)):
                return status
            kept = "satisfies" if result.keeps_hard_constraints else "does not satisfy"
            return f"{status}; it {kept} the hard constraints"


def _violated(instance: Instance, violations: Violations) -> str:
    numbers = {
        "must-link": violations.must_link,
        "cannot-link": violations.cannot_link,
        "soft must-link": violations.soft_must_link,
        "soft cannot-link": violations.soft_cannot_link,
    }
    counts = constraint_counts(instance)
    violated = [
        f"{number} of {counted(counts[kind], kind)}" for kind, number in numbers.items() if number
    ]
    if violations.empty:
        violated.append(f"{violations.empty} of {counted(instance.k, 'cluster')} empty")
    if violations.soft_weight:
        violated.append(f"soft weight {violations.soft_weight:.6g}")
    return ", ".join(violated) or "no constraint"


def _measure(name: str, value: float | None) -> str:
    if value is None:
        return "not defined for this clustering"
    return f"{value:.4f}{' (normalised)' if name.startswith('normalised') else ''}"


def _finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
