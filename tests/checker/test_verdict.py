from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.verdict import Verdict

VERDICT = Verdict("optimal", 9, 2, 3, 1e-4, 2.0, 1.9998, 1e-4, 3, 2, 2, 1, 0.25)


def told(verdict: Verdict, name: str) -> str:
    lines = [line for line in str(verdict).splitlines() if line.strip().startswith(name)]
    assert len(lines) == 1
    return lines[0].split(name)[1].strip()


@given(st.floats(1e-300, 1e300), st.floats(0.0, 1e300), st.floats(0.0, 1.0))
def test_printed_numbers_are_proven_too(cost, lower_bound, gap):
    verdict = replace(VERDICT, cost=cost, lower_bound=lower_bound, gap=gap)
    assert Fraction(told(verdict, "cost")) >= Fraction(cost)
    assert Fraction(told(verdict, "lower bound")) <= Fraction(lower_bound)
    assert Fraction(told(verdict, "gap").removesuffix("%")) >= 100 * Fraction(gap)


def test_a_verdict_is_a_few_lines():
    assert str(VERDICT) == (
        "Verified: the clustering is optimal, within a gap of 0.01%\n"
        "  cost         2\n"
        "  lower bound  1.9998\n"
        "  gap          0.0101%\n"
        "  instance     9 points, 2 coordinates, k = 3\n"
        "  checked      3 nodes (2 leaves), 2 bounds, 1 fixed pair, in 0.2 s"
    )


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ("feasible", "the clustering keeps the constraints"),
        ("infeasible", "no clustering keeps the constraints"),
        ("unknown", "every clustering costs at least the lower bound"),
    ],
)
def test_every_status_has_its_words(status, says):
    verdict = replace(VERDICT, status=status, cost=None, lower_bound=None, gap=None)
    assert says in str(verdict)
    assert "gap" not in str(verdict)
    assert verdict.to_dict()["gap"] is None
