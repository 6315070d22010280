"""Formats of constraints: what is written is read back, and the format is detected."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import InstanceError, InstanceWarning
from sdpbb.problem import (
    MaximumOverlap,
    MaximumSize,
    MinimumDifference,
    SoftCannotLinks,
    SoftPairs,
    textfile,
)
from sdpbb.problem.formats import (
    CONSTRAINT_FORMATS,
    Constraints,
    constraints_text,
    read_constraints,
    write_constraints,
)
from sdpbb.runtime.reading import ConstraintsFileFormat

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"{SHARED} is not there")
N = 7

pair = st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)).filter(lambda p: p[0] != p[1])
# Pairs i < j, each once, must-links and cannot-links apart: what a matrix can hold.
linked = st.dictionaries(pair.map(lambda p: (min(p), max(p))), st.booleans(), max_size=12)


def array_of(pairs) -> np.ndarray:
    return np.array(list(pairs), np.intp).reshape(-1, 2)


def constraints_of(links: dict[tuple[int, int], bool]) -> Constraints:
    ordered = sorted(links.items())
    return Constraints(
        array_of(p for p, is_ml in ordered if is_ml),
        array_of(p for p, is_ml in ordered if not is_ml),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("constraints")


def file(folder: Path, content: str | bytes, name: str = "constraints.txt") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


pairs = st.lists(pair, max_size=5).map(array_of)
weight = st.floats(0, 1, exclude_min=True)
soft = st.lists(st.tuples(pair, weight), max_size=6).map(
    lambda entries: SoftPairs(array_of(p for p, _ in entries), np.array([w for _, w in entries]))
)
distances = st.none() | st.floats(0, 1e300)
rows = st.lists(st.integers(0, N - 1), min_size=1)
limits = st.integers(0, 5)
others = st.lists(
    st.builds(MaximumOverlap, rows, limits)
    | st.builds(MinimumDifference, rows, limits)
    | st.builds(SoftCannotLinks, st.lists(pair, min_size=1), limits)
)
maxima = st.lists(st.builds(MaximumSize, st.integers(1, 20)), max_size=1)
on_clusters = st.tuples(others, maxima, others).map(lambda parts: (*parts[0], *parts[1], *parts[2]))


def held_by(constraints_format: str) -> st.SearchStrategy[Constraints]:
    """Anything that has a place in the format."""
    if constraints_format == "matrix":
        return linked.map(constraints_of)
    parts = {"must_link": pairs, "cannot_link": pairs}
    if CONSTRAINT_FORMATS[constraints_format].has_soft:
        parts |= {"soft_must_link": soft, "soft_cannot_link": soft}
    if constraints_format == "pc-sos-sdp":
        parts |= {"max_diameter": distances, "min_separation": distances}
        parts |= {"cluster_constraints": on_clusters}
    return st.builds(Constraints, **parts)


@pytest.mark.filterwarnings("ignore:.*has no constraints")
@pytest.mark.parametrize("constraints_format", CONSTRAINT_FORMATS)
@given(data=st.data(), is_named=st.booleans())
def test_constraints_round_trip(folder, constraints_format, data, is_named):
    constraints = data.draw(held_by(constraints_format))
    path = folder / "constraints"
    write_constraints(path, constraints, constraints_format, N, ["drawn by hand", "twice"])
    read = read_constraints(path, N, constraints_format if is_named else None)
    for written, found in zip(constraints.all_pairs, read.all_pairs, strict=True):
        assert np.array_equal(written, found)
    for kind in ("soft_must_link", "soft_cannot_link"):
        assert np.array_equal(getattr(read, kind).weights, getattr(constraints, kind).weights)
    for kind in ("max_diameter", "min_separation", "cluster_constraints"):
        assert getattr(read, kind) == getattr(constraints, kind)


def test_of_several_maxima_of_sizes_the_least_is_written(folder):
    path, overlap = folder / "maxima.txt", MaximumOverlap((0, 1), 1)
    stated = (MaximumSize(5), overlap, MaximumSize(4))
    write_constraints(path, Constraints(cluster_constraints=stated), "pc-sos-sdp", N)
    assert path.read_text() == "MAXSIZE 4\nOVERLAP 1 0 1\n"
    both = Constraints(cluster_constraints=stated, max_size=6)
    write_constraints(path, both, "pc-sos-sdp", N)
    assert path.read_text() == "MAXSIZE 4\nOVERLAP 1 0 1\n"
    write_constraints(path, Constraints(max_size=6), "pc-sos-sdp", N)
    assert path.read_text() == "MAXSIZE 6\n"


stated_lines = {
    "pc-sos-sdp": st.sampled_from(["ML 0 1", "CL 2 1", "SML 3 4 0.5", "SCL 5 6 1e-1", "SML 0 2"])
    | st.sampled_from(["", " CL\t1  6 ", "MAXSIZE 4", "OVERLAP 1 0 2", "CL 04 5"]),
    "cccg": st.sampled_from(["0 1 1", "2 3 -1", " 4\t5  1", "6 0 -1", ""]),
}
faults = {
    "pc-sos-sdp": [
        "ML 0 7",
        "ML 1 1",
        "CL 0",
        "CL 0 x",
        "SML 0 1 -2",
        "SCL 0 1 nan",
        "ML +0 1",
        "x",
    ],
    "cccg": ["0 7 1", "1 1 1", "0 1", "0 1 2", "0 +1 1", "-1 0 1", "0 1 1 1"],
}


@pytest.mark.filterwarnings("ignore:.*has no constraints")
@pytest.mark.parametrize("constraints_format", stated_lines)
@given(data=st.data(), chunk=st.integers(1, 4))
def test_lines_that_are_read_together_say_what_each_of_them_does(
    folder, constraints_format, data, chunk
):
    """Lines with comments are read one by one."""
    stated = data.draw(st.lists(stated_lines[constraints_format], max_size=9))
    fault = data.draw(st.none() | st.sampled_from(faults[constraints_format]))
    if fault is not None:
        stated.insert(data.draw(st.integers(0, len(stated))), fault)
    found = []
    for end in ("\n", " # why\n"):
        path = file(folder, "".join(f"{line}{end}" for line in stated))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(textfile, "CHUNK", chunk)
            try:
                read = read_constraints(path, N, constraints_format)
            except InstanceError as error:
                found.append(str(error))
            else:
                lines = (read.lines["must_link"].tolist(), read.lines["cannot_link"].tolist())
                text = constraints_text(read, "pc-sos-sdp")
                found.append((lines, text))
    assert found[0] == found[1]
    is_wrong = fault is not None or stated.count("MAXSIZE 4") > 1
    assert isinstance(found[0], str) == is_wrong


def test_formats_are_the_choices_of_the_command_line():
    assert get_args(ConstraintsFileFormat) == tuple(CONSTRAINT_FORMATS)


def test_a_header_is_a_comment_where_there_are_comments():
    one = Constraints(array_of([(0, 1)]))
    assert constraints_text(one, "cccg", header=["by hand"]) == "# by hand\n0 1 1\n"
    assert constraints_text(one, "pc-sos-sdp", header=["by hand"]) == "# by hand\nML 0 1\n"
    assert constraints_text(one, "matrix", 2, ["by hand"]) == "# by hand\n1 1\n1 1\n"
    assert json.loads(constraints_text(one, "pccc", header=["by hand"]))["ml"] == [[0, 1]]


def test_a_matrix_takes_a_pair_that_is_stated_twice():
    twice = Constraints(np.array([[0, 1], [1, 0]]), np.array([[1, 2], [1, 2]]))
    assert constraints_text(twice, "matrix", 3) == "1 1 0\n1 1 -1\n0 -1 1\n"


@pytest.mark.parametrize(
    ("content", "n_points", "must_link", "cannot_link"),
    [
        ("\n# first\nCL 0 4", 5, [], [[0, 4]]),
        ("0 4 -1\r\n3 2 1 # twins\r\n", 5, [[3, 2]], [[0, 4]]),
        ('{"cl": [[0, 4]]}', 5, [], [[0, 4]]),
        ("1 1\n1 1\n", 2, [[0, 1]], []),
        ("1 0 -1\n0 1 1\n-1 0 1\n", 3, [[1, 2]], [[0, 2]]),  # of cccg, row 2 would be -1
        ("0 2 1\n1 2 -1\n", 3, [[0, 2]], [[1, 2]]),  # of a matrix, two rows
        ("\ufeff0 1 1\n", 5, [[0, 1]], []),
        ("i,j,value\n0,4,-1\n3,2,1\n", 5, [[3, 2]], [[0, 4]]),
        ("type;i;j\nCL;0;4\nml;3;2\n", 5, [[3, 2]], [[0, 4]]),
        ("a\tb\tlink\n0\t4\tcannot-link\n3\t2\tMust Link\n", 5, [[3, 2]], [[0, 4]]),
        ('"","i","j","constraint"\n"1",0,4,"CL"\n"2",3,2,"ML"\n', 5, [[3, 2]], [[0, 4]]),
        ("ML,3,2\nCL,0,4\n", 5, [[3, 2]], [[0, 4]]),
        ("3,2,must_link,\n0,4,cannot_link,\n", 5, [[3, 2]], [[0, 4]]),
        ("ml 3 2\nCl 0 4\n", 5, [[3, 2]], [[0, 4]]),
    ],
)
def test_the_format_is_told_by_the_file(tmp_path, content, n_points, must_link, cannot_link):
    read = read_constraints(file(tmp_path, content), n_points)
    assert read.must_link.tolist() == must_link
    assert read.cannot_link.tolist() == cannot_link


@pytest.mark.parametrize("content", ["", "# nothing\n\n", "\n {}", "type,i,j\n", "SML 0 1 0 # x\n"])
def test_a_file_of_no_constraints_is_warned_of(tmp_path, content):
    path = file(tmp_path, content)
    message = f"{path}: has no constraints; is it the right file?"
    if content.startswith("SML"):
        read_constraints(path, 5)
        return
    with pytest.warns(InstanceWarning, match=f"^{re.escape(message)}$"):
        assert read_constraints(path, 5).are_none


def test_the_format_of_a_file_on_three_points_can_be_said(tmp_path):
    path = file(tmp_path, "1 0 1\n0 1 -1\n1 0 1\n")
    lines, matrix = read_constraints(path, 3, "cccg"), read_constraints(path, 3, "matrix")
    assert (lines.must_link.tolist(), lines.cannot_link.tolist()) == ([[1, 0], [1, 0]], [[0, 1]])
    assert (matrix.must_link.tolist(), matrix.cannot_link.tolist()) == ([[0, 2]], [[1, 2]])


def test_a_matrix_may_state_a_pair_on_either_side(tmp_path):
    path = file(tmp_path, "# n = 4\n1 0 0 1\n-1 1.0 0 0\n\n0 +1e0 1 0\n1 -1.0 0 1\n")
    read = read_constraints(path, 4)
    assert read.must_link.tolist() == [[0, 3], [1, 2]]
    assert read.cannot_link.tolist() == [[0, 1], [1, 3]]
    assert read.lines["must_link"].tolist() == [2, 5]
    assert read.lines["cannot_link"].tolist() == [3, 6]


@pytest.mark.filterwarnings("ignore:.*has no constraints")
@given(data=st.data(), n=st.integers(1, 6))
def test_a_matrix_holds_the_pairs_that_its_entries_say(folder, data, n):
    entry = st.sampled_from([0, 1, -1])
    matrix = np.array([[data.draw(entry) for _ in range(n)] for _ in range(n)]).reshape(n, n)
    np.fill_diagonal(matrix, 1)
    path = file(folder, "".join(" ".join(map(str, row)) + "\n" for row in matrix.tolist()))
    if ((matrix * matrix.T) == -1).any():
        with pytest.raises(InstanceError, match=r"expected a symmetric matrix$"):
            read_constraints(path, n, "matrix")
        return
    read = read_constraints(path, n, "matrix")
    either = np.sign(matrix + matrix.T)
    assert sorted(read.must_link.tolist()) == np.argwhere(np.triu(either, 1) == 1).tolist()
    assert sorted(read.cannot_link.tolist()) == np.argwhere(np.triu(either, 1) == -1).tolist()


@pytest.mark.parametrize(
    ("constraints_format", "content"),
    [
        ("pc-sos-sdp", "ML 1 4\nCL 2 3\nSML 1 2 0.5\nOVERLAP 1 3 4\n"),
        ("cccg", "1 4 1\n2 3 -1\n"),
        ("pccc", '{"ml": [[1, 4]], "cl": [[2, 3]], "sml": [[1, 2]]}'),
    ],
)
def test_rows_may_be_numbered_from_one(tmp_path, constraints_format, content):
    read = read_constraints(file(tmp_path, content), 4, one_based=True)
    assert read.must_link.tolist() == [[0, 3]]
    assert read.cannot_link.tolist() == [[1, 2]]
    if constraints_format != "cccg":
        assert read.soft_must_link.pairs.tolist() == [[0, 1]]
    if constraints_format == "pc-sos-sdp":
        assert read.cluster_constraints[0].points == (2, 3)
    zero = file(tmp_path, content.replace("4", "0"))
    with pytest.raises(InstanceError, match=r"names row 0, but the data has rows 1 to 4; does the"):
        read_constraints(zero, 4, one_based=True)
    with pytest.raises(InstanceError, match=r"names row 4, .* rows from 1 \(--one-based\)\?$"):
        read_constraints(file(tmp_path, content), 4)


@pytest.mark.parametrize(
    "content",
    [
        "ML anna carl\nCL bert dora\n",
        '{"ml": [["anna", "carl"]], "cl": [["bert", "dora"]]}',
    ],
)
def test_rows_may_have_names(tmp_path, content):
    names = ["anna", "bert", "carl", "dora"]
    read = read_constraints(file(tmp_path, content), 4, row_names=names)
    assert (read.must_link.tolist(), read.cannot_link.tolist()) == ([[0, 2]], [[1, 3]])
    with pytest.raises(
        InstanceError, match=r"no row of the data has this name; did you mean 'dora'\?$"
    ):
        read_constraints(file(tmp_path, content.replace("dora", "Dora")), 4, row_names=names)
    with pytest.raises(InstanceError, match=r"^one_based: the rows have names"):
        read_constraints(file(tmp_path, content), 4, row_names=names, one_based=True)


def test_names_that_look_like_numbers_are_names(tmp_path):
    names = ["3", "2", "1", "0"]
    lines = read_constraints(file(tmp_path, "3 0 1\n"), 4, row_names=names)
    listed = read_constraints(file(tmp_path, '{"ml": [[3, "0"]]}'), 4, row_names=names)
    assert lines.must_link.tolist() == listed.must_link.tolist() == [[0, 3]]
    with pytest.raises(
        InstanceError, match=r"expected ML i j, two names of rows \(those with blanks in quotes\)$"
    ):
        read_constraints(file(tmp_path, "ML 3 0 1\n"), 4, row_names=names)


def all_rows_but(n: int, missing: int) -> str:
    rows = [row for row in range(n) if row != missing]
    return "".join(f"ML {rows[0]} {row}\n" for row in rows[1:])


def test_a_file_that_leaves_out_row_0_alone_is_warned_of(tmp_path):
    path = file(tmp_path, all_rows_but(150, 0))
    message = (
        f"{path}: names 149 of the 150 rows, but never row 0 (probability 0.0067 where rows "
        "are drawn at random); does it number rows from 1 (--one-based)?"
    )
    with pytest.warns(InstanceWarning, match=f"^{re.escape(message)}$"):
        read = read_constraints(path, 150)
    assert read.must_link[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("n", "content", "options"),
    [
        (150, all_rows_but(150, 7), {}),
        (150, all_rows_but(150, 0), {"one_based": True}),
        (150, all_rows_but(150, 0), {"row_names": [str(i) for i in range(150)]}),
        (99, all_rows_but(99, 0), {}),  # by chance in one of 99 files
        (1000, "ML 1 2\n", {}),
    ],
)
def test_what_may_well_be_chance_is_not_warned_of(tmp_path, n, content, options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_constraints(file(tmp_path, content), n, **options)


@needs_shared
def test_the_example_of_pccc_is_read():
    read = read_constraints(SHARED / "pccc" / "constraints.json", 50)
    assert read.must_link.tolist() == [[9, 25], [17, 24]]
    assert read.cannot_link.tolist() == [[8, 30], [18, 36]]
    assert read.soft_must_link.pairs.tolist() == [[31, 47], [37, 39]]
    assert read.soft_must_link.weights.tolist() == [0.8, 0.6]
    assert read.soft_cannot_link.weights.tolist() == [0.7]


@needs_shared
@pytest.mark.parametrize("name", ["iris", "wine"])
@pytest.mark.parametrize("percent", ["0.05", "0.2"])
def test_published_matrices_hold_as_many_pairs_as_their_percentage_says(name, percent):
    n = {"iris": 150, "wine": 178}[name]
    c = int(np.ceil(float(percent) * n - 1e-9))
    read = read_constraints(SHARED / "bh-kmeans" / f"{name}_{percent}.txt", n)
    assert len(read.must_link) + len(read.cannot_link) == c * (c - 1) // 2
    matrix = np.loadtxt(SHARED / "bh-kmeans" / f"{name}_{percent}.txt")
    assert (matrix[tuple(read.must_link.T[::-1])] == 1).all()
    assert (matrix[tuple(read.cannot_link.T[::-1])] == -1).all()
