"""Result of a heuristic: status, clustering, violated constraints, and the reason of the end."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction, Infeasibility, Instance, Partition
from sdpbb.runtime.document import Document, Facts, Tone, Verdict
from sdpbb.runtime.results import Reported, values_of
from sdpbb.runtime.values import counted, seconds_text


class HeuristicStatus(Enum):
    """Status of a result."""

    FOUND = "a clustering was found"
    INFEASIBLE = "proven: no clustering satisfies the hard constraints"
    NOT_FOUND = "no clustering found, and no proof that none exists"


class Stop(Enum):
    """Reason for which a run ended."""

    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    DEAD_END = "dead end: a point could not join any cluster"
    INFEASIBLE = "infeasible"


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Outcome of the search of a method, or of one of its starts.

    Attributes
    ----------
    labels : (n,) of the points, or (m,) of blocks, any numbering; None: no clustering was found
    stop : reason of the end
    n_iterations : assignment steps
    penalised_objective : objective of the method, if it weighs soft constraints
    cost : for comparing starts
    """

    labels: NDArray[np.intp] | None
    stop: Stop
    n_iterations: int
    penalised_objective: float | None = None
    cost: float = math.inf

    @property
    def found(self) -> NDArray[np.intp]:
        """The labels, if a clustering was found."""
        assert self.labels is not None
        return self.labels

    def lifted(self, contraction: Contraction) -> SearchResult:
        """Return the outcome with labels of the points instead of labels of the blocks."""
        if self.labels is None:
            return self
        return replace(self, labels=contraction.lift(self.labels))


@dataclass(frozen=True)
class Violations:
    """Numbers of violated constraints by kind, and the weight of the soft ones.

    cannot_link : including pairs of points in a cluster that are farther apart than the maximum
        diameter
    empty : empty clusters
    """

    must_link: int = 0
    cannot_link: int = 0
    soft_must_link: int = 0
    soft_cannot_link: int = 0
    soft_weight: float = 0.0
    empty: int = 0

    @property
    def hard(self) -> int:
        return self.must_link + self.cannot_link

    def __str__(self) -> str:
        kinds = ("must-link", "cannot-link", "soft must-link", "soft cannot-link")
        numbers = (self.must_link, self.cannot_link, self.soft_must_link, self.soft_cannot_link)
        texts = [counted(n, kind) for n, kind in zip(numbers, kinds, strict=True) if n]
        if self.empty:
            texts.append(counted(self.empty, "empty cluster"))
        if self.soft_weight:
            texts.append(f"soft weight {self.soft_weight:.6g}")
        return ", ".join(texts) or "no constraint"

    @staticmethod
    def of(instance: Instance, labels: NDArray[np.intp]) -> Violations:
        """Count the violations of labels (n,) of the points."""
        partition = Partition(labels)
        must_link, cannot_link = partition.violations(instance)
        soft_must_link, soft_cannot_link = partition.soft_violations(instance)
        return Violations(
            len(must_link),
            len(cannot_link),
            len(soft_must_link),
            len(soft_cannot_link),
            partition.penalty(instance),
            instance.k - partition.n_clusters,
        )


@dataclass(frozen=True, eq=False, repr=False)
class HeuristicResult(Reported):
    """Result of `run` of any heuristic.

    Attributes
    ----------
    method, seed : of the run
    status : whether there is a clustering
    stop : why the run ended
    labels : (n,) clusters 0..k-1 of the points, in the canonical order of `Partition`, or None
    centers : (k, d) the means of the clusters in the user's units, or None; fewer than k rows if
        clusters are empty (only methods that ignore or soften constraints do that)
    sum_of_squares : of the labels around these means; None without labels
    penalised_objective : objective of a method that weighs soft constraints; None for the others
    violations : of the labels; None without labels
    infeasibility : the proof, for INFEASIBLE
    n_iterations : assignment steps, over all starts
    seconds : of the run, wall clock
    """

    method: str
    seed: int
    status: HeuristicStatus
    stop: Stop
    labels: NDArray[np.intp] | None = None
    centers: NDArray[np.float64] | None = None
    sum_of_squares: float | None = None
    penalised_objective: float | None = None
    violations: Violations | None = None
    infeasibility: Infeasibility | None = None
    n_iterations: int = 0
    seconds: float = 0.0

    def with_labels(
        self, instance: Instance, labels: NDArray[np.intp], penalised_objective: float | None
    ) -> HeuristicResult:
        """Return the result with labels (n,) that were found, in any numbering."""
        partition = Partition(labels)
        return replace(
            self,
            status=HeuristicStatus.FOUND,
            labels=partition.labels,
            centers=instance.origin.in_user_units(centres_of(instance, partition.labels)),
            sum_of_squares=partition.sum_of_squares(instance.points, instance.weights),
            penalised_objective=penalised_objective,
            violations=Violations.of(instance, partition.labels),
        )

    @property
    def sizes(self) -> NDArray[np.intp] | None:
        """The numbers of points of the clusters 0, 1, ...; None without labels."""
        return None if self.labels is None else Partition(self.labels).sizes

    @property
    def keeps_hard_constraints(self) -> bool:
        """True if a clustering with exactly k clusters was found that satisfies all constraints.

        Its sum of squares is then an upper bound on the minimum.
        """
        return self.violations is not None and self.violations.hard + self.violations.empty == 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as `--json` writes them."""
        return (
            values_of(self, "method", "seed")
            | {"status": self.status.name.lower()}
            | values_of(self, "stop", "sum_of_squares", "penalised_objective", "violations")
            | values_of(self, "infeasibility", "n_iterations", "seconds")
            | values_of(self, "labels", "sizes", "centers")
        )

    def document(self) -> Document:
        """Return the clustering, its violations and the effort, for people."""
        status, tone = self.status.value, Tone("A clustering was found", "good")
        if self.infeasibility is not None:
            status = f"proven infeasible: {self.infeasibility}"
            tone = Tone("Proven infeasible", "bad")
        elif self.violations is None:
            tone = Tone("No clustering found", "fair")
        elif not self.keeps_hard_constraints:
            status = f"{status}; it does not satisfy the hard constraints"
            tone = Tone("Hard constraints are violated", "fair")
        facts = [("Method", self.method)]
        if self.sum_of_squares is not None:
            facts.append(("Sum of squares", f"{self.sum_of_squares:.12g}"))
        if self.penalised_objective is not None:
            facts.append(("Penalised objective", f"{self.penalised_objective:.12g}"))
        if self.violations is not None:
            facts.append(("Violated", str(self.violations)))
        if self.labels is not None:
            facts.append(("Clusters", str(Partition(self.labels))))
        facts += [
            ("Iterations", str(self.n_iterations)),
            ("Time", seconds_text(self.seconds)),
            ("Stopped", self.stop.value),
        ]
        return Document("Result of a heuristic", [Verdict("Status", tone, status), Facts(facts)])

    def __repr__(self) -> str:
        texts = [self.method]
        if self.labels is None or self.sum_of_squares is None:
            texts.append(f"{self.status.value} ({self.stop.value})")
        else:
            texts.append(f"sum of squares {self.sum_of_squares:.6g}")
            if not self.keeps_hard_constraints:
                texts.append("hard constraints violated")
            texts.append(str(Partition(self.labels)))
        return f"<HeuristicResult: {', '.join(texts)}>"


def centres_of(instance: Instance, labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the mean of each cluster 0..c-1 of canonical labels, (c, d)."""
    return Partition(labels).means(instance.points, instance.weights)
