import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from sdpbb.app.cli import ExitCode
from sdpbb.app.cli.generate import EXITS
from sdpbb.constraint_sets.drawing import Drawing
from sdpbb.problem.formats import CONSTRAINT_FORMATS, read_constraints
from sdpbb.runtime.values import counted

LABELS = np.repeat([0, 1, 2], 10)


@pytest.fixture
def run(run):
    """Run the command in this process: its exit status, standard output and standard error."""
    return partial(run, "generate")


@pytest.fixture
def labels(tmp_path) -> Path:
    path = tmp_path / "labels.txt"
    path.write_text("".join(f"{label}\n" for label in LABELS))
    return path


def test_what_is_drawn_is_written_and_told(run, labels, tmp_path):
    out = tmp_path / "constraints.txt"
    status, told, err = run(labels, "--pairs", 12, "--seed", 3, "--out", out)
    expected = Drawing(pairs=12, seed=3).of(LABELS)
    must_links, cannot_links = len(expected.must_link), len(expected.cannot_link)
    counts = f"{counted(must_links, 'must-link')}, {counted(cannot_links, 'cannot-link')}"
    drawing = "12 pairs (Wagstaff and Cardie, 2000), seed 3"
    assert (status, err) == (ExitCode.FOUND, "")
    assert told == f"{counts} on 30 points: {drawing}\n"
    header, second, *lines = out.read_text().splitlines()
    assert header.startswith("# drawn by sdpbb ")
    assert header.endswith(f" from the labels of 30 points, {labels}")
    assert second == f"# {drawing}"
    assert len(lines) == 12
    read = read_constraints(out, 30)
    assert np.array_equal(read.must_link, expected.must_link)
    assert np.array_equal(read.cannot_link, expected.cannot_link)


def test_the_same_seed_writes_the_same_file(run, labels, tmp_path):
    texts = []
    for seed, name in [(1, "a"), (1, "b"), (2, "c")]:
        out = tmp_path / name
        run(labels, "--percentage", 20, "--seed", seed, "--out", out, "--no-header", "-q")
        texts.append(out.read_text())
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("constraints_format", CONSTRAINT_FORMATS)
def test_every_format_is_written(run, labels, tmp_path, constraints_format):
    out = tmp_path / "constraints"
    kinds = ("--must-links", 5, "--cannot-links", 7)
    assert run(labels, *kinds, "--out", out, "--format", constraints_format)[0] == 0
    expected = Drawing(must_links=5, cannot_links=7).of(LABELS)
    for told in (None, constraints_format):
        read = read_constraints(out, 30, told)
        assert np.array_equal(read.must_link, expected.must_link)
        assert np.array_equal(read.cannot_link, expected.cannot_link)


@pytest.mark.parametrize("constraints_format", ["pc-sos-sdp", "pccc"])
@pytest.mark.parametrize(
    ("options", "drawing"),
    [
        (["--soft"], Drawing(pairs=9, soft=True)),
        (["--confidence", 0.6], Drawing(pairs=9, confidence=0.6)),
        (["--soft", "--noise", 0.4], Drawing(pairs=9, soft=True, noise=0.4)),
    ],
)
def test_soft_constraints_are_written(run, labels, tmp_path, constraints_format, options, drawing):
    out = tmp_path / "constraints"
    status, told, _ = run(
        labels, "--pairs", 9, *options, "--out", out, "--format", constraints_format
    )
    read, expected = read_constraints(out, 30), drawing.of(LABELS)
    assert status == 0
    assert told.startswith(f"{counted(len(expected.soft_must_link), 'soft must-link')}, ")
    assert np.array_equal(read.soft_must_link.pairs, expected.soft_must_link.pairs)
    assert np.array_equal(read.soft_must_link.weights, expected.soft_must_link.weights)
    assert np.array_equal(read.soft_cannot_link.weights, expected.soft_cannot_link.weights)


def test_labels_may_be_a_column_or_an_array(run, tmp_path):
    table, array = tmp_path / "data.csv", tmp_path / "labels.npy"
    table.write_text("x,class\n" + "".join(f"{i},c{c}\n" for i, c in enumerate(LABELS)))
    np.save(array, LABELS)
    texts = [
        run(*source, "--pairs", 9, "--out", "-", "--no-header")[1]
        for source in ([table, "--column", "class"], [array])
    ]
    assert texts[0] == texts[1]
    assert texts[0].count("L") == 9


def test_standard_output_holds_the_constraints_and_nothing_else(run, labels, tmp_path):
    status, out, err = run(labels, "--pairs", 9, "--out", "-", "--no-header")
    assert status == 0
    assert len(out.splitlines()) == 9
    assert err.endswith("on 30 points: 9 pairs (Wagstaff and Cardie, 2000), seed 0\n")
    assert run(labels, "--pairs", 9, "--out", tmp_path / "c.txt", "-q") == (0, "", "")


def test_the_json_says_how_it_was_drawn(run, labels, tmp_path):
    out, told = tmp_path / "c.txt", tmp_path / "c.json"
    run(labels, "--percentage", 20, "--out", out, "--json", told)
    content, expected = json.loads(told.read_text()), Drawing(percentage=20)
    assert content["parameters"] == expected.to_dict()
    assert content["n_points"] == 30
    assert content["n_must_links"] == len(expected.of(LABELS).must_link)
    assert content["n_cannot_links"] == len(expected.of(LABELS).cannot_link)
    assert content["n_soft_must_links"] == content["n_soft_cannot_links"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "expected one of --pairs, --percentage, or --must-links and --cannot-links"),
        (
            ("--pairs", 3, "--must-links", 3),
            "expected one of --pairs, --percentage, or --must-links and --cannot-links",
        ),
        (("--pairs", 1000), "--pairs 1000: 30 points have 435 pairs; expected at most 435"),
        (
            ("--must-links", 200),
            "--must-links 200: 30 points have 135 pairs of the same label; expected at most 135",
        ),
        (
            ("--cannot-links", 301),
            "--cannot-links 301: 30 points have 300 pairs of different labels; expected at most "
            "300",
        ),
        (("--percentage", 120), "--percentage 120: expected a number from 0 to 100"),
        (("--pairs", 3, "--noise", -1), "--noise -1: expected a share from 0 to 1"),
        (
            ("--pairs", 3, "--confidence", 0.3),
            "--confidence 0.3: expected a probability from 0.5 to 1",
        ),
        (
            ("--pairs", 3, "--soft", "--format", "cccg"),
            "--format cccg: cannot hold soft constraints; expected pc-sos-sdp or pccc or csv",
        ),
        (("--pairs", 3, "--seed", -2), "--seed -2: expected an integer >= 0"),
    ],
)
def test_wrong_usage_is_told_in_one_line(run, labels, tmp_path, options, message):
    out = tmp_path / "c.txt"
    assert run(labels, "--out", out, *options) == (ExitCode.USAGE, "", f"error: {message}\n")
    assert not out.exists()


def test_wrong_input_is_told_in_one_line(run, labels, tmp_path):
    missing = tmp_path / "none.txt"
    status, _, err = run(missing, "--pairs", 3, "--out", tmp_path / "c.txt")
    assert (status, err) == (ExitCode.BAD_INPUT, f"error: {missing}: there is no such file\n")
    status, _, err = run(labels, "--pairs", 3, "--out", tmp_path / "no" / "c.txt")
    assert status == ExitCode.BAD_INPUT
    assert err == f"error: {tmp_path}/no/c.txt: there is no folder {tmp_path}/no\n"
    status, _, err = run(labels, "--pairs", 3, "--column", "class", "--out", tmp_path / "c.txt")
    assert status == ExitCode.BAD_INPUT
    assert err.startswith(f"error: {labels}:1: column = 'class': there is no such column; ")


def test_inputs_are_not_written_over(run, labels):
    before = labels.read_text()
    message = f"error: {labels}: is an input already; expected another file\n"
    assert run(labels, "--pairs", 3, "--out", labels) == (ExitCode.USAGE, "", message)
    assert labels.read_text() == before


def test_parquet_without_pyarrow_has_an_exit_status(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "data.parquet"
    path.write_bytes(b"PAR1")
    status, _, err = run(path, "--column", "class", "--pairs", 3, "--out", tmp_path / "c.txt")
    assert status == ExitCode.USAGE
    assert "pip install 'pyarrow>=14'" in err
    assert status in EXITS


def test_a_reader_that_leaves_costs_one_line(labels):
    command = [sys.executable, "-m", "sdpbb", "generate", str(labels)]
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as closed:
        process = subprocess.run(
            [*command, "--pairs", "300", "--out", "-"],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert process.returncode == ExitCode.BAD_INPUT
    assert process.stderr == "error: standard output: could not be written (Broken pipe)\n"


@pytest.mark.parametrize("unknown", ["-1", "", "nan", "NA"])
def test_rows_of_unknown_class_take_no_part(run, tmp_path, unknown):
    path, out = tmp_path / "labels.txt", tmp_path / "constraints.txt"
    classes = [label if row % 3 == 0 else unknown for row, label in enumerate(LABELS)]
    path.write_text("".join(f"{label}\n" for label in classes))
    status, told, _ = run(path, "--pairs", 20, "--out", out)
    assert status == ExitCode.FOUND
    assert " on 10 of 30 points: " in told
    drawn = read_constraints(out, 30)
    for pairs, same in ((drawn.must_link, True), (drawn.cannot_link, False)):
        assert not (pairs % 3).any()
        assert ((LABELS[pairs[:, 0]] == LABELS[pairs[:, 1]]) == same).all()
    status, _, err = run(path, "--pairs", 46, "--out", out)
    assert (status, err) == (
        ExitCode.USAGE,
        "error: --pairs 46: 10 points have 45 pairs; expected at most 45\n",
    )


def test_a_heading_of_text_labels_is_told(run, tmp_path):
    path, out = tmp_path / "labels.csv", tmp_path / "constraints.txt"
    path.write_text("kind\n" + "".join(f"c{label}\n" for label in LABELS))
    status, told, err = run(path, "--pairs", 20, "--out", out)
    assert (status, err) == (
        ExitCode.FOUND,
        f"note: {path}:1: 'kind' is taken as a heading, as it is the only label that occurs once\n",
    )
    assert " on 30 points: " in told
    drawn = read_constraints(out, 30)
    assert (LABELS[drawn.must_link[:, 0]] == LABELS[drawn.must_link[:, 1]]).all()
