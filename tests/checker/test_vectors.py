"""The vectors of the format: small certificates to accept, and others to reject, with reasons."""

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from sdpbb.checker.command import REJECTED, VERIFIED, main
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
    assert groups >= {"vectors", "cliques", "templates", "traces", "sets", "pentagons"}
    assert groups >= {"soft pairs", "listed cliques", "measure rows"}
