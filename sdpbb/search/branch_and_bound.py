"""The coordinator: the only one that changes the tree."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.stored import stored
from sdpbb.executors.pool import Completion
from sdpbb.result import Termination
from sdpbb.search.evaluate import Allowance, EvaluationContext, evaluate
from sdpbb.search.events import NodeEvent, Observer, Progress, WorkerLost
from sdpbb.search.node import Node, NodeStatus, Outcome, Pair
from sdpbb.search.proof import SearchProof
from sdpbb.search.stop import Limits
from sdpbb.search.tree import Tree, advanced
from sdpbb.search.workforce import Workforce

# Seconds of one task: a node is evaluated in slices, each of which comes back with all that the
# next one needs. Between two, incumbents are exchanged, limits are kept, the user is told, and
# the state can be saved. They grow with the run.
SHORTEST_SLICE, LONGEST_SLICE, SLICE_SHARE = 0.5, 5.0, 0.1
# Seconds between two looks at the limits while other processes work.
LOOK = 0.1
# Seconds from one progress report to the next at most, and until the first one; and between reports
# of new clusterings, which heuristics find many of within a moment.
SILENCE, FIRST_REPORT, BETWEEN_CLUSTERINGS = 5.0, 0.5, 0.5
# When the time is over or the user has had enough, work under way in other processes that has not
# come back after so many seconds is left behind. Most comes back: they know the time limit.
GRACE = 0.5


@stored
@dataclass
class SearchStatistics:
    """What the search took; the root's figures are set when it is left.

    root_lower_bound is None if the root holds no clustering, root_gap if none was known by then.
    n_fixed counts the pairs fixed, n_lost the nodes given up because they ended two workers.
    """

    n_nodes: int = 0
    n_iterations: int = 0
    n_fixed: int = 0
    n_lost: int = 0
    root_lower_bound: float | None = None
    root_gap: float | None = None
    root_seconds: float | None = None


class Save(Protocol):
    """Keeps the state of the search, now or when it is time to."""

    def __call__(self, search: Search, finished: bool) -> None: ...


@dataclass
class Search:
    """The state of a search: all that a checkpoint holds.

    proof : of its bounds, if it is wanted
    """

    tree: Tree
    statistics: SearchStatistics = field(default_factory=SearchStatistics)
    proof: SearchProof | None = None


def _not_saved(search: Search, finished: bool) -> None:
    pass


def branch_and_bound(
    search: Search,
    context: EvaluationContext,
    limits: Limits,
    observer: Observer,
    workforce: Workforce,
    save: Save = _not_saved,
) -> Termination | None:
    """Best-first branch and bound (PC-SOS-SDP, Algorithm 3), asynchronous.

    1. While there is an open node, no limit is reached and a worker is free, take the node with the
       least bound and have it evaluated: bound, cut, and look for clusterings (`evaluate`).
    2. Take its clustering if it is better than the incumbent.
    3. Drop the node if it is infeasible (its bound is inf, or its constraints contradict each
       other), close it if its bound meets the incumbent, bound it again if pairs were fixed;
       otherwise replace it by two.

    Works on the search in place. Returns the limit that was reached: None if every node is
    finished.
    """
    coordinator = _Coordinator(search, context, limits, observer, workforce, save)
    try:
        return coordinator.run()
    finally:
        coordinator.shutdown()


class _Coordinator:
    def __init__(
        self,
        search: Search,
        context: EvaluationContext,
        limits: Limits,
        observer: Observer,
        workforce: Workforce,
        save: Save,
    ) -> None:
        self._search = search
        self._tree = search.tree
        self._statistics = search.statistics
        self._context = context
        self._limits = limits
        self._observer = observer
        self._workforce = workforce
        self._save = save
        self._tasks: set[int] = set()  # numbers of the nodes that are evaluated
        self._ready: deque[int] = deque()  # running nodes whose next slice is due
        self._limit: Termination | None = None
        self._urgent_since: float | None = None
        self._begun_at = limits.seconds
        self._reported_at: float | None = None
        self._looked_at, self._longest_step = 0.0, 0.0  # at the limits, by a task in this process
        self._is_new_incumbent = search.tree.source == "start" and not search.statistics.n_nodes
        self._n_cuts = 0  # of the node last evaluated

    def run(self) -> Termination | None:
        """Until every node is finished or a limit is reached."""
        if self._is_new_incumbent:
            self._report()
        while True:
            self._look_at_limits()
            if self._limit is None:
                self._choose_pool()
                self._submit()
            if not self._tasks and (self._limit is not None or not self._workforce.is_starting):
                break
            if self._is_to_be_left:
                self._leave_behind()
                break
            for completion in self._wait():
                self._receive(completion)
            self._tell(self._tree.take_news())
            self._report_now_and_then()
            self._save(self._search, finished=False)
        self._put_back()
        self._tell(self._tree.open_nodes())
        self._save(self._search, finished=True)
        if self._limit is None and not (self._tree.is_closed or self._tree.is_exhausted):
            lost = self._statistics.n_lost > 0
            return Termination.WORKERS_LOST if lost else Termination.PRECISION
        return self._limit

    def shutdown(self) -> None:
        self._workforce.shutdown()

    # -- limits ------------------------------------------------------------------------------

    def _look_at_limits(self) -> None:
        """Stop handing out work once a limit is reached."""
        if self._limit is None and self._tree.n_open:
            self._limit = self._limits.reached(self._statistics.n_nodes)
            if self._limit is None and self._context.is_without_bound and self._ready:
                self._limit = Termination.MEMORY_LIMIT
        if self._urgent_since is None and self._limits.urgent() is not None:
            self._urgent_since = self._limits.seconds

    @property
    def _is_to_be_left(self) -> bool:
        """Whether work under way must not be waited for any longer."""
        if self._limit is Termination.MEMORY_LIMIT:
            return True
        since = self._urgent_since
        return since is not None and self._limits.seconds >= since + GRACE

    def _leave_behind(self) -> None:
        """End the processes that work; all that is in flight stays in the tree as it was."""
        self._tasks.clear()
        self._workforce.shutdown()

    # -- work handed out ---------------------------------------------------------------------

    def _choose_pool(self) -> None:
        n_due = len(self._ready) + self._tree.n_waiting
        self._workforce.choose_pool(n_due, self._statistics.n_nodes, self._limits.seconds)

    def _submit(self) -> None:
        while self._workforce.pool.n_free and (node := self._next_node()) is not None:
            self._hand_over(node)

    def _next_node(self) -> Node | None:
        """One whose next slice is due, or else a new one."""
        if self._ready:
            return self._tree.running(self._ready.popleft())
        return self._tree.next_node()

    def _hand_over(self, node: Node) -> None:
        self._tasks.add(node.number)
        self._looked_at, self._longest_step = self._limits.seconds, 0.0
        self._workforce.pool.submit(
            node.number, evaluate, node, self._tree.upper, self._context, self._allowance()
        )
        # In this process it is done by now.
        self._note_step()
        self._workforce.saw_step(self._longest_step)

    @property
    def _slice(self) -> float:
        """Seconds of one task."""
        return min(LONGEST_SLICE, max(SHORTEST_SLICE, SLICE_SHARE * self._limits.seconds))

    def _allowance(self) -> Allowance:
        left = self._limits.time_limit - self._limits.seconds
        if not self._workforce.is_here:
            return Allowance(self._slice, left)
        bounds = self._context.is_without_bound or not self._workforce.leaves_steps_to_others
        return Allowance(self._slice, left, self._is_cancelled, self._found, bounds)

    def _is_cancelled(self) -> bool:
        """Asked by a task in this process between its steps."""
        self._note_step()
        self._report_now_and_then()
        return self._limits.urgent() is not None

    def _note_step(self) -> None:
        """A step of a task in this process has ended."""
        now = self._limits.seconds
        self._longest_step = max(self._longest_step, now - self._looked_at)
        self._looked_at = now

    def _found(self, labels: NDArray[np.intp], cost: float, source: str) -> None:
        """Told by a task in this process that goes on."""
        self._is_new_incumbent |= self._tree.offer(labels, cost, source)
        if self._is_new_incumbent and self._seconds_of_silence >= BETWEEN_CLUSTERINGS:
            self._report()

    # -- work that comes back ----------------------------------------------------------------

    def _wait(self) -> list[Completion]:
        """What has come back; nothing more will when a task has found no memory."""
        try:
            return self._workforce.wait(LOOK)
        except MemoryError:
            # Nobody knows whose it was. All that is in flight stays in the tree as it is.
            self._limit = Termination.MEMORY_LIMIT
            self._tasks.clear()
            return []

    def _receive(self, completion: Completion) -> None:
        self._tasks.remove(completion.key)
        if completion.lost:
            self._lose(completion.key)
        else:
            self._evaluated(completion.key, completion.value)

    def _lose(self, number: int) -> None:
        """The node has ended two workers: nobody else is sent."""
        self._tree.abandon(number)
        self._statistics.n_lost += 1
        self._observer(WorkerLost(number))
        self._count(number)

    def _evaluated(self, number: int, outcome: Outcome) -> None:
        tree, statistics = self._tree, self._statistics
        self._is_new_incumbent |= tree.offer(outcome.labels, outcome.cost, outcome.source)
        tree.update(advanced(tree.running(number), outcome))
        statistics.n_iterations += outcome.n_iterations
        statistics.n_fixed += len(outcome.fixings)
        status = outcome.status
        if (proof := self._search.proof) is not None:
            proof.bounded(number, outcome.proof)
            proof.fixed(number, outcome.fixing_proof)
            if status is NodeStatus.INFEASIBLE:
                proof.infeasible(number)
        if status is NodeStatus.INFEASIBLE:
            tree.drop(number)
        elif tree.tolerances.closes(tree.running(number).lower, tree.upper):
            tree.close(number, tree.running(number).lower)
        elif status is NodeStatus.BRANCH:
            assert outcome.pair is not None
            self._split(number, outcome.pair)
        elif status is NodeStatus.CLOSED:
            # Its only clustering costs less, beside what is squared, than a proof may lose.
            assert self._search.proof is not None, "a closed node whose bound does not close it"
            tree.abandon(number)
        else:
            self._ready.append(number)
        if status not in (NodeStatus.UNFINISHED, NodeStatus.FIXED):
            self._count(number)
        self._n_cuts = outcome.n_cuts
        self._report()

    def _split(self, number: int, pair: Pair) -> None:
        together, apart = self._tree.split(number, pair)
        if self._search.proof is not None:
            self._search.proof.split(number, pair, together, apart)

    def _put_back(self) -> None:
        """What was begun is open again."""
        for number in self._ready:
            self._tree.put_back(number)
        self._ready.clear()

    # -- what is told ------------------------------------------------------------------------

    def _count(self, number: int) -> None:
        """The evaluation of a node is finished."""
        self._statistics.n_nodes += 1
        if number == 0:
            statistics, tree = self._statistics, self._tree
            statistics.root_lower_bound = None if tree.is_exhausted else tree.lower
            statistics.root_gap = None if tree.labels is None else tree.gap
            statistics.root_seconds = self._limits.seconds

    def _tell(self, news: Iterable[NodeEvent]) -> None:
        for event in news:
            self._observer(event)

    def _report_now_and_then(self) -> None:
        """Tell that the run goes on, where nothing else does."""
        first = self._reported_at is None
        if self._seconds_of_silence >= (FIRST_REPORT if first else SILENCE):
            self._report()

    @property
    def _seconds_of_silence(self) -> float:
        """Since the last report, or since the search was begun."""
        last = self._begun_at if self._reported_at is None else self._reported_at
        return self._limits.seconds - last

    def _report(self) -> None:
        tree = self._tree
        self._reported_at = self._limits.seconds
        self._observer(
            Progress(
                seconds=self._limits.seconds,
                n_nodes=self._statistics.n_nodes,
                n_open=tree.n_open,
                lower=tree.lower,
                upper=tree.upper,
                gap=tree.gap,
                n_cuts=self._n_cuts,
                source=tree.source if self._is_new_incumbent else "",
            )
        )
        self._is_new_incumbent = False
