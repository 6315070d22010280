"""Sizes of the clusters of known classes: every way to state them, and what they are."""

import sys

import numpy as np
import pytest

import sdpbb
from sdpbb.app.cli import main
from sdpbb.errors import InstanceError
from sdpbb.problem.files.constraints import Constraints
from sdpbb.problem.formats import read_constraints, write_constraints

POINTS = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [2.4], [2.6]]
CLASSES = ["a", None, None, "b", None, None, None, None]


@pytest.mark.parametrize(
    ("sizes", "labels"),
    [
        ({"a": 5, "b": 3}, [0, 0, 0, 1, 1, 1, 0, 0]),
        ({"a": 3, "b": 5}, [0, 0, 0, 1, 1, 1, 1, 1]),
        ({"b": (1, 3), "a": (1, 8)}, [0, 0, 0, 1, 1, 1, 0, 0]),
        ({"a": (2, 4), "b": (4, 6)}, [0, 0, 0, 1, 1, 1, 1, 1]),
    ],
)
@pytest.mark.parametrize("bounding", ["sdp", "colgen", "hybrid"])
def test_each_class_has_its_own(sizes, labels, bounding, tmp_path):
    stated = {"k": 2, "known_classes": CLASSES, "sizes": sizes}
    path = tmp_path / "a.cert"
    parameters = sdpbb.SolverParameters(bounding=bounding)
    result = sdpbb.solve(POINTS, parameters=parameters, certificate=path, **stated)
    assert result.labels.tolist() == labels
    assert result.cluster_classes == ("a", "b")
    assert sdpbb.verify_certificate(path, POINTS, **stated).status == "optimal"
    swapped = stated | {"sizes": dict(zip(sizes, reversed(sizes.values()), strict=True))}
    with pytest.raises(sdpbb.errors.SdpbbError, match="constraints"):
        sdpbb.verify_certificate(path, POINTS, **swapped)


def test_labels_with_the_sizes_of_other_classes_violate_them():
    stated = {"k": 2, "known_classes": CLASSES, "sizes": {"a": 3, "b": 5}}
    report = sdpbb.optimality_gap(POINTS, [0, 0, 0, 1, 1, 1, 0, 0], **stated)
    assert [each.constraint for each in report.violations] == ["sizes = a=3 b=5"]
    assert not sdpbb.optimality_gap(POINTS, [0, 0, 0, 1, 1, 1, 1, 1], **stated).violations
    found = sdpbb.heuristic(POINTS, 2, "best-of", known_classes=CLASSES, sizes={"a": 3, "b": 5})
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    fitted = sdpbb.ExactConstrainedKMeans(2, sizes={"a": 3, "b": 5})
    assert fitted.fit(POINTS, known_classes=CLASSES).labels_.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]


def test_conflicts_name_the_line_of_sizes(tmp_path):
    (tmp_path / "some.txt").write_text("ML 0 1\nML 0 2\nSIZES a=2 b=6\n")
    instance = sdpbb.Instance.from_points(
        POINTS, 2, tmp_path / "some.txt", known_classes=CLASSES, as_points=True
    )
    conflict = sdpbb.solve(instance).conflict
    assert [each.text for each in conflict.members] == ["ML 0 1", "ML 0 2", "SIZES a=2 b=6"]
    assert conflict.members[2].place.endswith("some.txt:3")


def test_lines_are_read_and_written(tmp_path):
    path = tmp_path / "sizes.txt"
    path.write_text('SIZES red=10-20 "big blue=30"\n')
    sizes = read_constraints(path, 50).sizes
    assert (sizes.names, sizes.sizes) == (("big blue", "red"), (30, (10, 20)))
    write_constraints(path, Constraints(sizes=sizes))
    assert read_constraints(path, 50).sizes == sizes


@pytest.mark.parametrize("line", ["SIZES a=1 2", "SIZES a=", "SIZES a=2-1", "SIZES =1 a=2"])
def test_lines_are_checked(line, tmp_path):
    (tmp_path / "sizes.txt").write_text(line + "\n")
    with pytest.raises(InstanceError, match=r"sizes\.txt:1: .*expected SIZES n n-n"):
        read_constraints(tmp_path / "sizes.txt", 8, "pc-sos-sdp")


def test_classes_that_are_not_known_name_the_file(tmp_path):
    (tmp_path / "some.txt").write_text("SIZES a=2 b=6\n")
    with pytest.raises(InstanceError, match=r"some\.txt: sizes: of classes 'a', 'b'; expected kno"):
        sdpbb.Instance.from_points(POINTS, 2, tmp_path / "some.txt", as_points=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sizes": {"a": 2}}, "expected a size for each of the known classes 'a', 'b'"),
        ({"sizes": {"a": 2, "c": 6}}, "sizes: of classes 'a', 'c'; expected a size for each"),
        ({"sizes": {"a": 2, "b": 5}}, "sizes: they add up to 7; expected k = 2 integers"),
        ({"sizes": {"a": (3, 2), "b": 6}}, r"sizes\['a'\] = \(3, 2\); expected a size, or a range"),
        ({"known_classes": None}, "expected known_classes, without known_weight"),
        ({"known_weight": 2.0}, "expected known_classes, without known_weight"),
        ({"classes_may": "split"}, "expected known_classes, without known_weight"),
        ({"k": 3}, "sizes: 2 of them; expected k = 3 integers"),
    ],
)
def test_wrong_sizes_are_one_line(changes, message):
    stated = {"k": 2, "known_classes": CLASSES, "sizes": {"a": 2, "b": 6}}
    with pytest.raises(InstanceError, match=message) as caught:
        sdpbb.solve(POINTS, **(stated | changes))
    assert "\n" not in str(caught.value)


def test_prices_are_refused():
    with pytest.raises(InstanceError, match=r"sizes: of classes, .*; prices take sizes in any"):
        sdpbb.constraint_prices(POINTS, k=2, known_classes=CLASSES, sizes={"a": 2, "b": 6})


def test_the_command_line_takes_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = zip(np.ravel(POINTS), CLASSES, strict=True)
    lines = [f"{x},{kind or ''}\n" for x, kind in rows]
    (tmp_path / "data.csv").write_text("x,kind\n" + "".join(lines))
    (tmp_path / "sizes.txt").write_text("SIZES a=3 b=5\n")
    options = ["-k", "2", "--constraints", "sizes.txt", "--known-classes", "kind"]
    monkeypatch.setattr(sys, "argv", ["sdpbb", "solve", "data.csv", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "sizes a=3, b=5" in capsys.readouterr().out
