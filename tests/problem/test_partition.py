import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdpbb.problem import Partition

labels = st.lists(st.integers(0, 4), min_size=1, max_size=12).map(np.array)


@given(labels, st.permutations(range(5)))
def test_canonical_form_does_not_see_the_names_of_clusters(labels, names):
    renamed = Partition(np.array(names)[labels] - 7)
    partition = Partition(labels)
    assert renamed == partition
    assert hash(renamed) == hash(partition)
    first_members = [list(partition.labels).index(c) for c in range(partition.n_clusters)]
    assert first_members == sorted(first_members)
    together = labels[:, None] == labels
    assert np.array_equal(together, partition.labels[:, None] == partition.labels)


@given(st.data())
def test_sum_of_squares_is_the_pairwise_formula(data):
    """sum over clusters of (sum of squared distances over pairs) / size."""
    given_labels = data.draw(labels)
    n = len(given_labels)
    points = data.draw(arrays(float, (n, 2), elements=st.floats(-100, 100, width=32)))
    naive = 0.0
    for cluster in set(given_labels.tolist()):
        members = points[given_labels == cluster]
        naive += ((members[:, None] - members) ** 2).sum() / 2 / len(members)
    assert Partition(given_labels).sum_of_squares(points) == pytest.approx(naive, abs=1e-6)


def test_sum_of_squares_survives_a_large_offset():
    points = np.array([[0.0], [1.0], [2.0]])
    assert Partition(np.zeros(3, int)).sum_of_squares(points + 2.0**40) == pytest.approx(2.0)


def test_labels_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        Partition(np.array([0, 1])).labels[0] = 1
