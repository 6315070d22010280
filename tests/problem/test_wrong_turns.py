"""Input that is easily mistaken for points, and the messages on it."""

import dataclasses
import warnings

import numpy as np
import pytest

import sdpbb
from sdpbb.app.cli.files import InstanceOptions
from sdpbb.errors import InstanceError
from sdpbb.problem.formats import read_instance
from sdpbb.questions.batch.manifest import KEYS
from sdpbb.runtime.declaration import own_declarations
from sdpbb.runtime.reading import Reading, ReadingArguments

LINE = np.array([[0.0], [1.0], [5.0], [7.0]])
DISTANCES = np.abs(LINE - LINE.T)


def test_a_matrix_of_distances_is_refused_everywhere(tmp_path):
    frames = [DISTANCES, DISTANCES.tolist()]
    pd = pytest.importorskip("pandas")
    frames.append(pd.DataFrame(DISTANCES, index=list("abcd"), columns=list("abcd")))
    frames[-1].to_csv(tmp_path / "distances.csv", index_label="name")
    np.save(tmp_path / "distances.npy", DISTANCES)
    for table in frames:
        for refuses in (
            lambda table, **given: sdpbb.Instance(table, 2, **given),
            lambda table, **given: sdpbb.solve(table, 2, **given),
            lambda table, **given: sdpbb.solve(table, 2, standardize=True, **given),
            lambda table, **given: sdpbb.heuristic(table, 2, "kmeans", **given),
            lambda table, **given: sdpbb.ExactConstrainedKMeans(2, **given).fit(table),
        ):
            with pytest.raises(InstanceError, match="a square symmetric table with a zero") as e:
                refuses(table)
            assert "\n" not in str(e.value)
            assert refuses(table, as_points=True) is not None
    for name, options in (("distances.csv", {"index_column": "name"}), ("distances.npy", {})):
        with pytest.raises(InstanceError, match=f"{name}: points: a square symmetric table"):
            read_instance(tmp_path / name, 2, **options)
        assert read_instance(tmp_path / name, 2, as_points=True, **options).n_features == 4


def test_an_argument_that_is_not_known_is_told_where_to_look():
    with pytest.raises(TypeError, match=r"see help\(sdpbb.solve\)") as caught:
        sdpbb.solve(LINE, 2, qqqq=1)
    assert len(str(caught.value)) < 400


def test_warnings_name_the_line_of_the_caller(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [0.0, None, 5.0], "y": [1.0, 2.0, 3.0]})
    frame.to_csv(tmp_path / "points.csv")
    for call in (
        lambda: sdpbb.solve(frame, 2, missing="mean"),
        lambda: sdpbb.Instance.from_points(frame, 2, missing="drop-rows"),
        lambda: sdpbb.read_instance(tmp_path / "points.csv", 2, missing="mean"),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert caught
        assert {each.filename for each in caught} == {__file__}


def test_names_with_blanks_are_in_quotes():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 9.0]}, index=["Anna Bell", "Bo", "Carl Dorn", "Di"])
    result = sdpbb.solve(
        frame,
        2,
        must_link=[("Anna Bell", "Bo"), ("Bo", "Carl Dorn")],
        cannot_link=[("Anna Bell", "Carl Dorn")],
    )
    texts = {member.text for member in result.conflict.members}
    assert texts == {'ML "Anna Bell" Bo', 'ML Bo "Carl Dorn"', 'CL "Anna Bell" "Carl Dorn"'}


def test_reading_has_one_name_for_each_thing():
    """The command line, Python and manifests have the same names of options of reading."""
    declared = {*own_declarations(Reading)}
    assert {*ReadingArguments.__annotations__} == declared
    on_the_command_line = {field.name for field in dataclasses.fields(InstanceOptions)}
    assert on_the_command_line - {"k", "constraints"} == declared
    assert declared < {*KEYS}
    for function in (sdpbb.read_instance, sdpbb.Instance.from_files):
        with pytest.raises(TypeError, match="has no argument 'separater'; did you mean separator"):
            function("a.csv", separater=",")
