"""`certainty`: points that keep their cluster in all clusterings near the optimum.

Let UB be the cost of the best clustering found, OPT <= UB the least cost, and

    S = { feasible clusterings that cost at most T },    T = (1 + within) UB,

which contains every clustering within this share of the optimum. The *anchor* of a cluster is the
point nearest to its mean. Point i *keeps its cluster* if it is with the anchor in every clustering
of S. *Facts* about S are proven one after the other, and each makes the next ones easier:

- Two points are apart in S if all clusterings with both in one cluster cost more than T: by reduced
  costs, which decide about many pairs at once (`sdpbb.bounds.sdp.safe_bound`), or by a bound of the
  instance with a must-link between both, as for two anchors.
- They are together in S if a bound of the instance with a cannot-link between both is above T; or
  if facts and constraints imply it: if the k anchors are pairwise apart, each cluster has one of
  them, and a point that is apart from all anchors but one is with that one.

Facts are constraints of all later bounds, which are then valid for clusterings of S only. The
blocks of their contraction (`sdpbb.problem.contract`) are the points that are together in S.

The cost of separating i from its anchor is

    OPT_i - OPT,    OPT_i the least cost of clusterings with i and the anchor apart,

between max(0, LB_i - UB) and UB_i - LB, for bounds LB <= OPT and LB_i <= OPT_i <= UB_i, where LB_i
is at most T here. UB_i is the cost of the best clustering found with i elsewhere: the best one with
only i moved, or one that a run finds.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from heuristics.alternating import cluster_means, costs_of_labels
from sdpbb.bounds.registry import bounding_method
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Instance, Partition, contract
from sdpbb.questions.report import SHOWN, StudyReport, table_of
from sdpbb.questions.study import (
    Outcome,
    Study,
    advanced,
    bound_job,
    decide_job,
    fits_one_matrix,
    has_long_steps,
    quick_bound,
)
from sdpbb.run.arguments import SolveArguments, checked_clustering, stated_run
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.declaration import as_number
from sdpbb.runtime.document import Document, Facts, Part, Picture, Text, Tone, Verdict
from sdpbb.runtime.results import plain
from sdpbb.runtime.time_left import TimeLeft
from sdpbb.runtime.values import counted
from sdpbb.search.events import Observer, ignore
from sdpbb.search.result import Result, bound_below, row_ids

WITHIN = 0.01
"""Share of the optimum by which clusterings may cost more."""

# By this share of T more than T, bounds prove that a clustering costs more than T.
ABOVE = 1e-9
# Gap of runs that end once a bound or a clustering passes T. With a larger one they might end
# before.
GAP = 1e-9
# Maximum evaluations of the dual function at the root, and for one pair.
MOST_STEPS, LOOK_STEPS = 40, 6
# Facts are derived from the bound of the root once its gap is below this share.
ENOUGH = 1e-5
# Maximum clusters whose anchors are compared in pairs.
MOST_ANCHORS = 24
# Maximum points whose best move is priced exactly, the cheapest first, and clusters tried for each.
MOST_MOVES, CLUSTERS_TRIED = 2_000, 3


CERTAIN, UNCERTAIN, OPEN = "certain", "uncertain", "open"
LEGEND = (
    "A point is certain if it is with the anchor of its cluster, the point nearest to its mean, in "
    "every clustering within {share} of the best one; this is proven.\n"
    "It is uncertain if a clustering within {share} that has it elsewhere is known.\n"
    "Costs: what it costs at least and at most to have it elsewhere; may join: the clusters, "
    "beside its own, that are not ruled out."
)
CAPTION = "Uncertain points have a red ring, open ones a dark one; certain ones have none."
_NOTHING: Any = partial(np.empty, 0, np.bool_)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CertaintyReport(StudyReport):
    """Report on the certainty of each point.

    Attributes
    ----------
    result : result of the instance. Without a clustering nothing is known of points, and arrays are
        empty
    instance : the instance
    within : share of the cost by which clusterings may cost more
    interrupted : whether an interrupt ended the run
    seconds : of the whole run
    problems : a line for each point whose run failed
    anchors : (k,) the point of each cluster that is nearest to its mean
    at_least, at_most : (n,) bounds on the extra cost, above the optimum, of separating a point from
        its anchor. at_most is inf if no such clustering is known, at_least is inf if none exists
    certain : (n,) whether the point is with its anchor in every clustering that costs at most (1 +
        within) times the result
    uncertain : (n,) whether such a clustering is known in which the point is not with its anchor
    may_join : (n, k) whether a point may be with an anchor in such a clustering, as far as is known
    stable : (k,) whether a cluster is the same in every such clustering: all its points are
        certain, and no other point may join it
    """

    within: float
    anchors: NDArray[np.intp] = field(default_factory=_NOTHING)
    at_least: NDArray[np.float64] = field(default_factory=_NOTHING)
    at_most: NDArray[np.float64] = field(default_factory=_NOTHING)
    certain: NDArray[np.bool_] = field(default_factory=_NOTHING)
    uncertain: NDArray[np.bool_] = field(default_factory=_NOTHING)
    may_join: NDArray[np.bool_] = field(default_factory=_NOTHING)
    stable: NDArray[np.bool_] = field(default_factory=_NOTHING)

    title = "Certainty of points"
    nothing = "nothing is known of points"
    columns = ("row", "cluster", "state", "costs_at_least", "costs_at_most", "may_join")
    values = (
        "result.status result.termination result.objective result.lower_bound result.gap within "
        "is_complete interrupted result.partition.labels anchors stable points problems seconds "
        "result.parameters result.version"
    )

    @property
    def labels(self) -> NDArray[np.intp]:
        """Labels (n,) of the clustering that the report is about."""
        assert self.result.partition is not None
        return self.result.partition.labels

    @property
    def is_complete(self) -> bool:
        """True if the clustering is optimal and the state of every point is known."""
        return self.is_solved and bool((self.certain | self.uncertain).all())

    @property
    def states(self) -> NDArray[np.str_]:
        """State (n,) of each point: "certain", "uncertain" or "open"."""
        return np.where(self.certain, CERTAIN, np.where(self.uncertain, UNCERTAIN, OPEN))

    @property
    def points(self) -> list[dict[str, Any]]:
        """A flat row for each point; points that cannot leave their cluster have no cost."""
        if self.result.partition is None:
            return []
        others = [" ".join(map(str, np.flatnonzero(row).tolist())) for row in self._others()]
        values = (
            row_ids(self.instance.origin, len(self.labels)),
            *map(plain, (self.labels, self.states, self.at_least, self.at_most)),
            np.where(self.certain, "", others).tolist(),
        )
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*values, strict=True)]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return `points`."""
        return self.points

    def document(self, top: int = SHOWN) -> Document:
        """Return how many points and clusters are certain, and the points that are not.

        top : rows of the table
        """
        if self.result.partition is None:
            return self.without_clustering()
        share, n = f"{100.0 * self.within:.6g} %", len(self.labels)
        number = int(self.certain.sum())
        tone = Tone(f"{number} of {n} points are certain", "good" if number == n else "fair")
        text = (
            f"{number} of {n} points keep their cluster in every clustering that costs at most "
            f"{share} more than the one found. This is proven."
        )
        parts: list[Part] = [Verdict("Status", tone, text), Facts(self.facts())]
        parts.append(Text(LEGEND.format(share=share), "list"))
        description = f"Points by state: {number} of {n} are certain."
        parts.append(Picture(description, CAPTION, self._picture))
        unsure = np.flatnonzero(~self.certain)
        if len(unsure) and top:
            order = unsure[np.lexsort((self.at_most[unsure], self.at_least[unsure]))]
            rows = self.to_rows()
            cells: dict[str, Callable[[int], str]] = {
                "row": lambda i: str(rows[i]["row"]),
                "cluster": lambda i: str(self.labels[i]),
                "state": lambda i: rows[i]["state"],
                "costs at least": lambda i: f"{self.at_least[i]:.4g}",
                "at most": lambda i: f"{self.at_most[i]:.4g}".replace("inf", "-"),
                "may join": lambda i: rows[i]["may_join"],
            }
            parts.append(table_of(order.tolist(), cells, "Points that are not certain", top))
        return Document(self.title, parts, self.instance.name)

    def findings(self) -> list[tuple[str, str]]:
        facts = []
        for state in (CERTAIN, UNCERTAIN, OPEN):
            if number := int((self.states == state).sum()):
                share = f"{number / len(self.labels):.1%}"
                facts.append((state.capitalize(), f"{counted(number, 'point')} ({share})"))
        stable = int(self.stable.sum())
        return [*facts, ("Stable clusters", f"{stable} of {len(self.anchors)}")]

    def _others(self) -> NDArray[np.bool_]:
        others = self.may_join.copy()
        others[np.arange(len(others)), self.labels] = False
        return others

    def _picture(self) -> Any:
        from sdpbb.plots import plot_certainty

        return plot_certainty(self.instance, self.labels, self.states)


def certainty(
    instance: Any,
    within: float = WITHIN,
    parameters: SolverParameters | None = None,
    *,
    k: int | None = None,
    labels: ArrayLike | None = None,
    time_limit_each: float = math.inf,
    observer: Observer = ignore,
    on_point: Callable[[int, int], None] = lambda known, left: None,
    interrupt: threading.Event | None = None,
    executor: Executor | None = None,
    **arguments: Unpack[SolveArguments],
) -> CertaintyReport:
    """Find the points that keep their cluster in all clusterings within a share of the optimum.

    The instance is solved. Then reduced costs at the root, and a run for each remaining point,
    prove which points stay with the anchor of their cluster: the block nearest to its mean. This is
    proven for every feasible clustering that costs at most (1 + within) times the one found. See
    the module for the theorems.

    Parameters
    ----------
    instance, k, arguments : as for `sdpbb.solve`
    within : share of the cost, > 0; 0.01 is one per cent
    parameters : parameters of each run. workers is the number of points in progress at the same
        time; time_limit is for all runs together
    labels : labels (n,) of a good clustering to start from, such as a result's; None: search for
        one
    time_limit_each : seconds for each point, > 0
    observer : receives the events of the first run
    on_point : called with the number of points whose state is known, and of the others
    interrupt : event that ends the run early, with a report on what is known
    executor : any `concurrent.futures.Executor`. Once the instance is solved, each worker does one
        point at a time; otherwise as for `solve`

    Raises
    ------
    ParameterError
        As `solve` does; and if within or time_limit_each is not above 0.
    TypeError, InstanceError, BackendFailure
        As `solve` does.
    Interrupted
        As `solve` does, with the report on what is known.
    """
    if as_number(within) is None or not 0 < within < math.inf:
        raise ParameterError(f"within = {within!r}: expected a number > 0, 0.01 for one per cent")
    instance, parameters = stated_run(instance, k, parameters, arguments, certainty)
    start = None if labels is None else checked_clustering(labels, instance, "labels").labels
    study = Study[int](parameters, executor, time_limit_each=time_limit_each)

    def report() -> CertaintyReport:
        result = study.solve(instance, observer, start)
        if result.partition is None:
            return CertaintyReport(instance=instance, result=result, within=within, **study.ended())
        return _Certainty(instance, parameters, result, within, on_point).report(study)

    return study.conduct(interrupt, report)


class _Certainty:
    """Facts about the points, as jobs prove them."""

    def __init__(
        self,
        instance: Instance,
        parameters: SolverParameters,
        result: Result,
        within: float,
        on_point: Callable[[int, int], None],
    ) -> None:
        assert result.partition is not None
        assert result.objective is not None
        assert result.lower_bound is not None
        self._instance, self._narrowed = instance, instance
        self._blocks = _contracted(instance)
        self._parameters, self._result, self._within = parameters, result, within
        self._on_point = on_point
        self._upper, self._lower = result.objective, result.lower_bound
        self._limit = (1.0 + within) * self._upper
        self._above = self._limit * (1.0 + ABOVE)
        self._labels = result.partition.labels
        self._anchors = _anchors(self._blocks, self._labels)
        # Bounds on the least cost of clusterings that separate each point from its anchor.
        n = instance.n_points
        self._least, self._most = np.full(n, self._lower), np.full(n, math.inf)
        self._least[self._certain] = math.inf  # by the constraints
        self._warm_start: Any = None
        self._problems: list[str] = []

    def report(self, study: Study[int]) -> CertaintyReport:
        """Run the jobs within the limits, and return what is known."""
        contraction, needs_processes = self._blocks, has_long_steps(self._blocks)
        self._try_moves(contraction)
        steps = [self._begin_run]
        if contraction.n_blocks > contraction.k and fits_one_matrix(contraction, self._parameters):
            self._learn_from_root(study)
            steps.insert(0, self._begin_bound)
        for begin in steps:
            for row, outcome in study.outcomes(
                self._left(), begin, needs_processes=needs_processes, begins_here=True
            ):
                self._take(row, outcome)
        block_of, adjacency = self._blocks.block_of, self._blocks.adjacency
        apart = adjacency[np.ix_(block_of, block_of[self._anchors])]
        # All points that may be with an anchor are in its cluster, and certain.
        own = self._labels[:, None] == np.arange(len(self._anchors))
        is_stable = ((own & self._certain[:, None]) == (own | ~apart)).all(axis=0)
        return CertaintyReport(
            instance=self._instance,
            result=self._result,
            within=self._within,
            problems=tuple(self._problems),
            anchors=self._anchors,
            at_least=np.maximum(0.0, self._least - self._upper),
            at_most=self._most - bound_below(self._lower, self._upper),
            certain=self._certain,
            uncertain=self._most <= self._limit,
            may_join=~apart,
            stable=is_stable,
            **study.ended(),
        )

    @property
    def _certain(self) -> NDArray[np.bool_]:
        """True where a point, (n,), is with its anchor in S."""
        block_of = self._blocks.block_of
        return np.asarray(block_of == block_of[self._anchors[self._labels]])

    def _left(self) -> list[int]:
        """Return a point of each block whose state is unknown, the cheapest moves first."""
        rows = self._blocks.representatives
        rows = rows[~self._certain[rows] & (self._most[rows] > self._limit)]
        ordered: list[int] = rows[np.argsort(self._most[rows], kind="stable")].tolist()
        return ordered

    def _tell(self) -> None:
        known = int((self._certain | (self._most <= self._limit)).sum())
        self._on_point(known, len(self._labels) - known)

    def _try_moves(self, contraction: Contraction) -> None:
        """Price the best feasible move of each block alone to another cluster."""
        labels = self._labels[contraction.representatives]
        every, weights = np.arange(len(labels)), contraction.weights
        totals, counts = np.bincount(labels, weights), np.bincount(labels)
        squares = costs_of_labels(contraction, cluster_means(contraction, labels))
        squares += (weights * (contraction.means**2).sum(axis=1))[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            saved = squares[every, labels] / (1.0 - weights / totals[labels])
        # Increases of the sum of squares, without soft pairs; inf for impossible moves.
        costs = squares / (1.0 + weights[:, None] / totals) - saved[:, None]
        costs[counts[labels] == 1] = costs[every, labels] = math.inf
        i, j = contraction.cannot_link.T
        costs[i, labels[j]] = costs[j, labels[i]] = math.inf
        cheapest = np.argsort(costs.min(axis=1), kind="stable")[:MOST_MOVES]
        for block in cheapest.tolist():
            for cluster in np.argsort(costs[block])[:CLUSTERS_TRIED].tolist():
                moved = labels.copy()
                moved[block] = cluster
                if costs[block, cluster] < math.inf and contraction.keeps(moved):
                    self._learn_clustering(contraction.lift(moved))
                    break

    def _learn_clustering(self, labels: NDArray[np.intp]) -> None:
        """Learn from a feasible clustering about the points that it separates from anchors."""
        cost = Partition(labels).cost(self._instance)
        away = labels != labels[self._anchors[self._labels]]
        self._most[away] = np.minimum(self._most[away], cost)

    def _learn_pairs(self, name: str, pairs: ArrayLike) -> None:
        """Learn pairs of points, (p, 2), that are apart, or together, in all of S.

        name : `cannot_link` or `must_link`

        Raises
        ------
        AssertionError
            If the clustering found, which is in S, contradicts them: then a bound is wrong.
        """
        rows = np.reshape(np.asarray(pairs, np.intp), (-1, 2))
        i, j = self._labels[rows].T
        if ((i == j) != (name == "must_link")).any():
            raise AssertionError("a fact about all cheap clusterings is wrong of the best")
        known: Any = {name: np.concatenate([getattr(self._narrowed, name), rows])}
        self._narrowed = replace(self._narrowed, **known)
        self._blocks = _contracted(self._narrowed)
        certain = self._certain
        self._least[certain] = np.maximum(self._least[certain], self._limit)

    def _learn_from_root(self, study: Study[int]) -> None:
        """Learn pairs from dual values of the root, until they prove no more."""
        end = time.monotonic() + self._parameters.time_limit - study.seconds

        def time_left() -> float:
            return -math.inf if study.stop.is_set() else end - time.monotonic()

        bounding, enough = bounding_method("sdp"), (1.0 - ENOUGH) * self._upper
        while self._left() and self._blocks.n_blocks > self._blocks.k and time_left() > 0:
            blocks = self._blocks
            with threadpool_limits(1):
                run = bounding.start(blocks, self._warm_start)
                advanced(run, enough, self._above, time_left, MOST_STEPS)
                is_first, self._warm_start = self._warm_start is None, run.warm_start()
                apart = blocks.representatives[run.fixings(self._above).apart]
            self._learn_pairs("cannot_link", apart)
            self._tell()
            if is_first and len(self._anchors) <= MOST_ANCHORS:
                self._compare_anchors(time_left)
            elif not is_first and self._blocks.n_blocks == blocks.n_blocks:
                break

    def _compare_anchors(self, time_left: TimeLeft) -> None:
        """Prove which anchors are apart in all of S."""
        how = self._above, time_left, LOOK_STEPS, self._warm_start
        for pair in combinations(self._anchors.tolist(), 2):
            i, j = self._blocks.block_of[list(pair)]
            if self._blocks.adjacency[i, j] or time_left() <= 0:
                continue
            joined = contract(self._narrowed, must_link=[pair])
            if quick_bound(joined, *how) > self._limit:
                self._learn_pairs("cannot_link", [pair])

    def _parting(self, row: int) -> list[tuple[int, int]]:
        return [(row, int(self._anchors[self._labels[row]]))]

    def _begin_bound(self, row: int, seconds: float, stop: object) -> partial[Outcome]:
        """Return the job that bounds the instance with a point and its anchor apart."""
        how = self._above, seconds, LOOK_STEPS, self._warm_start
        return partial(bound_job, self._narrowed, {"cannot_link": self._parting(row)}, *how)

    def _begin_run(
        self, row: int, seconds: float, stop: threading.Event | None
    ) -> partial[Outcome]:
        """Return the job that solves the instance with a point and its anchor apart."""
        links = np.concatenate([self._narrowed.cannot_link, self._parting(row)])
        instance = replace(self._narrowed, cannot_link=links)
        limited = self._parameters.alone(time_limit=seconds, gap=min(self._parameters.gap, GAP))
        return partial(decide_job, instance, limited, self._limit, stop)

    def _take(self, row: int, outcome: Outcome) -> None:
        """Learn from a job with a point and its anchor apart."""
        if outcome.value is None:
            self._problems.append(f"row {self._instance.origin.row(row)}: {outcome.message}")
            return
        bound, labels = outcome.value
        if labels is not None:
            self._learn_clustering(labels)
        same = self._blocks.block_of == self._blocks.block_of[row]
        self._least[same] = np.maximum(self._least[same], min(bound, self._limit))
        if bound > self._limit and not self._certain[row]:
            self._learn_pairs("must_link", self._parting(row))
        self._tell()


def _contracted(instance: Instance) -> Contraction:
    """Return the contraction of an instance that has a clustering."""
    contraction = contract(instance)
    if not isinstance(contraction, Contraction):
        raise AssertionError(f"facts contradict a known clustering: {contraction}")
    return contraction


def _anchors(contraction: Contraction, labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return a point of each cluster, (k,), in the block nearest to its mean."""
    first, anchors = contraction.representatives, np.empty(contraction.k, np.intp)
    for cluster in range(contraction.k):
        blocks = np.flatnonzero(labels[first] == cluster)
        means, weights = contraction.means[blocks], contraction.weights[blocks]
        centre = np.average(means, axis=0, weights=weights)
        anchors[cluster] = first[blocks[((means - centre) ** 2).sum(axis=1).argmin()]]
    return anchors
