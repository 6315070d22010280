"""Violations: those of the definition; an objection exactly where a clustering is infeasible."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.problem import Partition
from sdpbb.problem.partition import objection, violations
from tests.any_instance import any_instance


@given(any_instance(), st.data())
def test_there_is_an_objection_exactly_where_a_clustering_is_not_feasible(instance, data):
    n, k = instance.n_points, instance.k
    labels = st.lists(st.integers(0, k - 1), min_size=n, max_size=n)
    partition = Partition(np.array(data.draw(labels)))
    assert (objection(instance, partition) == "") == partition.is_feasible(instance)


@given(any_instance("pairs"), st.data())
def test_violations_are_those_of_the_definition(instance, data):
    labels = st.lists(st.integers(0, 3), min_size=instance.n_points, max_size=instance.n_points)
    row = data.draw(labels)
    expected = [
        (kind, position, (i, j))
        for kind, pairs in (
            ("must-link", instance.must_link),
            ("cannot-link", instance.cannot_link),
        )
        for position, (i, j) in enumerate(pairs.tolist())
        if (row[i] == row[j]) == (kind == "cannot-link")
    ]
    found = violations(instance, Partition(np.array(row)))
    assert [(one.kind, one.position, one.points) for one in found] == expected
