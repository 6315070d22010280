"""Prices of constraints as values and as a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sdpbb.problem.statements import Statement
from sdpbb.questions.report import SHOWN, StudyReport
from sdpbb.runtime.document import Document, Facts, Part, Table, Text, Tone, Verdict
from sdpbb.runtime.results import keys_of, values_of
from sdpbb.runtime.values import counted, rounded_down, seconds_text
from sdpbb.search.result import Result

# Significant digits of prices in the table.
DIGITS = 6
LEGEND = (
    "The cost of a constraint is the decrease of the optimum without it. Proven: at least, at "
    "most.\nFound: the difference of the best clusterings found with it and without it."
)
COLUMNS = (
    *("statement.place", "kind", "row_i:statement.names.0", "row_j:statement.names.1"),
    *("statement.weight", "violated", "price_lower:lower", "price_upper:upper", "difference"),
    *("objective_without", "lower_bound_without", "proven", "proof", "seconds"),
)


class PriceProof(Enum):
    """Proof of the price of a constraint."""

    IMPLIED = "implied"
    """Nothing: no clustering keeps the others and violates it."""
    IDLE = "idle"
    """Nothing: clusterings that keep the others and violate it are proven to be no better than the
    best one known that keeps all."""
    VIOLATED = "violated"
    """The weight of a soft constraint: the best clustering known violates it, so that leaving it
    out saves the weight, and nothing saves more."""
    SOLVED = "solved"
    """The instance has been solved without it."""


FREE = {
    PriceProof.IMPLIED: "the other constraints imply it",
    PriceProof.IDLE: "no clustering that violates it is better",
}
"""Reasons, in words, why a constraint costs nothing."""


@dataclass(frozen=True, repr=False)
class Price:
    """Price of a constraint: the decrease of the optimum when it is left out.

    Attributes
    ----------
    statement : the constraint, with its weight if it is soft
    lower, upper : the price lies between them, which is proven
    difference : of the best clusterings found, with the constraint and without
    objective_without, lower_bound_without : the cost of the best clustering found without the
        constraint, and what is proven to be at most the optimum
    proven : whether the price is exactly 0, or both optima are known to the gap asked for
    proof : how it is known
    seconds : that it took
    violated : whether the best clustering known violates the constraint, a soft one
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

    @property
    def kind(self) -> str:
        """Kind of the constraint, such as "must_link"."""
        return self.statement.kind.name.lower()

    def to_row(self) -> dict[str, Any]:
        """Return a row of a table; rows of points are named as the user does."""
        return values_of(self, *COLUMNS)

    def __str__(self) -> str:
        if self.proof in FREE:
            return f"{self.statement}: costs nothing, as {FREE[self.proof]}"
        least, most = _at_least(self.lower), _at_most(self.upper)
        return f"{self.statement}: costs {_interval(least, most)}"

    def __repr__(self) -> str:
        return f"<Price of {self}>"


@dataclass(frozen=True, repr=False)
class PriceReport(StudyReport):
    """Report on the prices of constraints.

    Attributes
    ----------
    result : of the instance with all of its constraints, with what the other runs have found and
        proven for it. If it has no clustering, nothing has a price; if it is infeasible,
        `result.conflict` says why
    prices : the dearest first: by what is proven, then by the difference found
    unpriced : constraints that the time was not enough for, or whose run failed
    interrupted : whether an interrupt ended the run
    seconds : of the whole run
    problems : a line for each constraint whose run failed
    """

    result: Result
    prices: tuple[Price, ...]
    unpriced: tuple[Statement, ...]
    interrupted: bool
    seconds: float
    problems: tuple[str, ...] = ()

    title = "Prices of constraints"
    nothing = ("constraints have no price", "constraints have no price")
    columns, items = keys_of(COLUMNS), "prices"
    values = (
        "result.status result.termination result.objective result.lower_bound result.gap "
        "result.partition.labels is_complete interrupted prices unpriced problems result.conflict "
        "seconds result.parameters result.version"
    )

    @property
    def is_complete(self) -> bool:
        """True if every price is known to the gap asked for."""
        return self.is_solved and not self.unpriced and all(price.proven for price in self.prices)

    def document(self, top: int = SHOWN) -> Document:
        """Return a summary, and the most expensive constraints.

        top : number of prices in the table; those that are 0 for sure are not in it
        """
        if self.result.objective is None:
            return self.without_clustering()
        tone = Tone("Some prices are not known within the gap", "fair")
        if self.is_complete:
            tone = Tone("Every price is known within the gap", "good")
        parts: list[Part] = [Verdict("Status", tone, ""), Facts(self.facts())]
        dear = [price for price in self.prices if price.upper > 0]
        if dear[:top]:
            columns = ["stated at", "constraint", "costs at least", "at most", "found"]
            rows = [_row(price) for price in dear[:top]]
            more = len(dear) - len(rows)
            parts += [Text(LEGEND, "list"), Table(columns, rows, "Prices", more)]
        return Document(self.title, parts)

    def facts(self) -> list[tuple[str, str]]:
        facts = [*super().facts(), ("Priced", counted(len(self.prices), "constraint"))]
        counts = Counter(price.proof for price in self.prices)
        for proof, reason in FREE.items():
            if counts[proof]:
                facts.append(("Cost nothing", f"{counts[proof]}, as {reason}"))
        if n_left := len(self.unpriced) - len(self.problems):
            reason = "the run was interrupted" if self.interrupted else "the time was over"
            facts.append(("Not priced", f"{counted(n_left, 'constraint')}, as {reason}"))
        facts += [("Failed", problem) for problem in self.problems]
        return [*facts, ("Time", seconds_text(self.seconds))]

    def __repr__(self) -> str:
        dearest = ""
        if self.prices and self.prices[0].lower > 0:
            dearest = f", dearest {self.prices[0]}"
        left = f", {len(self.unpriced)} not priced" if self.unpriced else ""
        return f"<PriceReport: {counted(len(self.prices), 'constraint')} priced{left}{dearest}>"


def _at_least(value: float) -> str:
    """Return value >= 0 at DIGITS significant digits, never above it."""
    return f"{float(rounded_down(value, DIGITS)):.{DIGITS}g}"


def _at_most(value: float) -> str:
    """Return value >= 0 at DIGITS significant digits, never below it."""
    return f"{abs(float(rounded_down(-value, DIGITS))):.{DIGITS}g}"


def _interval(least: str, most: str) -> str:
    return least if least == most else f"at least {least}, at most {most}"


def _row(price: Price) -> list[str]:
    """Return the cells of a price in the table."""
    statement = price.statement
    remark = (" (violated)" if price.violated else "") + (
        "" if price.proven else " (not solved to the end)"
    )
    figures = [_at_least(price.lower), _at_most(price.upper), f"{price.difference:.{DIGITS}g}"]
    return [statement.place, f"{statement.text}{remark}", *figures]
