import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import InstanceError
from sdpbb.problem import (
    AllOf,
    MaximumDiameter,
    MaximumOverlap,
    MaximumSize,
    MinimumDifference,
    SoftCannotLinks,
)
from sdpbb.problem.formats import (
    Constraints,
    read_constraints,
    read_instance,
    read_labels,
    read_points,
    write_constraints,
    write_labels,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("formats")


def file(tmp_path: Path, content: str | bytes, name: str = "points.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "2 2 1\n1 2\n3 4\n"),
        ("a.txt", "2 2\n1 2\n3 4"),
        ("a.txt", "\n\n2 2\r\n\r\n 1\t2 \r\n3 4\r\n\n"),
        ("a.txt", b"\xef\xbb\xbf2 2\n1 2\n3 4\n"),
        ("a.txt", "# made, by hand\n2 2 # n d\n1 2 # the first\n\n#\n3 4\n"),
        ("a.txt", "1,2\n3,4\n"),
        ("a.csv", "x,y\n1,2\n3,4\n"),
        ("A.CSV", '"x, first",y\n"1", 2\n\n3e0,+4.\n'),
        ("a.csv", b"\xef\xbb\xbf1,2\n3,4\n"),
        ("a.csv", b"\xef\xbb\xbf\n1,2\r\n3,4\r\n"),
        ("a.csv", "x,y\n1,\u00a02\n3\u2003,4\n"),
    ],
)
def test_the_same_points_in_all_spellings(tmp_path, name, content):
    points = read_points(file(tmp_path, content, name)).points
    assert points.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_single_column_is_csv_by_its_suffix(tmp_path):
    assert read_points(file(tmp_path, "1\n2\n", "a.csv")).points.tolist() == [[1.0], [2.0]]
    assert read_points(file(tmp_path, "x\n1\n2\n", "a.csv")).points.tolist() == [[1.0], [2.0]]


def test_comments_and_blank_lines_between_constraints(tmp_path):
    text = "# drawn by hand\n\nML 0 1 # twins\n  CL 2 0\nGAMMA 2.5\nDELTA 1e-3\n"
    read = read_constraints(file(tmp_path, text), 3)
    assert read.must_link.tolist() == [[0, 1]]
    assert read.cannot_link.tolist() == [[2, 0]]
    assert (read.max_diameter, read.min_separation) == (2.5, 1e-3)


def test_soft_constraints_have_weight_one_unless_they_say(tmp_path):
    text = "SML 2 0 0.25 # perhaps\nCL 0 1\nSCL 1 2\nSML 0 1 1e-3\nSML 0 1\n"
    read = read_constraints(file(tmp_path, text), 3)
    assert read.soft_must_link.pairs.tolist() == [[2, 0], [0, 1], [0, 1]]
    assert read.soft_must_link.weights.tolist() == [0.25, 0.001, 1.0]
    assert read.soft_cannot_link.pairs.tolist() == [[1, 2]]
    assert read.soft_cannot_link.weights.tolist() == [1.0]
    assert read.cannot_link.tolist() == [[0, 1]]
    assert len(read.must_link) == 0


def test_an_instance_with_soft_constraints(tmp_path):
    data = file(tmp_path, "4 1 2\n0\n1\n5\n9\n", "line.txt")
    constraints = file(tmp_path, "SML 1 0 0.5\nSCL 1 3\nDELTA 2\n", "constraints.txt")
    instance = read_instance(data, constraints_path=constraints)
    assert instance.must_link.tolist() == [[0, 1]]
    assert instance.soft_must_link.pairs.tolist() == [[0, 1]]
    assert instance.soft_must_link.weights.tolist() == [0.5]
    assert instance.soft_cannot_link.pairs.tolist() == [[1, 3]]
    assert not read_instance(data).has_soft_constraints


def test_an_instance_of_two_files(tmp_path):
    data = file(tmp_path, "4 1 2\n0\n1\n5\n9\n", "line.txt")
    constraints = file(tmp_path, "ML 0 1\nCL 1 3\nGAMMA 5\nDELTA 2\n", "constraints.txt")
    instance = read_instance(data, constraints_path=constraints)
    assert (instance.name, instance.k) == ("line", 2)
    assert instance.must_link.tolist() == [[0, 1]]
    assert instance.cannot_link.tolist() == [[0, 3], [1, 3]]
    assert read_instance(data, k=3).k == 3
    assert len(read_instance(data).cannot_link) == 0


def test_a_file_without_permission_is_told(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    data = file(tmp_path, "1 1\n1\n")
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InstanceError, match=r"points.txt: cannot be read \(Permission denied\)"):
        read_points(data)


def test_a_distance_for_too_many_pairs_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sdpbb.problem.coordinates.MAX_PAIRS", 2)
    data = file(tmp_path, "4 1 2\n0\n1\n5\n9\n")
    constraints = file(tmp_path, "GAMMA 0\n", "constraints.txt")
    message = f"{constraints}: GAMMA 0 stands for more than 2 cannot-links"
    with pytest.raises(InstanceError, match=f"^{re.escape(message)}"):
        read_instance(data, constraints_path=constraints)


def test_a_large_file_is_read_in_seconds(tmp_path):
    row = " ".join(["3.14159"] * 10) + "\n"
    data = file(tmp_path, "200000 10 3\n" + row * 200_000)
    assert read_points(data).points.shape == (200_000, 10)


def test_labels_are_one_per_line(tmp_path):
    write_labels(tmp_path / "labels.txt", np.array([0, 1, 0]))
    assert (tmp_path / "labels.txt").read_text() == "0\n1\n0\n"


@given(labels=st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_labels_round_trip(folder, labels):
    write_labels(folder / "labels.txt", np.array(labels))
    read = read_labels(folder / "labels.txt", len(labels))
    assert np.array_equal(read[:, None] == read, np.equal.outer(labels, labels))


def test_labels_may_be_words(tmp_path):
    path = file(tmp_path, "setosa\n\n virginica \nsetosa\r\n", "labels.txt")
    assert read_labels(path, 3).tolist() == [0, 1, 0]


def test_labels_that_are_numbers_are_compared_as_numbers(tmp_path):
    huge = 10**20
    lines = f"0\n0.0\n-0\n1\n+01\n1e0\n{huge}\n{huge + 1}\n1e20\n1_0\n10\n"
    lines += "1e999999999\n" + "1" * 9000 + "\n1e999999999\n"
    path = file(tmp_path, lines, "labels.txt")
    assert read_labels(path).tolist() == [0, 0, 0, 1, 1, 1, 2, 3, 2, 4, 5, 6, 7, 6]


def test_constraints_on_clusters_become_those_of_the_instance(tmp_path):
    points = file(tmp_path, "4 1 2\n0\n1\n5\n6\n")
    lines = "OVERLAP 1 0 1 # both\nDIFFERENCE 2 3\nMAXSIZE 2\nSOFTCL 0 0 2 3 1\n"
    instance = read_instance(points, constraints_path=file(tmp_path, lines, "constraints.txt"))
    assert instance.cluster_constraints == (
        MaximumOverlap((0, 1), 1),
        MinimumDifference((3,), 2),
        MaximumSize(2),
        SoftCannotLinks(((0, 2), (1, 3)), 0),
    )


class Smaller(MaximumSize):
    def allows(self, instance, members):
        return len(members) < self.limit


@pytest.mark.parametrize(
    "constraint",
    [AllOf([MaximumSize(3)]), MaximumDiameter(1.0), MaximumOverlap([], 0), Smaller(3)],
)
def test_what_has_no_line_is_not_written(tmp_path, constraint):
    with pytest.raises(InstanceError, match="has no line in a file of constraints"):
        write_constraints(
            tmp_path / "constraints.txt", Constraints(cluster_constraints=(constraint,))
        )
    assert not (tmp_path / "constraints.txt").exists()


def test_labels_may_be_the_numbers_of_the_rows(tmp_path):
    """Where each point is a cluster, as in files of this project."""
    path = tmp_path / "labels.csv"
    path.write_text("id,cluster\n0,0\n1,1\n2,2\n")
    assert read_labels(path, 3).tolist() == [0, 1, 2]
