"""`constraint_prices`: the decrease of the optimum when a constraint is left out."""

from __future__ import annotations

import inspect
import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from sdpbb.bounds.registry import bounding_method
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Instance, Partition, SoftViolations, contract
from sdpbb.problem.instance import check_instance
from sdpbb.problem.statements import Catalogue, Statement, StatementKind, soft_statements
from sdpbb.questions.prices.report import Price, PriceProof, PriceReport
from sdpbb.questions.prices.tasks import PriceProbe, SolvedWithout, probe, solve_from, without
from sdpbb.run.checks import check_executor
from sdpbb.run.kernels import WarmUp
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solve_arguments import SolveArguments, stated_run
from sdpbb.run.solver import solve
from sdpbb.runtime.executors.clusters import workers_beyond
from sdpbb.runtime.executors.executor import TaskExecutor
from sdpbb.runtime.executors.given import GivenExecutor
from sdpbb.runtime.executors.memory import free_mebibytes
from sdpbb.runtime.executors.processes import LocalProcesses
from sdpbb.runtime.executors.scheduler import Scheduler, Task
from sdpbb.runtime.executors.serial import SerialExecutor
from sdpbb.runtime.interruption import interruptible
from sdpbb.search.evaluations import GRACE
from sdpbb.search.events import Observer, ignore
from sdpbb.search.result import Result, SolutionStatus, bound_below, relative_gap

# Seconds between two looks at interrupts while workers are waited for.
PAUSE = 0.2
# Seconds until other processes are started, which takes as long.
ALONE = 2.0


def stated_constraints(instance: Instance) -> tuple[Statement, ...]:
    """Return the must-links and the cannot-links of an instance, in the user's words.

    They are hard and soft ones; the soft come last. Those that distances (GAMMA, DELTA) stand for
    are not among them.

    Raises
    ------
    InstanceError
        If the instance is none.
    """
    check_instance(instance)
    catalogue = Catalogue(instance)
    hard = (catalogue.statement(number) for number in catalogue.stated_pairs)
    return (*hard, *soft_statements(instance))


def constraint_prices(
    instance: Any,
    constraints: Iterable[Statement] | None = None,
    parameters: SolverParameters | None = None,
    *,
    k: int | None = None,
    time_limit_each: float = math.inf,
    observer: Observer = ignore,
    on_price: Callable[[Price, int], None] | None = None,
    interrupt: threading.Event | None = None,
    executor: Executor | None = None,
    **arguments: Unpack[SolveArguments],
) -> PriceReport:
    """Compute by how much the optimum decreases when a constraint is left out, for each of some.

    With OPT the optimum, OPT_c the one without constraint c, LB <= OPT <= UB and
    LB_c <= OPT_c <= UB_c, the price OPT - OPT_c lies between max(0, LB - UB_c) and UB - LB_c. A
    wrong constraint is often a dear one.

    Costs are sums of squares plus the weights of the soft constraints that are violated. The price
    of a soft constraint of weight w is at most w, as every clustering costs at most w less without
    it; and it is w where an optimal clustering violates the constraint, as that one costs w less.
    So those that the best clustering known violates have their price at once: from w - (UB - LB) to
    w, as OPT_c is between LB - w and UB - w.

    The instance is solved, and then again without each constraint, beginning with the best
    clustering known; except where it is proven sooner that the price is exactly 0, since each
    clustering that keeps the other constraints and violates this one costs at least UB (its own
    weight left out), or since there is none (`PriceProof`).

    Parameters
    ----------
    instance : points, k and constraints as an `Instance`; or points alone, an array (n, d) or a
        data frame, with the others as further arguments
    constraints : of `stated_constraints(instance)`; None for all of them
    parameters : of each run. workers is the number of constraints that are priced at the same time;
        time_limit is for all runs together
    k : number of clusters, of points
    time_limit_each : seconds for each constraint, > 0
    observer : receives the events of the run with all constraints
    on_price : is called with each price as it comes, and with the number of those still to come
    interrupt : set it to end the run; what is known until then is reported
    executor : any `concurrent.futures.Executor`, each worker of which prices one constraint at a
        time, once the instance is solved; otherwise as for `solve`
    arguments : single parameters, and of points what makes an `Instance` of them, as for `solve`

    Raises
    ------
    ParameterError
        As `solve` does; and if time_limit_each is not above 0, or if a constraint is none of the
        instance's.
    TypeError, InstanceError, BackendFailure
        As `solve` does.
    Interrupted
        As `solve` does, with the report on what is known until then.
    """
    own = [*inspect.signature(constraint_prices).parameters][1:-1]
    asked = stated_run(instance, k, parameters, arguments, own, "constraint_prices")
    return _prices_of(*asked, constraints, time_limit_each, observer, on_price, interrupt, executor)


def _prices_of(
    instance: Instance,
    parameters: SolverParameters,
    constraints: Iterable[Statement] | None,
    time_limit_each: float,
    observer: Observer,
    on_price: Callable[[Price, int], None] | None,
    interrupt: threading.Event | None,
    executor: Executor | None,
) -> PriceReport:
    if not time_limit_each > 0:
        raise ParameterError(f"time_limit_each = {time_limit_each}: expected seconds > 0")
    check_executor(executor, parameters)
    stated = stated_constraints(instance)
    numbers = range(len(stated)) if constraints is None else _numbers(stated, constraints)

    def report(stop: threading.Event) -> PriceReport:
        clock = _PriceClock(parameters.time_limit, time_limit_each, stop)
        warm_up = WarmUp(parameters.bounding)
        with workers_beyond(executor, parameters.dask, parameters.mpi, warm_up) as workers:
            given = None if workers is None else workers.executor
            alone = replace(parameters, dask=None, mpi=False)
            result = solve(instance, alone, observer, stop, executor=given)
            if result.partition is None:
                return PriceReport(result, (), (), stop.is_set(), clock.seconds)
            run = _PriceRun(instance, stated, alone, clock, result, on_price, workers)
            run.price(numbers)
            return run.report()

    return interruptible(interrupt, report)


def _numbers(stated: Sequence[Statement], constraints: Iterable[Statement]) -> list[int]:
    if not isinstance(constraints, Iterable):
        raise ParameterError(
            f"constraints = {constraints!r}: expected must-links and cannot-links of the instance; "
            "the number of clusters is k="
        )
    number_of = {statement: number for number, statement in enumerate(stated)}
    numbers = []
    for statement in constraints:
        if statement not in number_of:
            raise ParameterError(
                f"constraints = {statement}: expected must-links and cannot-links of the instance"
            )
        numbers.append(number_of[statement])
    return list(dict.fromkeys(numbers))


class _PriceClock:
    """Time limits of all runs, and of each."""

    def __init__(self, limit: float, limit_each: float, stop: threading.Event) -> None:
        self._limit, self._limit_each = limit, limit_each
        self._started = time.perf_counter()
        self.stop = stop

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started

    @property
    def is_overdue(self) -> bool:
        """True if what is still under way is to be left behind."""
        return self.seconds >= self._limit + GRACE

    @property
    def for_next(self) -> float:
        """Seconds for the next run, <= 0 if there is to be none."""
        if self.stop.is_set():
            return 0.0
        return min(self._limit_each, self._limit - self.seconds)


class _PriceRun:
    """Computation of constraint prices, one after the other or several at a time."""

    def __init__(
        self,
        instance: Instance,
        stated: Sequence[Statement],
        parameters: SolverParameters,
        clock: _PriceClock,
        result: Result,
        on_price: Callable[[Price, int], None] | None,
        workers: GivenExecutor | None = None,
    ) -> None:
        assert result.partition is not None
        assert result.objective is not None
        assert result.lower_bound is not None
        self._instance, self._stated = instance, stated
        self._parameters, self._clock = parameters, clock
        self._result, self._workers, self._on_price = result, workers, on_price
        self._partition, self._upper = result.partition, result.objective
        self._lower = result.lower_bound
        contraction = contract(instance)
        assert isinstance(contraction, Contraction)  # there is a clustering
        # Such steps can only be left in processes that can be ended.
        probing, n_blocks = bounding_method("sdp"), contraction.n_blocks
        self._has_long_steps = n_blocks > probing.most_blocks_here
        # Where runs begin with subsets, the bound of all blocks takes too long for a look.
        is_large = parameters.decomposition.is_large(n_blocks, contraction.has_limits)
        needed = parameters.workers * probing.mebibytes(contraction)
        self._probes_bounds = not is_large and needed <= free_mebibytes()
        self._free: dict[int, PriceProbe] = {}
        self._solved: dict[int, SolvedWithout] = {}
        self._saved: set[int] = set()  # soft ones that the clustering first found violates
        self._left: list[int] = []
        self._is_here = True  # whether tasks are done by this process

    def price(self, numbers: Sequence[int]) -> None:
        """Find the prices of the constraints of these numbers.

        First the soft ones that are violated, then those of which a short look shows that they cost
        nothing, then the others.
        """
        self._left = list(numbers)
        for number in numbers:
            if self._is_violated(self._stated[number]):
                self._take_violated(number)
        end_alone = self._clock.seconds + ALONE
        later = list(self._left)
        if not (self._probes_bounds and self._has_long_steps):
            with Scheduler(SerialExecutor()) as here:
                later = self._each(here, later, self._probe, self._take_probe, end_alone)
        with Scheduler(self._executor(len(self._left))) as scheduler:
            self._each(scheduler, later, self._probe, self._take_probe)
            self._each(scheduler, self._promising_first(), self._solve, self._take_solved)

    def report(self) -> PriceReport:
        """Return what is known of all prices."""
        prices = [self._price(number) for number in sorted([*self._free, *self._solved])]
        prices.sort(key=lambda price: (-price.lower, -price.difference, -price.upper))
        lower = bound_below(self._lower, self._upper)
        best = replace(
            self._result,
            partition=self._partition,
            objective=self._upper,
            lower_bound=lower,
            gap=relative_gap(lower, self._upper),
            soft=SoftViolations.of(self._partition, self._instance),
        )
        unpriced = tuple(self._stated[number] for number in self._left)
        interrupted = self._clock.stop.is_set()
        return PriceReport(best, tuple(prices), unpriced, interrupted, self._clock.seconds)

    def _promising_first(self) -> list[int]:
        """Return the constraints left, farthest points first.

        The points are far beyond the nearest centre: what holds them in their clusters may be the
        constraint.
        """
        from heuristics.result import centres_of  # which imports what compiles

        instance, labels = self._instance, self._partition.labels
        points, centres = instance.points, centres_of(instance, labels)
        squares = np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres], axis=1)
        excess = squares[np.arange(len(points)), labels] - squares.min(axis=1)
        rows = {number: list(self._stated[number].rows) for number in self._left}
        return sorted(self._left, key=lambda number: -float(excess[rows[number]].max()))

    def _executor(self, n_tasks: int) -> TaskExecutor:
        n_workers = max(1, min(self._parameters.workers, n_tasks))
        self._is_here = n_workers == 1 and not self._has_long_steps and self._workers is None
        if self._is_here:
            return SerialExecutor()
        return self._workers or LocalProcesses(n_workers, WarmUp(self._parameters.bounding))

    def _each(
        self,
        scheduler: Scheduler,
        numbers: Sequence[int],
        task: Callable[[int, float], Task],
        take: Callable[[int, Any], None],
        end: float = math.inf,
    ) -> list[int]:
        """Do a task for each number, and take what comes of it.

        end : on the clock; nothing is begun afterwards

        Returns
        -------
        the numbers whose tasks were not begun.
        """
        waiting, clock = list(numbers)[::-1], self._clock

        def next_task() -> Task | None:
            if not waiting or clock.seconds > end or (seconds := clock.for_next) <= 0:
                return None
            return task(waiting.pop(), seconds)

        while not (clock.stop.is_set() or clock.is_overdue):
            if (tasks := scheduler.round(next_task, PAUSE)) is None:
                break
            for ended in tasks:
                if not ended.is_lost:
                    take(ended.key, ended.value)
        return waiting[::-1]

    def _probe(self, number: int, seconds: float) -> Task:
        statement, bounds = self._stated[number], self._probes_bounds
        return Task(number, probe, (self._instance, statement, self._upper, seconds, bounds))

    def _solve(self, number: int, seconds: float) -> Task:
        parameters = replace(self._parameters, workers=1, time_limit=seconds)
        # Other processes do not receive an interrupt: they are ended.
        stop = self._clock.stop if self._is_here else None
        instance = without(self._instance, self._stated[number])
        return Task(number, solve_from, (instance, parameters, self._partition.labels, stop))

    def _take_probe(self, number: int, found: PriceProbe) -> None:
        if found.proof is not None:
            self._free[number] = found
            self._done(number)

    def _take_solved(self, number: int, solved: SolvedWithout) -> None:
        """Learn from the run without a constraint.

        What is valid for that is a bound for the instance; what keeps the constraint all the same
        is a clustering of it.
        """
        if solved.was_interrupted:
            return
        self._solved[number] = solved
        self._lower = max(self._lower, solved.lower_bound)
        partition = Partition(solved.labels)
        is_soft = self._stated[number].weight is not None
        cost = partition.cost(self._instance) if is_soft else solved.objective
        if cost < self._upper and partition.is_feasible(self._instance):
            self._partition, self._upper = partition, cost
        self._done(number)

    def _is_violated(self, statement: Statement) -> bool:
        """Return whether the best clustering known violates a constraint, a soft one."""
        if statement.weight is None:
            return False
        together = len(set(self._partition.labels[list(statement.rows)].tolist())) == 1
        return together == (statement.kind is StatementKind.SOFT_CANNOT_LINK)

    def _take_violated(self, number: int) -> None:
        """Learn what the best clustering known costs without a soft constraint that it violates."""
        weight = self._stated[number].weight
        assert weight is not None
        self._saved.add(number)
        self._solved[number] = SolvedWithout(
            objective=self._partition.cost(without(self._instance, self._stated[number])),
            lower_bound=max(0.0, self._lower - weight),
            labels=self._partition.labels,
            is_optimal=self._result.status is SolutionStatus.OPTIMAL,
            was_interrupted=False,
            seconds=0.0,
        )
        self._done(number)

    def _done(self, number: int) -> None:
        self._left.remove(number)
        if self._on_price is not None:
            self._on_price(self._price(number), len(self._left))

    def _price(self, number: int) -> Price:
        statement = self._stated[number]
        lower, upper = bound_below(self._lower, self._upper), self._upper
        if number in self._free:
            found = self._free[number]
            assert found.proof is not None
            return Price(statement, 0.0, 0.0, 0.0, upper, lower, True, found.proof, found.seconds)
        solved = self._solved[number]
        best = min(solved.objective, upper)
        most = upper - solved.lower_bound
        if statement.weight is not None:
            most = min(most, statement.weight)
        least = max(0.0, lower - best)
        return Price(
            statement=statement,
            lower=least,
            upper=max(least, most),
            difference=upper - best,
            objective_without=best,
            lower_bound_without=solved.lower_bound,
            proven=self._result.status is SolutionStatus.OPTIMAL and solved.is_optimal,
            proof=PriceProof.VIOLATED if number in self._saved else PriceProof.SOLVED,
            seconds=solved.seconds,
            violated=self._is_violated(statement),
        )
