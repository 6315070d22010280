"""The vectors of the format: small certificates to accept, and others to reject, with reasons."""

import csv
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from sdpbb.checker.command import REJECTED, UNREADABLE, VERIFIED, main
from sdpbb.checker.kernel.cuts import FORMS
from tests.checker.make_vectors import arguments
from tests.checker.parts import Parts

FOLDER = Path(__file__).parents[1] / "vectors"
with open(FOLDER / "vectors.csv", encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file))
INSTANCES = sorted({row["instance"] for row in ROWS})


@pytest.mark.parametrize("instance", INSTANCES)
def test_the_checker_says_what_is_expected(instance, capsys):
    for row in (row for row in ROWS if row["instance"] == instance):
        status = main(arguments(FOLDER, instance, FOLDER / row["file"]))
        told = json.loads(capsys.readouterr().out)
        if row["outcome"] == "accept":
            assert status == VERIFIED, row
            assert told["status"] == row["says"]
        else:
            assert status == REJECTED, row
            assert row["says"] in told["reason"]
            assert "\n" not in told["reason"]


def test_there_are_vectors_of_all_kinds():
    counts = Counter(row["outcome"] for row in ROWS)
    assert counts["accept"] >= 30
    assert counts["reject"] >= 300
    words, groups, statuses = set(), set(), set()
    for row in ROWS:
        if row["outcome"] == "accept":
            statuses.add(row["says"])
            parts = Parts.of(FOLDER / row["file"])
            words |= {step.name for step in parts.steps}
            words |= {step.evidence[0] for step in parts.evidences()}
            words |= {step.words[1] for step in parts.named_steps("infeasible")}
            groups |= {group[0] for step in parts.evidences("dual") for group in step.evidence[2]}
    assert statuses == {"optimal", "feasible", "infeasible"}
    assert words >= {"merge", "equal", "bound", "fix", "split", "open", "infeasible", "subset"}
    assert words >= {"scatter", "dual", "prices", "clusters", "conflict", "clique", "packing"}
    assert "colouring" in words
    assert groups == {form.WORD for form in FORMS}


def test_exact_mode_says_the_same(capsys):
    """Proofs by prices are refused by their kind."""
    pytest.importorskip("flint", reason="python-flint is not installed")
    counts = {"accept": 0, "reject": 0, "prices": 0}
    for row in ROWS[::3] + [row for row in ROWS if row["outcome"] == "accept"]:
        command = arguments(FOLDER, row["instance"], FOLDER / row["file"])
        status = main([*command, "--exact"])
        told = json.loads(capsys.readouterr().out)
        if row["outcome"] == "accept" and status == VERIFIED:
            assert told["status"] == row["says"]
            counts["accept"] += 1
        elif row["outcome"] == "accept":
            assert "exact mode has not" in told["reason"]
            counts["prices"] += 1
        else:
            assert status != VERIFIED, row
            counts["reject"] += 1
    assert min(counts.values()) > 5


def test_without_python_flint_exact_mode_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "flint", None)
    command = arguments(FOLDER, ROWS[0]["instance"], FOLDER / ROWS[0]["file"])
    assert main([*command, "--exact"]) == UNREADABLE
    assert "pip install python-flint" in capsys.readouterr().err
