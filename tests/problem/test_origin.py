"""What messages call rows and constraints."""

import re

import numpy as np
import pytest

from sdpbb.errors import InstanceError, InstanceWarning
from sdpbb.problem import Instance, Origin
from sdpbb.problem.files.constraints import Constraints
from sdpbb.problem.statements import place_of_pair

LINE = np.array([[0.0], [1.0], [5.0], [9.0]])


def file(tmp_path, content, name="constraints.txt"):
    path = tmp_path / name
    path.write_text(content)
    return path


def test_an_instance_without_files_has_no_places():
    origin = Instance(LINE, 2, must_link=[(0, 1)]).origin
    assert origin.place("must_link", 0, 1) == ""
    assert origin.rows([0, 3]) == ["0", "3"]


def test_the_first_line_that_states_a_pair_is_its_place(tmp_path):
    path = file(tmp_path, "# first\nCL 1 0\nML 2 3\n\nCL 0 1\n")
    origin = Instance.from_points(LINE, 2, path).origin
    assert origin.place("cannot_link", 0, 1) == f"{path}:2"
    assert origin.place("cannot_link", 1, 0) == f"{path}:2"
    assert origin.place("must_link", 2, 3) == f"{path}:3"
    assert origin.place("must_link", 0, 1) == ""
    with pytest.raises(KeyError):
        origin.place("ML", 2, 3)


def test_a_distance_is_the_place_of_the_pairs_that_no_line_states(tmp_path):
    path = file(tmp_path, "CL 0 3\nGAMMA 5\nML 0 1\nDELTA 4.5\n")
    instance = Instance.from_points(LINE, 2, path)
    assert instance.cannot_link.tolist() == [[0, 3], [1, 3]]
    assert instance.must_link.tolist() == [[0, 1], [1, 2], [2, 3]]
    places = [instance.origin.place("cannot_link", i, 3) for i in (0, 1)]
    assert places == [f"{path}:1", f"{path}:2"]
    places = [instance.origin.must_link.place_of(*pair) for pair in ((0, 1), (1, 2), (0, 3))]
    assert places == [":3", ":4", ""]


def test_it_is_known_which_pairs_are_stated_one_by_one(tmp_path):
    texts = {
        "GAMMA 5\nCL 0 3\nML 0 1\n": (1, 1),
        "CL 0 3\nCL 1 3\nML 0 1\nML 0 1\n": (2, 2),
        "GAMMA 5\nDELTA 1.5\n": (0, 0),
        "CL 0 1\nGAMMA 99\n": (0, 1),
    }
    for text, (n_must, n_cannot) in texts.items():
        origin = Instance.from_points(LINE, 2, file(tmp_path, text)).origin
        assert (origin.must_link.n_stated, origin.cannot_link.n_stated) == (n_must, n_cannot)
    far = file(tmp_path, '{"ml": [], "cl": [[0, 3], [1, 3]]}', "constraints.json")
    assert Instance.from_points(LINE, 2, far).origin.cannot_link.n_stated == 2


def test_a_pair_in_a_list_has_its_position_for_a_place(tmp_path):
    path = file(tmp_path, '{"ml": [[3, 2], [1, 0]], "cl": [[0, 3]]}', "constraints.json")
    origin = Instance.from_points(LINE, 2, path).origin
    assert origin.place("must_link", 0, 1) == f"{path}: ml[1]"
    assert origin.place("cannot_link", 0, 3) == f"{path}: cl[0]"


def test_a_pair_of_a_matrix_has_the_line_of_its_row(tmp_path):
    path = file(tmp_path, "# n = 4\n1 0 0 0\n1 1 0 0\n0 0 1 -1\n0 0 -1 1\n")
    origin = Instance.from_points(LINE, 2, path).origin
    assert origin.place("must_link", 0, 1) == f"{path}:3"
    assert origin.place("cannot_link", 2, 3) == f"{path}:4"


def test_rows_are_called_as_the_file_does(tmp_path):
    path = file(tmp_path, "CL 1 4\n")
    instance = Instance.from_points(LINE, 2, path, one_based=True, name="line")
    assert instance.cannot_link.tolist() == [[0, 3]]
    assert instance.origin.rows([0, 3]) == ["1", "4"]
    assert instance.name == "line"


def test_constraints_of_a_file_on_the_names_of_a_frame(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": LINE[:, 0], "kind": list("aabb")}, index=list("pqrs"))
    path = file(tmp_path, "CL p s\n")
    instance = Instance.from_points(frame, 2, path, drop=["kind"])
    assert instance.cannot_link.tolist() == [[0, 3]]
    assert instance.origin.rows([3]) == ["s"]
    assert instance.origin.place("cannot_link", 0, 3) == f"{path}:1"
    with pytest.raises(InstanceError, match=r"names row 't', but no row of the data has this name"):
        Instance.from_points(frame, 2, file(tmp_path, "CL p t\n"), drop=["kind"])


def test_the_names_in_a_column_are_for_the_constraints_too(tmp_path):
    data = file(tmp_path, "id,x,class\na,0,1\nb,1,1\nc,5,2\n", "points.csv")
    path = file(tmp_path, "ML b a\n")
    instance = Instance.from_files(data, 2, path, index_column="id", drop=["class"])
    assert instance.must_link.tolist() == [[0, 1]]
    assert instance.origin.row(2) == "c"
    assert (instance.n_features, instance.name) == (1, "points")


def test_all_formats_come_to_the_same_instance(tmp_path):
    contents = {
        "pc-sos-sdp": "ML 0 1\nCL 1 3\n",
        "cccg": "0 1 1\n1 3 -1\n",
        "pccc": '{"ml": [[0, 1]], "cl": [[1, 3]]}',
        "matrix": "1 1 0 0\n1 1 0 -1\n0 0 1 0\n0 -1 0 1\n",
    }
    np.save(tmp_path / "line.npy", LINE)
    for constraints_format, content in contents.items():
        path = file(tmp_path, content)
        for told in (None, constraints_format):
            instance = Instance.from_files(tmp_path / "line.npy", 2, path, constraints_format=told)
            assert instance.must_link.tolist() == [[0, 1]]
            assert instance.cannot_link.tolist() == [[1, 3]]


def test_what_looks_numbered_from_one_is_warned_of(tmp_path):
    points = np.arange(200.0)[:, None]
    path = file(tmp_path, "".join(f"ML 1 {row}\n" for row in range(2, 200)))
    with pytest.warns(InstanceWarning, match=rf"^{re.escape(str(path))}: names .* but never row 0"):
        Instance.from_points(points, 1, path)


def test_no_pairs_are_nowhere():
    assert Origin().must_link.place_of(0, 1) == ""
    without_lines = Constraints(must_link=np.array([[0, 1]]))
    origin = without_lines.arguments(LINE, Origin())["origin"]
    assert origin.must_link.place_of(0, 1) == ""


PAIRS, LINES = np.array([[0, 1], [1, 3]]), np.array([4, 9])


def test_places_of_soft_constraints(tmp_path):
    path = tmp_path / "c.txt"
    path.write_text("SML 0 1 0\nSML 3 2 1.5\nSCL 0 3 inf\nCL 1 3\nSML 2 3 2\nSCL 1 2 0.1\n")
    instance = Instance.from_points(LINE, 2, path)
    assert instance.soft_must_link.weights.tolist() == [1.5, 2.0]
    assert instance.cannot_link.tolist() == [[1, 3], [0, 3]]
    places = [
        (name, place_of_pair(instance, name, position).removeprefix(str(path)))
        for name in ("soft_must_link", "soft_cannot_link", "cannot_link")
        for position in range(len(getattr(instance, name)))
    ]
    assert places == [
        ("soft_must_link", ":2"),
        ("soft_must_link", ":5"),
        ("soft_cannot_link", ":6"),
        ("cannot_link", ":4"),
        ("cannot_link", ":3"),
    ]


def test_soft_constraints_of_infinite_weight_have_their_places_in_tables(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("type,i,j,weight\nML,0,3,inf\nCL,1,2,inf\nML,1,3,0.5\n")
    instance = Instance.from_points(LINE, 2, path)
    for name, line in (("must_link", 2), ("cannot_link", 3), ("soft_must_link", 4)):
        assert place_of_pair(instance, name, 0) == f"{path}:{line}"


def test_places_of_soft_constraints_of_lists(tmp_path):
    path = tmp_path / "c.json"
    path.write_text('{"ml": [], "cl": [], "sml": [[0, 1]], "sml_proba": [0.5], "scl": [[2, 3]]}')
    instance = Instance.from_points(LINE, 2, path)
    assert place_of_pair(instance, "soft_must_link", 0).endswith(": sml[0]")
    assert place_of_pair(instance, "soft_cannot_link", 0).endswith(": scl[0]")
    of_lists = Instance(LINE, 2, soft_must_link=[(0, 1, 1.0)])
    assert place_of_pair(of_lists, "soft_must_link", 0) == "soft_must_link[0]"
