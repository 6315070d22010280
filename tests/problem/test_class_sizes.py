"""Sizes of the clusters of known classes: all ways to state them, and their values."""

import sdpbb

POINTS = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [2.4], [2.6]]
CLASSES = ["a", None, None, "b", None, None, None, None]


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
