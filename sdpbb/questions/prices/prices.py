"""`constraint_prices`: the decrease of the optimum when a constraint is left out."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Contraction, Infeasibility, Instance, SoftPairs, SoftViolations, contract
from sdpbb.problem.class_sizes import ClassSizes
from sdpbb.problem.instance import check_instance
from sdpbb.problem.statements import Catalogue, Statement, StatementKind, soft_statements
from sdpbb.questions.looks import fits_one_matrix, has_long_steps, look
from sdpbb.questions.prices.report import Price, PriceProof, PriceReport
from sdpbb.questions.study import Outcome, Study, solved
from sdpbb.run.arguments import SolveArguments, stated_run
from sdpbb.run.parameters import SolverParameters
from sdpbb.search.events import Observer, ignore
from sdpbb.search.result import (
    PRECISION,
    Result,
    SolutionStatus,
    Termination,
    bound_below,
    relative_gap,
)

# Evaluations of the semidefinite bound in a probe. Nearly all constraints that cost nothing need
# one or two.
PROBE_STEPS = 5


def stated_constraints(instance: Instance) -> tuple[Statement, ...]:
    """Return the must-links and the cannot-links of an instance, in the user's words.

    They are hard and soft ones; the soft come last. Those that distances (GAMMA, DELTA) stand for
    are not among them.

    Raises
    ------
    InstanceError
        If the instance is none, or has sizes of known classes.
    """
    check_instance(instance)
    if isinstance(instance.sizes, ClassSizes):
        raise InstanceError(
            "sizes: of classes, which all their pairs define; prices take sizes in any order"
        )
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
    instance, parameters = stated_run(instance, k, parameters, arguments, constraint_prices)
    stated = stated_constraints(instance)
    study = Study[int](
        parameters,
        executor,
        time_limit_each=time_limit_each,
        name_of=lambda number: str(stated[number]),
    )
    numbers = range(len(stated)) if constraints is None else _numbers(stated, constraints)

    def report() -> PriceReport:
        result = study.solve(instance, observer)
        if result.partition is None:
            return PriceReport(result, (), (), study.stop.is_set(), study.seconds)
        alone = replace(parameters, dask=None, mpi=False)
        return _Prices(instance, stated, alone, result, on_price).report(study, numbers)

    return study.conduct(interrupt, report)


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


def without(instance: Instance, statement: Statement) -> Instance:
    """Return the instance without a must-link or a cannot-link, hard or soft.

    A hard pair stays if it is stated twice, or if a distance (GAMMA, DELTA) stands for it as well.
    """
    argument, catalogue = statement.argument, Catalogue(instance)
    others: Any
    if statement.weight is not None:
        soft: SoftPairs = getattr(instance, argument)
        pairs = np.delete(soft.pairs, statement.position, axis=0)
        others = SoftPairs(pairs, np.delete(soft.weights, statement.position))
        return replace(instance, **{argument: others})
    offset = 0 if argument == "must_link" else len(instance.must_link)
    if offset + statement.position in catalogue.stated_and_implied:
        return instance
    others = np.delete(getattr(instance, argument), statement.position, axis=0)
    return replace(instance, **{argument: others})


@dataclass(frozen=True)
class Without:
    """Optimum without a constraint: bounds on it, and how they are known.

    objective, lower_bound : None: those of the instance with the constraint
    """

    proof: PriceProof
    seconds: float
    objective: float | None = None
    lower_bound: float | None = None
    is_optimal: bool = True


def probe(
    instance: Instance, statement: Statement, upper: float, seconds: float, is_bounded: bool
) -> Outcome:
    """Look for a proof that a constraint costs nothing.

    With OPT_v the least cost of the clusterings that keep the other constraints and violate this
    one, the optimum without it is the lesser of OPT and OPT_v, if some optimal clustering keeps it.
    It is OPT if there are none of them, or if a bound proves OPT_v >= upper. The weight of a soft
    one is not part of OPT_v.

    upper : the cost of a clustering that keeps all constraints, and this one if it is soft
    seconds : after which nothing more is tried
    is_bounded : whether a bound is tried, too, with matrices of all blocks

    Returns
    -------
    The outcome of a job of a study, whose value is a `Without`, or None without a proof.
    """
    started = time.perf_counter()

    def time_left() -> float:
        return started + seconds - time.perf_counter()

    others, pair = without(instance, statement), [(statement.rows[0], statement.rows[1])]
    # A violated must-link is a cannot-link, and the other way round.
    if statement.argument in ("must_link", "soft_must_link"):
        violated = contract(others, cannot_link=pair)
    else:
        violated = contract(others, must_link=pair)
    # Above upper by more than its own rounding.
    wanted = upper * (1.0 + PRECISION)
    proof = None
    if isinstance(violated, Infeasibility):
        proof = PriceProof.IMPLIED
    elif is_bounded and look(violated, wanted, time_left, PROBE_STEPS) >= wanted:
        proof = PriceProof.IDLE
    return Outcome(proof and Without(proof, time.perf_counter() - started))


class _Prices:
    """Prices of constraints, as far as they are known."""

    def __init__(
        self,
        instance: Instance,
        stated: Sequence[Statement],
        parameters: SolverParameters,
        result: Result,
        on_price: Callable[[Price, int], None] | None,
    ) -> None:
        assert result.partition is not None
        assert result.objective is not None
        assert result.lower_bound is not None
        self._instance, self._stated = instance, stated
        self._parameters, self._result, self._on_price = parameters, result, on_price
        self._partition, self._upper = result.partition, result.objective
        self._lower = result.lower_bound
        contraction = contract(instance)
        assert isinstance(contraction, Contraction)  # there is a clustering
        # Where runs begin with subsets, the bound of all blocks takes too long for a look.
        self._probes_bounds = fits_one_matrix(contraction, parameters)
        self._has_long_steps = has_long_steps(contraction)
        self._known: dict[int, Without] = {}
        self._left: list[int] = []
        self._problems: list[str] = []

    def report(self, study: Study[int], numbers: Sequence[int]) -> PriceReport:
        """Find the prices of the constraints of these numbers; return what is known of all.

        First the soft ones that are violated, then those of which a short look shows that they cost
        nothing, then the others.
        """
        self._left = list(numbers)
        for number in numbers:
            if self._is_violated(self._stated[number]):
                self._take_violated(number)
        is_long = self._probes_bounds and self._has_long_steps
        later, take = list(self._left), self._take_probe
        study.run(later, self._probe, take, needs_processes=is_long, is_short=True)
        left = self._promising_first()
        study.run(left, self._solve, self._take_solved, needs_processes=self._has_long_steps)
        prices = [self._price(number) for number in sorted(self._known)]
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
        return PriceReport(
            best,
            tuple(prices),
            unpriced=tuple(self._stated[number] for number in self._left),
            interrupted=study.stop.is_set(),
            seconds=study.seconds,
            problems=tuple(self._problems),
        )

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

    def _probe(self, number: int, seconds: float, stop: object) -> partial[Outcome]:
        statement, bounds = self._stated[number], self._probes_bounds
        return partial(probe, self._instance, statement, self._upper, seconds, bounds)

    def _solve(self, number: int, seconds: float, stop: threading.Event | None) -> partial[Outcome]:
        parameters = replace(self._parameters, workers=1, time_limit=seconds)
        instance = without(self._instance, self._stated[number])
        return partial(solved, instance, parameters, stop, start=self._partition.labels)

    def _take_probe(self, number: int, outcome: Outcome) -> None:
        if outcome.value is not None:
            self._learn(number, outcome.value)

    def _take_solved(self, number: int, outcome: Outcome) -> None:
        """Learn from the run without a constraint.

        Its lower bound is one for the instance, too. Its clustering is one of the instance if it
        keeps the constraint all the same.
        """
        result: Result | None = outcome.value
        if result is None:
            self._problems.append(f"{self._stated[number]}: {outcome.message}")
            return
        if result.termination is Termination.INTERRUPTED:
            return
        assert result.partition is not None  # it began with one
        assert result.objective is not None
        assert result.lower_bound is not None
        self._lower = max(self._lower, result.lower_bound)
        is_soft = self._stated[number].weight is not None
        cost = result.partition.cost(self._instance) if is_soft else result.objective
        if cost < self._upper and result.partition.is_feasible(self._instance):
            self._partition, self._upper = result.partition, cost
        known = Without(
            PriceProof.SOLVED,
            result.statistics.wall_seconds,
            result.objective,
            result.lower_bound,
            result.status is SolutionStatus.OPTIMAL,
        )
        self._learn(number, known)

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
        cost = self._partition.cost(without(self._instance, self._stated[number]))
        lower = max(0.0, self._lower - weight)
        self._learn(number, Without(PriceProof.VIOLATED, 0.0, cost, lower))

    def _learn(self, number: int, known: Without) -> None:
        self._known[number] = known
        self._left.remove(number)
        if self._on_price is not None:
            self._on_price(self._price(number), len(self._left))

    def _price(self, number: int) -> Price:
        statement, known = self._stated[number], self._known[number]
        lower, upper = bound_below(self._lower, self._upper), self._upper
        if known.objective is None or known.lower_bound is None:
            return Price(statement, 0.0, 0.0, 0.0, upper, lower, True, known.proof, known.seconds)
        best = min(known.objective, upper)
        most = upper - known.lower_bound
        if statement.weight is not None:
            most = min(most, statement.weight)
        least = max(0.0, lower - best)
        return Price(
            statement=statement,
            lower=least,
            upper=max(least, most),
            difference=upper - best,
            objective_without=best,
            lower_bound_without=known.lower_bound,
            proven=self._result.status is SolutionStatus.OPTIMAL and known.is_optimal,
            proof=known.proof,
            seconds=known.seconds,
            violated=self._is_violated(statement),
        )
