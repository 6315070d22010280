"""`certainty`: which points keep their cluster in all clusterings that cost nearly the least.

Let UB be the cost of the best clustering found, OPT <= UB the least cost, and

    S = { feasible clusterings that cost at most T },    T = (1 + within) UB,

which holds every clustering within this share of the optimum. The *anchor* of a cluster is the
point nearest to its mean. Point i *keeps its cluster* if it is with the anchor in every clustering
of S. *Facts* about S are proven one after the other, and each makes the next ones easier:

- Two points are apart in S if all clusterings with both in one cluster cost more than T: by reduced
  costs, one evaluation of which decides about many pairs (`sdpbb.bounds.sdp.safe_bound`), or by a
  bound of the instance with a must-link between both, as for two anchors.
- They are together in S if a bound of the instance with a cannot-link between both is above T; or
  if facts and constraints say so: where the k anchors are pairwise apart, each cluster has one of
  them, and a point that is apart from all anchors but one is with that one.

Facts are constraints for all bounds that follow, which hold for clusterings of S alone then; their
contraction (`sdpbb.problem.contract`) has the points that are together in S as blocks.

What it costs at least that i is not with its anchor is

    OPT_i - OPT,    OPT_i the least cost of clusterings with i and the anchor apart,

between max(0, LB_i - UB) and UB_i - LB, for bounds LB <= OPT and LB_i <= OPT_i <= UB_i, where LB_i
is at most T here. Clusterings in which i is elsewhere give UB_i: the best one with i moved alone,
and all that runs find.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from heuristics.measures import costs_of_moves
from sdpbb.bounds.registry import bounding_method
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Instance, Partition, contract
from sdpbb.questions.certainty_report import CertaintyReport
from sdpbb.questions.looks import fits_one_matrix, has_long_steps, look
from sdpbb.questions.study import Outcome, Study, solved
from sdpbb.run.arguments import SolveArguments, checked_clustering, stated_run
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.declaration import as_number
from sdpbb.runtime.executors import worker
from sdpbb.runtime.time_left import TimeLeft
from sdpbb.search.events import Event, Observer, Progress, ignore
from sdpbb.search.result import Result, bound_below

WITHIN = 0.01
"""Share of the optimum by which clusterings may cost more."""

# By this share of T more than T, bounds prove that a clustering costs more than T.
ABOVE = 1e-9
# Gap of runs that end where a bound or a clustering passes T: with a larger one they might end
# before either has.
GAP = 1e-9
# Evaluations of the dual function at the root, and in a short look at one pair.
MOST_STEPS, LOOK_STEPS = 40, 6
# Share of T that the root's bound may lack when facts are drawn from it.
ENOUGH = 1e-5
# Clusters whose anchors are compared, each with each other.
MOST_ANCHORS = 24
# Points whose best move is priced exactly, the cheapest first; and clusters that each is tried in.
MOST_MOVES, CLUSTERS_TRIED = 2_000, 3


def certainty(
    instance: Any,
    within: float = WITHIN,
    parameters: SolverParameters | None = None,
    *,
    k: int | None = None,
    labels: ArrayLike | None = None,
    time_limit_each: float = math.inf,
    observer: Observer = ignore,
    on_point: Callable[[int, int], None] | None = None,
    interrupt: threading.Event | None = None,
    executor: Executor | None = None,
    **arguments: Unpack[SolveArguments],
) -> CertaintyReport:
    """Find the points that keep their cluster in all clusterings within a share of the optimum.

    The instance is solved; then reduced costs at the root, and after them a run for each point that
    is left, prove which points stay with the anchor of their cluster, the block nearest to its
    mean, in every feasible clustering that costs at most (1 + within) times as much as the one
    found. See the module for the theorems.

    Parameters
    ----------
    instance, k, arguments : as for `sdpbb.solve`
    within : share of the cost, > 0: 0.01 is one per cent
    parameters : of each run. workers is the number of points that are worked on at the same time;
        time_limit is for all runs together
    labels : (n,) a good clustering, such as a result's, to begin with; None: it is searched for
    time_limit_each : seconds for each point, > 0
    observer : receives the events of the first run
    on_point : is called with the number of points whose state is known, and of the others
    interrupt : set it to end the run; what is known until then is reported
    executor : any `concurrent.futures.Executor`, each worker of which works on one point at a time,
        once the instance is solved; otherwise as for `solve`

    Raises
    ------
    ParameterError
        As `solve` does; and if within or time_limit_each is not above 0.
    TypeError, InstanceError, BackendFailure
        As `solve` does.
    Interrupted
        As `solve` does, with the report on what is known until then.
    """
    if as_number(within) is None or not 0 < within < math.inf:
        raise ParameterError(f"within = {within!r}: expected a number > 0, 0.01 for one per cent")
    instance, parameters = stated_run(instance, k, parameters, arguments, certainty)
    start = None if labels is None else checked_clustering(labels, instance, "labels").labels
    study = Study[int](
        parameters,
        executor,
        time_limit_each=time_limit_each,
        name_of=lambda row: f"row {instance.origin.row(row)}",
    )

    def report() -> CertaintyReport:
        result = study.solve(instance, observer, start)
        if result.partition is None:
            is_interrupted = study.stop.is_set()
            return CertaintyReport.of_nothing(result, instance, within, is_interrupted)
        return _Certainty(instance, parameters, result, within, on_point).report(study)

    return study.conduct(interrupt, report)


class _Certainty:
    """Knowledge of the points, as it comes."""

    def __init__(
        self,
        instance: Instance,
        parameters: SolverParameters,
        result: Result,
        within: float,
        on_point: Callable[[int, int], None] | None,
    ) -> None:
        assert result.partition is not None
        assert result.objective is not None
        assert result.lower_bound is not None
        self._instance, self._facts = instance, instance
        self._contraction = self._blocks = _contracted(instance)
        self._parameters, self._result, self._within = parameters, result, within
        self._on_point = on_point
        self._upper, self._lower = result.objective, result.lower_bound
        self._limit = (1.0 + within) * self._upper
        self._above = self._limit * (1.0 + ABOVE)
        self._labels = result.partition.labels
        self._anchors = _anchors(self._contraction, self._labels)
        # Bounds on the least cost of clusterings with each point apart from its anchor.
        n = instance.n_points
        self._least, self._most = np.full(n, self._lower), np.full(n, math.inf)
        self._least[self._certain] = math.inf  # by the constraints
        self._warm_start: Any = None
        self._problems: list[str] = []

    def report(self, study: Study[int]) -> CertaintyReport:
        """Find out what there is time for, and return what is known."""
        self._try_moves()
        contraction, needs_processes = self._contraction, has_long_steps(self._contraction)
        steps = [self._leave]
        if contraction.n_blocks > contraction.k and fits_one_matrix(contraction, self._parameters):
            self._draw_facts(study)
            steps.insert(0, self._look)
        for begin in steps:
            left = self._left()
            study.run(left, begin, self._take, needs_processes=needs_processes, is_short=True)
        block_of, adjacency = self._blocks.block_of, self._blocks.adjacency
        apart = adjacency[np.ix_(block_of, block_of[self._anchors])]
        return CertaintyReport(
            self._result,
            self._instance,
            self._within,
            anchors=self._anchors,
            at_least=np.maximum(0.0, self._least - self._upper),
            at_most=self._most - bound_below(self._lower, self._upper),
            certain=self._certain,
            uncertain=self._most <= self._limit,
            may_join=~apart,
            anchors_apart=apart[self._anchors],
            interrupted=study.stop.is_set(),
            seconds=study.seconds,
            problems=tuple(self._problems),
        )

    @property
    def _certain(self) -> NDArray[np.bool_]:
        """True where a point, (n,), is with its anchor in S."""
        block_of = self._blocks.block_of
        return np.asarray(block_of == block_of[self._anchors[self._labels]])

    def _left(self) -> list[int]:
        """Return a point of each block about which nothing is known, the cheapest moves first."""
        rows = self._blocks.representatives
        unknown = ~self._certain[rows] & (self._most[rows] > self._limit)
        rows = rows[unknown]
        ordered: list[int] = rows[np.argsort(self._most[rows], kind="stable")].tolist()
        return ordered

    def _tell(self) -> None:
        if self._on_point is not None:
            known = int((self._certain | (self._most <= self._limit)).sum())
            self._on_point(known, len(self._labels) - known)

    def _try_moves(self) -> None:
        """Price the best feasible move of each block alone to another cluster."""
        contraction = self._contraction
        labels = self._labels[contraction.representatives]
        # By how much the sum of squares rises, whatever soft pairs cost; inf where it cannot be.
        costs = costs_of_moves(contraction.means, labels, contraction.weights)
        costs[np.arange(len(labels)), labels] = math.inf
        i, j = contraction.cannot_link.T
        costs[i, labels[j]] = costs[j, labels[i]] = math.inf
        cheapest = np.argsort(costs.min(axis=1), kind="stable")[:MOST_MOVES]
        for block in cheapest.tolist():
            for cluster in np.argsort(costs[block])[:CLUSTERS_TRIED].tolist():
                if costs[block, cluster] == math.inf:
                    break
                moved = labels.copy()
                moved[block] = cluster
                if contraction.keeps(moved):
                    self._learn_clustering(contraction.lift(moved))
                    break

    def _learn_clustering(self, labels: NDArray[np.intp]) -> None:
        """Learn what a feasible clustering says of all points that are not with their anchors."""
        cost = Partition(labels).cost(self._instance)
        away = labels != labels[self._anchors[self._labels]]
        self._most[away] = np.minimum(self._most[away], cost)

    def _learn_facts(self, apart: ArrayLike = (), together: ArrayLike = ()) -> None:
        """Learn of pairs of points, (p, 2), that are apart, or together, in all of S.

        Raises
        ------
        AssertionError
            If the clustering found, which is in S, says otherwise: then a bound is wrong.
        """
        stated: dict[str, Any] = {}
        for name, pairs in (("cannot_link", apart), ("must_link", together)):
            rows = np.reshape(np.asarray(pairs, np.intp), (-1, 2))
            i, j = self._labels[rows].T
            if ((i == j) != (name == "must_link")).any():
                raise AssertionError("a fact about all cheap clusterings is wrong of the best")
            stated[name] = np.concatenate([getattr(self._facts, name), rows])
        self._facts = replace(self._facts, **stated)
        self._blocks = _contracted(self._facts)
        certain = self._certain
        self._least[certain] = np.maximum(self._least[certain], self._limit)
        self._tell()

    def _draw_facts(self, study: Study[int]) -> None:
        """Learn facts from dual values of the root, until these prove no more."""
        end = time.monotonic() + self._parameters.time_limit - study.seconds

        def time_left() -> float:
            return -math.inf if study.stop.is_set() else end - time.monotonic()

        bounding, enough = bounding_method("sdp"), (1.0 - ENOUGH) * self._upper
        with threadpool_limits(1):
            while self._left() and self._blocks.n_blocks > self._blocks.k and time_left() > 0:
                blocks = self._blocks
                run = bounding.start(blocks, self._warm_start)
                for _ in range(MOST_STEPS):
                    progress = run.advance(self._above, time_left)
                    if progress.stalled or progress.bound.value > enough or time_left() <= 0:
                        break
                is_first, self._warm_start = self._warm_start is None, run.warm_start()
                self._learn_facts(apart=blocks.representatives[run.fixings(self._above).apart])
                if is_first:
                    self._compare_anchors(time_left)
                elif self._blocks.n_blocks == blocks.n_blocks:
                    break

    def _compare_anchors(self, time_left: TimeLeft) -> None:
        """Learn which anchors are apart in S."""
        if len(self._anchors) > MOST_ANCHORS:
            return
        for pair in combinations(self._anchors.tolist(), 2):
            i, j = self._blocks.block_of[list(pair)]
            if self._blocks.adjacency[i, j] or time_left() <= 0:
                continue
            joined = contract(self._facts, must_link=[pair])
            if look(joined, self._above, time_left, LOOK_STEPS, self._warm_start) > self._limit:
                self._learn_facts(apart=[pair])

    def _parting(self, row: int) -> list[tuple[int, int]]:
        return [(row, int(self._anchors[self._labels[row]]))]

    def _look(self, row: int, seconds: float, stop: object) -> partial[Outcome]:
        """Return a short look at the bound with a point and its anchor apart."""
        pair = self._parting(row)
        return partial(looked, self._facts, pair, self._warm_start, self._above, seconds)

    def _leave(self, row: int, seconds: float, stop: threading.Event | None) -> partial[Outcome]:
        """Return the run with a point and its anchor apart."""
        links = np.concatenate([self._facts.cannot_link, self._parting(row)])
        instance = replace(self._facts, cannot_link=links)
        gap = min(self._parameters.gap, GAP)
        limited = replace(
            self._parameters, workers=1, dask=None, mpi=False, time_limit=seconds, gap=gap
        )
        return partial(decided, instance, limited, self._limit, stop)

    def _take(self, row: int, outcome: Outcome) -> None:
        """Learn from a bound, or a run, with a point and its anchor apart."""
        if outcome.value is None:
            self._problems.append(f"row {self._instance.origin.row(row)}: {outcome.message}")
            return
        bound, labels = outcome.value
        if labels is not None:
            self._learn_clustering(labels)
        same = self._blocks.block_of == self._blocks.block_of[row]
        self._least[same] = np.maximum(self._least[same], min(bound, self._limit))
        if bound > self._limit and not self._certain[row]:
            self._learn_facts(together=self._parting(row))
        self._tell()


def _contracted(instance: Instance) -> Contraction:
    """Return the contraction of an instance of which a clustering is known."""
    contraction = contract(instance)
    if not isinstance(contraction, Contraction):
        raise AssertionError(f"facts contradict a known clustering: {contraction}")
    return contraction


def _anchors(contraction: Contraction, labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return a point (k,) of each cluster: of the block that is nearest to its mean."""
    first, anchors = contraction.representatives, np.empty(contraction.k, np.intp)
    for cluster in range(contraction.k):
        blocks = np.flatnonzero(labels[first] == cluster)
        means, weights = contraction.means[blocks], contraction.weights[blocks]
        centre = np.average(means, axis=0, weights=weights)
        anchors[cluster] = first[blocks[((means - centre) ** 2).sum(axis=1).argmin()]]
    return anchors


def looked(
    facts: Instance,
    apart: list[tuple[int, int]],
    warm_start: Any,
    above: float,
    seconds: float,
) -> Outcome:
    """Return, as the value of an outcome, a bound with two points apart, and no clustering."""
    end = time.monotonic() + seconds
    parted = contract(facts, cannot_link=apart)
    bound = look(parted, above, lambda: end - time.monotonic(), LOOK_STEPS, warm_start)
    return Outcome((bound, None))


class _Decided(threading.Event):
    """Event that is set, too, while another one is."""

    def __init__(self, other: threading.Event) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        return super().is_set() or self._other.is_set()


def decided(
    instance: Instance, parameters: SolverParameters, limit: float, stop: threading.Event | None
) -> Outcome:
    """Solve an instance until it is known whether a clustering costs at most `limit`.

    The value is the bound, inf if there is no clustering, and the labels (n,) of the best
    clustering found, if there is one.
    """
    known = _Decided(worker.interrupt if stop is None else stop)

    def observe(event: Event) -> None:
        if isinstance(event, Progress) and (event.lower > limit or event.upper <= limit):
            known.set()

    outcome = solved(instance, parameters, known, observe)
    result: Result | None = outcome.value
    if result is None:
        return outcome
    labels = None if result.partition is None else result.partition.labels
    if result.infeasibility is not None:
        return replace(outcome, value=(math.inf, None))
    bound = 0.0 if result.lower_bound is None else result.lower_bound
    return replace(outcome, value=(bound, labels))
