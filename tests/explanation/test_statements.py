from dataclasses import replace

import numpy as np
import pytest

from sdpbb.errors import InstanceNote
from sdpbb.problem import (
    AllOf,
    Instance,
    MaximumDiameter,
    MaximumOverlap,
    MaximumSize,
    MinimumDifference,
    Origin,
    SoftCannotLinks,
)
from sdpbb.problem.formats import read_instance
from sdpbb.problem.statements import Catalogue, StatementKind
from sdpbb.run.explanation import explain_infeasibility

POINTS = "4 1\n0\n1\n5\n9\n"


@pytest.fixture
def read(tmp_path):
    """An instance of four points on a line, with a file of constraints."""

    def read(text: str, k: int = 2, **options: object) -> Instance:
        (tmp_path / "points.txt").write_text(POINTS)
        (tmp_path / "constraints.txt").write_text(text)
        return read_instance(tmp_path / "points.txt", k, tmp_path / "constraints.txt", **options)

    return read


def statements(instance: Instance) -> list[tuple[str, str]]:
    catalogue = Catalogue(instance)
    found = [catalogue.statement(number) for number in range(len(catalogue))]
    return [(s.place.rpartition("constraints.txt")[2], s.text) for s in found]


def test_lines_are_named_each_by_itself(read):
    instance = read("# some\nCL 3 0\nML 0 1\n\nML 1 0\n")
    assert statements(instance) == [(":3", "ML 0 1"), (":5", "ML 0 1"), (":2", "CL 0 3")]


def test_rows_are_called_as_in_the_file(read):
    instance = read("CL 4 1\nML 1 2\nML 2 4\n", one_based=True)
    conflict = explain_infeasibility(instance)
    assert [member.text for member in conflict.members] == ["ML 1 2", "ML 2 4", "CL 1 4"]
    assert conflict.members[0].names == ("1", "2")
    assert conflict.members[0].rows == (0, 1)
    assert conflict.members[0].to_dict()["rows"] == ["1", "2"]


def test_rows_are_called_by_their_names():
    names = Origin(row_names=("ann", "bob", "cem"))
    instance = Instance(np.eye(3), 2, [(0, 1)], [(1, 0)], origin=names)
    assert statements(instance) == [
        ("must_link[0]", "ML ann bob"),
        ("cannot_link[0]", "CL ann bob"),
    ]


def test_distances_are_named_with_the_points_they_are_between(read):
    instance = read("CL 0 1\nGAMMA 4.5\nDELTA 4.5\nML 2 3\n")
    assert statements(instance) == [
        (":3", "DELTA: 0 and 1 are 1 apart"),
        (":3", "DELTA: 1 and 2 are 4 apart"),
        (":4", "ML 2 3"),
        (":1", "CL 0 1"),
        (":2", "GAMMA: 0 and 2 are 5 apart"),
        (":2", "GAMMA: 0 and 3 are 9 apart"),
        (":2", "GAMMA: 1 and 3 are 8 apart"),
    ]
    catalogue = Catalogue(instance)
    kinds = [catalogue.statement(number).kind for number in catalogue.stated_pairs]
    assert kinds == [StatementKind.MUST_LINK, StatementKind.CANNOT_LINK]
    # The must-link follows from the distance, too.
    assert catalogue.stated_and_implied == {catalogue.stated_pairs[0]}
    assert not Catalogue(read("CL 0 1\nCL 0 2\n")).stated_and_implied


def test_a_pair_that_no_file_states_is_of_no_distance(read):
    instance = read("CL 0 1\nGAMMA 8.5\n")
    added = replace(instance, cannot_link=[*instance.cannot_link.tolist(), [1, 2]])
    assert statements(added) == [
        (":1", "CL 0 1"),
        (":2", "GAMMA: 0 and 3 are 9 apart"),
        ("cannot_link[2]", "CL 1 2"),
    ]


def test_the_rows_of_a_matrix_are_no_distances(read):
    matrix = "1 -1 -1 -1\n-1 1 0 0\n-1 0 1 0\n-1 0 0 1\n"
    instance = read(matrix, constraints_format="matrix")
    assert [text for _, text in statements(instance)] == ["CL 0 1", "CL 0 2", "CL 0 3"]
    assert Catalogue(instance).stated_pairs == [0, 1, 2]


def test_the_farthest_pairs_in_the_last_row_of_a_matrix_are_no_distance(read):
    instance = read("1 0 0 0\n0 1 0 0\n0 0 1 0\n-1 -1 0 1\n", constraints_format="matrix")
    assert statements(instance) == [(":4", "CL 0 3"), (":4", "CL 1 3")]
    assert Catalogue(instance).stated_pairs == [0, 1]


def test_constraints_on_clusters_are_told_by_their_lines(read):
    lines = ["ML 0 1", "OVERLAP 1 0 2", "MAXSIZE 3", "MINSIZE 1", "MAXWEIGHT 190", "MINWEIGHT 0.5"]
    with pytest.warns(InstanceNote, match="limits on weights count points"):
        instance = read("\n".join(lines))
    places = {text: place for place, text in statements(instance)}
    assert places == {text: f":{number}" for number, text in enumerate(lines, 1)}


def test_constraints_on_clusters_are_told_as_in_a_file():
    constraints = [
        MaximumSize(3),
        MaximumOverlap([0, 2], 1),
        MinimumDifference([], 1),
        SoftCannotLinks([(0, 1), (2, 3)], 1),
        AllOf([MaximumOverlap([1, 3], 1)]),
        MaximumDiameter(2.0),
        MinimumDifference(range(10), 1),
    ]
    instance = Instance(np.arange(12.0)[:, None] / 5, 2, cluster_constraints=constraints)
    assert statements(instance)[-6:] == [
        ("cluster_constraints[0]", "OVERLAP 1 0 2"),
        ("cluster_constraints[1]", "DIFFERENCE 1"),
        ("cluster_constraints[2]", "SOFTCL 1 0 1 2 3"),
        ("cluster_constraints[3]", "AllOf(constraints=(MaximumOverlap(points=(1, 3), limit=1),))"),
        ("cluster_constraints[5]", "DIFFERENCE 1 0 1 2 3 4 5 6 7 ..."),
        ("max_size", "MAXSIZE 3"),
    ]
    assert statements(instance)[0] == ("cluster_constraints[4]", "GAMMA 2: 0 and 11 are 2.2 apart")
