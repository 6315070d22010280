"""Objections to clusterings: there is one exactly where a constraint is violated, and names it."""

import itertools

import numpy as np
import pytest

from sdpbb.problem import Instance, Partition
from sdpbb.problem.cluster_constraints import MaximumSize
from sdpbb.problem.objections import objection

POINTS = np.arange(5.0)[:, None]
WEIGHTS = [1.0, 0.5, 2.0, 0.25, 1.25]


@pytest.mark.parametrize(
    ("stated", "labels", "words"),
    [
        ({}, [0, 0, 0, 0, 0], "1 cluster in the place of k = 2"),
        ({"must_link": [(1, 3)]}, [0, 0, 0, 1, 1], "must-link 1 3 is violated"),
        ({"cannot_link": [(0, 1)]}, [0, 0, 0, 1, 1], "cannot-link 0 1 is violated"),
        (
            {"cluster_constraints": [MaximumSize(2)]},
            [0, 0, 0, 1, 1],
            "MaximumSize(limit=2) is violated",
        ),
        ({"min_size": 2}, [0, 0, 0, 0, 1], "min_size = 2, but a cluster has 1 point"),
        ({"max_size": 3}, [0, 0, 0, 0, 1], "max_size = 3, but a cluster has 4 points"),
        ({"sizes": (2, 3)}, [0, 0, 0, 0, 1], "sizes = (2, 3), but the clusters have 1, 4 points"),
        ({"min_weight": 2.0}, [0, 0, 0, 1, 1], "min_weight = 2.0, but a cluster weighs 1.5"),
        ({"max_weight": 3.0}, [0, 0, 0, 1, 1], "max_weight = 3.0, but a cluster weighs 3.5"),
    ],
)
def test_there_is_an_objection_exactly_where_a_clustering_is_not_feasible(stated, labels, words):
    instance = Instance(POINTS, 2, weights=WEIGHTS, **stated)
    assert objection(Partition(np.array(labels)), instance) == words
    for assigned in itertools.product(range(3), repeat=5):
        partition = Partition(np.array(assigned))
        assert (objection(partition, instance) == "") == partition.is_feasible(instance)


def test_pairs_are_told_by_the_names_of_rows_and_their_line(tmp_path):
    (tmp_path / "p.csv").write_text("id,x\na,0\nb,1\nc,2\n")
    (tmp_path / "c.txt").write_text("# pairs\nML a c\n")
    instance = Instance.from_files(tmp_path / "p.csv", 2, tmp_path / "c.txt", index_column="id")
    expected = f"must-link a c ({tmp_path / 'c.txt'}:2) is violated"
    assert objection(Partition(np.array([0, 0, 1])), instance) == expected
