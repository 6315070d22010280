"""Formats of constraints: what is written is read back, and the format is detected."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import InstanceError
from sdpbb.problem import (
    MaximumOverlap,
    MinimumDifference,
    SoftCannotLinks,
    SoftPairs,
)
from sdpbb.problem.formats import (
    CONSTRAINT_FORMATS,
    Constraints,
    read_constraints,
    read_instance,
    write_constraints,
)
from sdpbb.runtime.reading import ConstraintsFileFormat
from tests.problem.test_points_formats import file

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"{SHARED} is not there")
N = 7

pair = st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)).filter(lambda p: p[0] != p[1])
# Constraints that a matrix can hold: pairs i < j, each once, either must-linked or cannot-linked.
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
).map(tuple)


def held_by(constraints_format: str) -> st.SearchStrategy[Constraints]:
    """Any constraints that the format can hold."""
    if constraints_format == "matrix":
        return linked.map(constraints_of)
    parts = {"must_link": pairs, "cannot_link": pairs}
    if "SML" in CONSTRAINT_FORMATS[constraints_format].keywords:
        parts |= {"soft_must_link": soft, "soft_cannot_link": soft}
    if constraints_format == "pc-sos-sdp":
        parts |= {"max_diameter": distances, "min_separation": distances}
        parts |= {"cluster_constraints": others, "max_size": st.none() | st.integers(1, 20)}
    return st.builds(Constraints, **parts)


@pytest.mark.filterwarnings("ignore:.*has no constraints")
@pytest.mark.parametrize("constraints_format", CONSTRAINT_FORMATS)
@given(data=st.data(), is_named=st.booleans())
def test_constraints_round_trip(folder, constraints_format, data, is_named):
    constraints = data.draw(held_by(constraints_format))
    path = folder / "constraints"
    write_constraints(path, constraints, constraints_format, N, ["drawn by hand", "twice"])
    read = read_constraints(path, N, constraints_format if is_named else None)
    assert list(read.each_pair()) == list(constraints.each_pair())
    for kind in ("max_diameter", "min_separation", "cluster_constraints", "max_size"):
        assert getattr(read, kind) == getattr(constraints, kind)


def test_formats_are_the_choices_of_the_command_line():
    assert get_args(ConstraintsFileFormat) == tuple(CONSTRAINT_FORMATS)


@pytest.mark.filterwarnings("ignore:.*has no constraints")
@given(data=st.data(), n=st.integers(1, 6))
def test_a_matrix_holds_the_pairs_that_its_entries_say(folder, data, n):
    entry = st.sampled_from([0, 1, -1])
    matrix = np.array([[data.draw(entry) for _ in range(n)] for _ in range(n)]).reshape(n, n)
    np.fill_diagonal(matrix, 1)
    text = "".join(" ".join(map(str, row)) + "\n" for row in matrix.tolist())
    path = file(folder, text, "constraints.txt")
    if ((matrix * matrix.T) == -1).any():
        with pytest.raises(InstanceError, match=r"expected a symmetric matrix$"):
            read_constraints(path, n, "matrix")
        return
    read = read_constraints(path, n, "matrix")
    either = np.sign(matrix + matrix.T)
    assert sorted(read.must_link.tolist()) == np.argwhere(np.triu(either, 1) == 1).tolist()
    assert sorted(read.cannot_link.tolist()) == np.argwhere(np.triu(either, 1) == -1).tolist()


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


def test_a_distance_for_too_many_pairs_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sdpbb.problem.coordinates.MAX_PAIRS", 2)
    data = file(tmp_path, "4 1 2\n0\n1\n5\n9\n", "points.txt")
    constraints = file(tmp_path, "GAMMA 0\n", "constraints.txt")
    message = f"{constraints}: GAMMA 0 stands for more than 2 cannot-links"
    with pytest.raises(InstanceError, match=f"^{re.escape(message)}"):
        read_instance(data, constraints_path=constraints)
