"""What a verdict says, and the numbers that it is made of."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.cuts import FORMS, Cuts
from sdpbb.checker.kernel.dual import Semidefinite
from sdpbb.checker.kernel.evidence import Scatter
from sdpbb.checker.kernel.proof import REASONS
from sdpbb.checker.kernel.verdict import (
    CertificateVerdict,
    gap_rounded_up,
    is_cost,
    is_optimal,
)
from sdpbb.checker.partitions import Enumerated
from sdpbb.checker.pricing import Lagrangian
from sdpbb.problem import Instance
from tests.checker.building import built, verified

VERDICT = CertificateVerdict("optimal", 9, 2, 3, 1e-4, 2.0, 1.9999, 5e-5, 3, 2, 2, 1, 0.25)


def told(verdict: CertificateVerdict, name: str) -> str:
    lines = [line for line in str(verdict).splitlines() if line.strip().startswith(name)]
    assert len(lines) == 1
    return lines[0].split(name)[1].strip()


@given(st.floats(1e-300, 1e300), st.floats(0.0, 1e300), st.floats(0.0, 1.0, exclude_min=True))
def test_printed_numbers_are_proven_too(cost, lower_bound, gap):
    verdict = replace(VERDICT, cost=cost, lower_bound=lower_bound, gap=gap)
    assert Fraction(told(verdict, "cost")) >= Fraction(cost)
    assert Fraction(told(verdict, "lower bound")) <= Fraction(lower_bound)
    percent = told(verdict, "gap")
    assert percent[-1] == "%"
    assert Fraction(percent[:-1].removeprefix("<")) >= 100 * Fraction(gap)
    assert percent.startswith("<") == (Fraction(gap) < Fraction(1, 10**10))
    within = str(verdict).splitlines()[0].split("within a gap of ")[1]
    assert Fraction(within[:-1].removeprefix("<")) >= 100 * Fraction(gap)


@pytest.mark.parametrize(
    ("gap", "tolerance", "says"),
    [
        (0.0, 0.0, "0%"),
        (5e-324, 0.0, "<0.00000001%"),
        (1e-12, 0.0, "<0.00000001%"),
        (1e-12, 1e-9, "0.0000001%"),
        (1e-9, 1e-12, "0.000000101%"),
        (0.2, 0.1, "20.1%"),
        (0.0, 0.12345, "12.4%"),
        (1.0, 0.1, "100%"),
    ],
)
def test_the_larger_of_gap_and_tolerance_is_told(gap, tolerance, says):
    """Of the gap all digits of its binary number count: 0.2 is a little more than 2 tenths."""
    verdict = replace(VERDICT, cost=2.0, lower_bound=2.0, gap=gap, tolerance=tolerance)
    assert f"within a gap of {says}\n" in str(verdict)


def test_a_tolerance_of_ones_own():
    assert VERDICT.judged(1e-5).status == "feasible"
    assert VERDICT.judged(1e-4).status == "optimal"
    assert VERDICT.judged(0.5).judged(1e-5).judged(1e-2).status == "optimal"
    assert "within a gap of 50%" in str(VERDICT.judged(0.5))
    assert "no clustering costs less than the lower bound" in str(VERDICT.judged(0.0))
    infeasible = replace(VERDICT, status="infeasible", cost=None, lower_bound=None, gap=None)
    assert infeasible.judged(0.0) is infeasible


def test_a_verdict_is_a_few_lines():
    assert str(VERDICT) == (
        "Verified: the clustering is optimal, within a gap of 0.01%\n"
        "  cost         2\n"
        "  lower bound  1.9999\n"
        "  gap          0.00501%\n"
        "  instance     9 points, 2 coordinates, k = 3\n"
        "  checked      3 nodes (2 leaves), 2 bounds, 1 fixed pair, in 0.2 s"
    )


def test_every_status_has_its_words():
    for status, says in (
        ("feasible", "satisfies the constraints, and no clustering costs less than the lower"),
        ("infeasible", "no clustering satisfies the constraints"),
        ("unknown", "every clustering costs at least the lower bound"),
    ):
        verdict = replace(VERDICT, status=status, cost=None, lower_bound=None, gap=None)
        assert says in str(verdict)
        assert "gap" not in str(verdict)
        assert verdict.to_dict()["gap"] is None


def test_the_rules_of_a_proof_are_named():
    """Each name that a verdict may have is in the table of the page on rules."""
    assert str(replace(VERDICT, rules=("dual bound", "splits"))).endswith(
        "\n  rules        dual bound, splits"
    )
    page = Path("docs/proof_rules.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| ")]
    named = {name.strip() for row in rows[1:] for name in row.split(",")}
    found = {form.PROOF for form in FORMS} | set(REASONS.values())
    none = np.empty(0)
    for evidence in (
        Scatter(),
        Semidefinite(1.0, none, Cuts(), none),
        Lagrangian(none, 0.0),
        Enumerated(1.0, none, 0.0, none, none, none),
    ):
        found |= set(evidence.rules_used)
    assert found <= named


def test_the_rules_that_a_proof_used():
    instance = Instance([[0.0], [1.0], [5.0]], 2)
    assert verified(built(instance), instance).rules == ("splits", "scatter of blocks")
    clash = Instance([[0.0], [1.0], [5.0]], 2, must_link=[(0, 1)], cannot_link=[(0, 1)])
    assert verified(built(clash), clash).rules == ("conflicts",)


def test_what_may_be_called_optimal():
    assert is_optimal(1.0, 0.9, 0.1)
    assert not is_optimal(1.0, 0.89, 0.1)
    assert is_optimal(1.0, 1.0 - 1e-12, 0.0)
    assert not is_optimal(1.0, 1.0 - 1e-11, 0.0)
    # Any positive cost, however small, differs from a cost of 0.
    assert not is_optimal(1e-300, 0.0, 0.0)
    assert is_optimal(0.0, 0.0, 0.0)


def test_what_may_stand_for_a_cost():
    assert is_cost(1.0 + 9e-10, 1.0)
    assert not is_cost(1.0 + 2e-9, 1.0)
    assert is_cost(0.0, 0.0)
    assert not is_cost(0.0, 1e-300)
    assert not is_cost(1e-300, 0.0)


@given(st.floats(1e-300, 1e300), st.floats(0.0, 1.0))
def test_gaps_are_rounded_up_and_shares(upper, part):
    lower = upper * part
    gap = gap_rounded_up(lower, upper)
    assert 0.0 <= gap <= 1.0 == gap_rounded_up(0.0, upper)
    exact = 1 - Fraction(lower) / Fraction(upper)
    assert gap >= exact
    assert (gap == 0.0) == (upper <= lower)
