"""`constraint_prices`: the decrease of the optimum without a constraint."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any, NamedTuple, Unpack

from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Instance, SoftViolations, contract
from sdpbb.problem.statements import Statement, StatementKind, stated_constraints, without
from sdpbb.questions.report import SHOWN, Entry, StudyReport, table_of
from sdpbb.questions.study import (
    Outcome,
    Study,
    bound_job,
    fits_one_matrix,
    has_long_steps,
    solve_job,
)
from sdpbb.run.arguments import SolveArguments, stated_run
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.document import Document, Facts, Part, Text, Tone, Verdict
from sdpbb.runtime.results import keys_of
from sdpbb.runtime.values import counted, rounded_down
from sdpbb.search.events import Observer, ignore
from sdpbb.search.result import (
    PRECISION,
    Result,
    SolutionStatus,
    Termination,
    bound_below,
    relative_gap,
)

# Evaluations of the semidefinite bound in a short job. Nearly all constraints that cost nothing
# need one or two.
LOOK_STEPS = 5
# Significant digits of prices in the table.
DIGITS = 6
LEGEND = (
    "The cost of a constraint is the decrease of the optimum without it. Proven: at least, at "
    "most.\nFound: the difference of the best clusterings found with it and without it."
)


class PriceProof(Enum):
    """Proof of the price of a constraint."""

    IMPLIED = "implied"
    """Costs nothing: no clustering satisfies the others and violates it."""
    IDLE = "idle"
    """Costs nothing: clusterings that satisfy the others and violate it are proven to be no better
    than the best one that satisfies all."""
    VIOLATED = "violated"
    """Costs the weight of the soft constraint, as the best clustering known violates it. Without
    the constraint, this clustering costs less by the weight; none costs less by more."""
    SOLVED = "solved"
    """The instance has been solved without it."""


FREE = {
    PriceProof.IMPLIED: "the other constraints imply it",
    PriceProof.IDLE: "no clustering that violates it is better",
}
"""Reasons, in words, why a constraint costs nothing."""


@dataclass(frozen=True, repr=False)
class Price(Entry):
    """Price of a constraint: the decrease of the optimum without it.

    Attributes
    ----------
    statement : the constraint, with its weight if it is soft
    lower, upper : proven lower and upper bound on the price
    difference : difference of the costs of the best clusterings found with and without the
        constraint
    objective_without, lower_bound_without : the cost of the best clustering found without the
        constraint, and a proven lower bound on the optimum
    proven : whether the price is exactly 0, or both optima are proven within the gap
    proof : proof of the price
    seconds : duration of the proof
    violated : whether the constraint is soft and the best clustering known violates it
    """

    statement: Statement
    lower: float
    upper: float
    difference: float
    objective_without: float
    lower_bound_without: float
    proven: bool
    proof: PriceProof
    seconds: float
    violated: bool = False

    fields = (
        *("statement.place", "kind", "row_i:statement.names.0", "row_j:statement.names.1"),
        *("statement.weight", "violated", "price_lower:lower", "price_upper:upper", "difference"),
        *("objective_without", "lower_bound_without", "proven", "proof", "seconds"),
    )

    @property
    def kind(self) -> str:
        """Kind of the constraint, such as "must_link"."""
        return self.statement.kind.name.lower()

    @property
    def at_least(self) -> str:
        """The lower end of the price, rounded down."""
        return f"{float(rounded_down(self.lower, DIGITS)):.{DIGITS}g}"

    @property
    def at_most(self) -> str:
        """The upper end of the price, rounded up."""
        return f"{abs(float(rounded_down(-self.upper, DIGITS))):.{DIGITS}g}"

    @property
    def remark(self) -> str:
        """The constraint, with remarks on its price."""
        violated = " (violated)" if self.violated else ""
        return f"{self.statement.text}{violated}{'' if self.proven else ' (not solved to the end)'}"

    def __str__(self) -> str:
        if self.proof in FREE:
            return f"{self.statement}: costs nothing, as {FREE[self.proof]}"
        least, most = self.at_least, self.at_most
        interval = least if least == most else f"at least {least}, at most {most}"
        return f"{self.statement}: costs {interval}"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PriceReport(StudyReport):
    """Report on the prices of constraints.

    Attributes
    ----------
    instance : the instance
    result : result of the instance with all constraints, improved by what the other runs found and
        proved. Without a clustering, there are no prices; if it is infeasible, `result.conflict`
        says why
    prices : sorted by proven lower bound, then by the difference found, the largest first
    unpriced : constraints without a price, as time ran out or their run failed
    interrupted : whether an interrupt ended the run
    seconds : of the whole run
    problems : a line for each constraint whose run failed
    """

    prices: tuple[Price, ...] = ()
    unpriced: tuple[Statement, ...] = ()

    title = "Prices of constraints"
    nothing = "constraints have no price"
    columns, items = keys_of(Price.fields), "prices"
    values = (
        "result.status result.termination result.objective result.lower_bound result.gap "
        "result.partition.labels is_complete interrupted prices unpriced problems result.conflict "
        "seconds result.parameters result.version"
    )

    @property
    def is_complete(self) -> bool:
        """True if every price is proven within the gap."""
        return self.is_solved and not self.unpriced and all(price.proven for price in self.prices)

    def document(self, top: int = SHOWN) -> Document:
        """Return a summary, and the most expensive constraints.

        top : maximum prices in the table, which has no prices that are certainly 0
        """
        if self.result.objective is None:
            return self.without_clustering()
        tone = Tone("Some prices are not known within the gap", "fair")
        if self.is_complete:
            tone = Tone("Every price is known within the gap", "good")
        parts: list[Part] = [Verdict("Status", tone, ""), Facts(self.facts())]
        dear = [price for price in self.prices if price.upper > 0]
        if dear and top:
            cells: dict[str, Callable[[Price], str]] = {
                "stated at": lambda price: price.statement.place,
                "constraint": lambda price: price.remark,
                "costs at least": lambda price: price.at_least,
                "at most": lambda price: price.at_most,
                "found": lambda price: f"{price.difference:.{DIGITS}g}",
            }
            parts += [Text(LEGEND, "list"), table_of(dear, cells, "Prices", top)]
        return Document(self.title, parts, self.instance.name)

    def findings(self) -> list[tuple[str, str]]:
        facts = [("Priced", counted(len(self.prices), "constraint"))]
        counts = Counter(price.proof for price in self.prices)
        for proof, reason in FREE.items():
            if counts[proof]:
                facts.append(("Cost nothing", f"{counts[proof]}, as {reason}"))
        if n_left := len(self.unpriced) - len(self.problems):
            reason = "the run was interrupted" if self.interrupted else "the time was over"
            facts.append(("Not priced", f"{counted(n_left, 'constraint')}, as {reason}"))
        return facts


def constraint_prices(
    instance: Any,
    constraints: Iterable[Statement] | None = None,
    parameters: SolverParameters | None = None,
    *,
    k: int | None = None,
    time_limit_each: float = math.inf,
    observer: Observer = ignore,
    on_price: Callable[[Price, int], None] = lambda price, left: None,
    interrupt: threading.Event | None = None,
    executor: Executor | None = None,
    **arguments: Unpack[SolveArguments],
) -> PriceReport:
    """Compute the price of each constraint: the decrease of the optimum without it.

    Let OPT be the optimum and OPT_c the optimum without constraint c, with bounds LB <= OPT <= UB
    and LB_c <= OPT_c <= UB_c. The price OPT - OPT_c lies between max(0, LB - UB_c) and UB - LB_c. A
    wrong constraint often has a high price.

    Costs are sums of squares plus the weights of the soft constraints that are violated. The price
    of a soft constraint of weight w is at most w, as every clustering costs at most w less without
    it. If the best clustering known violates the constraint, its price is between w - (UB - LB) and
    w, as OPT_c is between LB - w and UB - w. No run is needed then.

    The instance is solved, and again without each constraint, starting from the best clustering
    known. A short bound often proves sooner that the price is exactly 0: every clustering that
    satisfies the other constraints and violates this one costs at least UB (without its own
    weight), or no such clustering exists (`PriceProof`).

    Parameters
    ----------
    instance, k, arguments : as for `sdpbb.solve`
    constraints : some of `stated_constraints(instance)`; None: all
    parameters : parameters of each run. workers is the number of constraints that are priced at the
        same time; time_limit is for all runs together
    time_limit_each : seconds for each constraint, > 0
    observer : receives the events of the run with all constraints
    on_price : called with each price as it comes, and with the number of prices to come
    interrupt : event that ends the run early, with a report on what is known
    executor : any `concurrent.futures.Executor`. Once the instance is solved, each worker prices
        one constraint at a time; otherwise as for `solve`

    Raises
    ------
    ParameterError
        As `solve` does; and if time_limit_each is not above 0, or if a constraint is not one of the
        instance.
    TypeError, InstanceError, BackendFailure
        As `solve` does.
    Interrupted
        As `solve` does, with the report on what is known.
    """
    instance, parameters = stated_run(instance, k, parameters, arguments, constraint_prices)
    stated = stated_constraints(instance)
    study = Study[Statement](parameters, executor, time_limit_each=time_limit_each)
    expected = "expected must-links and cannot-links of the instance"
    if constraints is not None and not isinstance(constraints, Iterable):
        raise ParameterError(
            f"constraints = {constraints!r}: {expected}; the number of clusters is k="
        )
    chosen = tuple(dict.fromkeys(stated if constraints is None else constraints))
    for statement in chosen:
        if statement not in stated:
            raise ParameterError(f"constraints = {statement}: {expected}")

    def report() -> PriceReport:
        result = study.solve(instance, observer)
        if result.partition is None:
            return PriceReport(instance=instance, result=result, **study.ended())
        return _Prices(instance, result, on_price).report(study, parameters, chosen)

    return study.conduct(interrupt, report)


class _Known(NamedTuple):
    """Proof of a price, its seconds, and the optimum without the constraint if it differs.

    cost, bound : cost of a clustering without the constraint, and a lower bound; None: the same
        optimum
    is_optimal : whether they meet
    """

    proof: PriceProof
    seconds: float
    cost: float = math.inf
    bound: float | None = None
    is_optimal: bool = True


class _Prices:
    """Prices of constraints, as far as they are known."""

    def __init__(
        self, instance: Instance, result: Result, on_price: Callable[[Price, int], None]
    ) -> None:
        assert result.partition is not None
        assert result.objective is not None
        assert result.lower_bound is not None
        self._instance, self._result, self._on_price = instance, result, on_price
        self._partition, self._upper = result.partition, result.objective
        self._lower = result.lower_bound
        self._known: dict[Statement, _Known] = {}
        self._left: list[Statement] = []
        self._problems: list[str] = []

    def report(
        self, study: Study[Statement], parameters: SolverParameters, statements: Sequence[Statement]
    ) -> PriceReport:
        """Find the prices of constraints; return what is known of all.

        First the violated soft ones, then the constraints that a short bound proves to cost
        nothing, then the others.
        """
        instance, contraction = self._instance, contract(self._instance)
        assert isinstance(contraction, Contraction)  # there is a clustering
        # If runs begin with subsets, a bound of all blocks takes too long here.
        n_steps = LOOK_STEPS if fits_one_matrix(contraction, parameters) else 0
        is_long = has_long_steps(contraction)
        self._left = list(statements)
        for statement in statements:
            if self._is_violated(statement):
                assert statement.weight is not None
                cost = self._partition.cost(without(instance, statement))
                bound = max(0.0, self._lower - statement.weight)
                self._learn(statement, _Known(PriceProof.VIOLATED, 0.0, cost, bound))
        # Above upper by more than its own rounding.
        wanted = self._upper * (1.0 + PRECISION)

        def begin_look(one: Statement, seconds: float, stop: object) -> partial[Outcome]:
            # A violated must-link is a cannot-link, and the other way round.
            opposite = "cannot_link" if one.argument.endswith("must_link") else "must_link"
            violated = {opposite: [one.rows[:2]]}
            return partial(bound_job, without(instance, one), violated, wanted, seconds, n_steps)

        def begin(one: Statement, seconds: float, stop: threading.Event | None) -> partial[Outcome]:
            limited, less = parameters.alone(time_limit=seconds), without(instance, one)
            return partial(solve_job, less, limited, stop, start=self._partition.labels)

        bounds = dict.fromkeys(self._left, -math.inf)
        in_processes = n_steps > 0 and is_long
        for one, outcome in study.outcomes(
            bounds, begin_look, needs_processes=in_processes, begins_here=True
        ):
            if outcome.value is not None:
                bounds[one] = outcome.value.bound
            if bounds[one] >= wanted:
                is_implied = bounds[one] == math.inf
                proof = PriceProof.IMPLIED if is_implied else PriceProof.IDLE
                self._learn(one, _Known(proof, outcome.seconds))
        # Constraints whose violation may be cheap are likely to have high prices.
        likely = sorted(self._left, key=bounds.__getitem__)
        for one, outcome in study.outcomes(likely, begin, needs_processes=is_long):
            self._take(one, outcome)
        prices = [self._price(statement) for statement in statements if statement in self._known]
        prices.sort(key=lambda price: (-price.lower, -price.difference, -price.upper))
        lower = bound_below(self._lower, self._upper)
        best = replace(
            self._result,
            partition=self._partition,
            objective=self._upper,
            lower_bound=lower,
            gap=relative_gap(lower, self._upper),
            soft=SoftViolations.of(self._partition, instance),
        )
        return PriceReport(
            instance=instance,
            result=best,
            prices=tuple(prices),
            unpriced=tuple(self._left),
            problems=tuple(self._problems),
            **study.ended(),
        )

    def _take(self, statement: Statement, outcome: Outcome) -> None:
        """Learn from the run without a constraint.

        Its lower bound is also valid for the instance, and so is its clustering if it satisfies the
        constraint.
        """
        result: Result | None = outcome.value
        if result is None:
            self._problems.append(f"{statement}: {outcome.message}")
            return
        if result.termination is Termination.INTERRUPTED:
            return
        assert result.partition is not None  # it began with one
        assert result.objective is not None
        assert result.lower_bound is not None
        self._lower = max(self._lower, result.lower_bound)
        is_soft = statement.weight is not None
        cost = result.partition.cost(self._instance) if is_soft else result.objective
        if cost < self._upper and result.partition.is_feasible(self._instance):
            self._partition, self._upper = result.partition, cost
        is_optimal = result.status is SolutionStatus.OPTIMAL
        ends = result.objective, result.lower_bound, is_optimal
        self._learn(statement, _Known(PriceProof.SOLVED, outcome.seconds, *ends))

    def _is_violated(self, statement: Statement) -> bool:
        """Return whether a constraint is soft and the best clustering known violates it."""
        first, *others = self._partition.labels[list(statement.rows)].tolist()
        return statement.weight is not None and (
            (first in others) == (statement.kind is StatementKind.SOFT_CANNOT_LINK)
        )

    def _learn(self, statement: Statement, known: _Known) -> None:
        self._known[statement] = known
        self._left.remove(statement)
        self._on_price(self._price(statement), len(self._left))

    def _price(self, statement: Statement) -> Price:
        known, upper = self._known[statement], self._upper
        lower, least, most = bound_below(self._lower, upper), 0.0, 0.0
        cost = min(known.cost, upper)
        if known.bound is not None:
            least, most = max(0.0, lower - cost), upper - known.bound
        if statement.weight is not None:
            most = min(most, statement.weight)
        is_solved = self._result.status is SolutionStatus.OPTIMAL
        return Price(
            statement=statement,
            lower=least,
            upper=max(least, most),
            difference=upper - cost,
            objective_without=cost,
            lower_bound_without=lower if known.bound is None else known.bound,
            proven=known.bound is None or (is_solved and known.is_optimal),
            proof=known.proof,
            seconds=known.seconds,
            violated=self._is_violated(statement),
        )
