"""Runs are told to the logger "sdpbb", and nothing is printed."""

import logging
import subprocess
import sys

import pytest

import sdpbb
from sdpbb.run.report import log
from sdpbb.search.events import (
    CheckpointFailed,
    Compiling,
    Finished,
    MemoryShort,
    NodeEnd,
    NodeLeft,
)
from sdpbb.search.result import Result
from tests.test_result import OPTIMAL

POINTS = [[0.0], [0.1], [5.0], [5.1]]
NOTED = Result(**OPTIMAL | {"notes": ("sizes are left out",)})


def test_a_run_is_logged_and_not_printed(caplog, capsys):
    with caplog.at_level(logging.INFO, "sdpbb"):
        result = sdpbb.solve(POINTS, 2, name="four")
    first, *_, last = [record for record in caplog.records if record.name == "sdpbb"]
    assert first.getMessage() == "four: 4 points, 1 feature, k = 2, 0 must-links, 0 cannot-links"
    assert last.getMessage() == str(result)
    assert {record.levelno for record in caplog.records} == {logging.INFO}
    assert capsys.readouterr() == ("", "")


def test_a_resumed_run_is_logged(caplog, tmp_path):
    result = sdpbb.solve(POINTS, 2, checkpoint=tmp_path / "run")
    with caplog.at_level(logging.INFO, "sdpbb"):
        assert sdpbb.resume(tmp_path / "run").partition == result.partition
    assert caplog.records[-1].getMessage().startswith("optimal: ")


@pytest.mark.parametrize(
    ("event", "level", "text"),
    [
        (Compiling(), logging.INFO, "Compiling kernels"),
        (NodeLeft(3, 1.0, NodeEnd.LOST), logging.WARNING, "node 3: two workers crashed"),
        (CheckpointFailed("c", "full", False), logging.WARNING, "checkpoint c not written"),
        (Finished(NOTED), logging.WARNING, "sizes are left out"),
        (MemoryShort(9, 100.0, 10.0, None, 1), logging.WARNING, "memory: a node of 9 blocks"),
    ],
)
def test_levels(caplog, event, level, text):
    with caplog.at_level(logging.DEBUG, "sdpbb"):
        log(event)
    record, *others = caplog.records
    assert [each.getMessage() for each in others] == [str(NOTED)] * isinstance(event, Finished)
    assert (record.levelno, record.getMessage().startswith(text)) == (level, True)


def test_warnings_are_not_written_unless_asked_for():
    script = (
        "from sdpbb.run.report import log\n"
        "from sdpbb.search.events import SubsetLost\n"
        "log(SubsetLost(3))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == done.stderr == b""
