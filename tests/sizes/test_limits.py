"""Limits on sizes: what is stated, and what follows."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.kernel.sizes import SizeLimits
from sdpbb.problem import Instance, MaximumSize, contract
from sdpbb.runtime.arrays import has_ranges
from tests.enumeration import are_in_ranges
from tests.examples import examples


@given(st.data())
@examples(300)
def test_ranges_are_as_narrow_as_can_be(data):
    """Against all sizes, each of which is in the ranges in some order."""
    n = data.draw(st.integers(1, 9))
    k = data.draw(st.integers(1, min(n, 4)))
    ends = st.tuples(st.integers(1, n), st.integers(1, n)).map(sorted).map(tuple)
    listed = data.draw(st.lists(ends, min_size=k, max_size=k))
    least, most = data.draw(ends) if data.draw(st.booleans()) else (1, n)
    sizes = np.array([s for s in product(range(1, n + 1), repeat=k) if sum(s) == n])
    keeps = are_in_ranges(sizes, listed) & ((least <= sizes) & (sizes <= most)).all(axis=1)
    limits = SizeLimits.of(n, k, least, most, listed)
    if limits is None:
        assert keeps.all()
        return
    assert limits.is_empty == (not keeps.any())
    for row, is_kept in zip(sizes, keeps, strict=True):
        assert limits.keeps(row) == is_kept
        ranges = np.array(limits.bounds(), np.int64)
        if not limits.is_empty:
            assert has_ranges(row.astype(np.int64), ranges) == is_kept
    if keeps.any():
        assert (limits.least, limits.most) == (sizes[keeps].min(), sizes[keeps].max())
        # Some i clusters have as few points together as is said, or more.
        ordered = np.cumsum(np.sort(sizes[keeps], axis=1), axis=1)
        assert (np.array(limits.least_of_some()[1:]) <= ordered).all()


def test_maximum_sizes_are_limits():
    points = np.arange(6.0)[:, None]
    instance = Instance(points, 3, cluster_constraints=[MaximumSize(2)])
    assert instance.size_limits == SizeLimits(6, 3, 2, 2)
    assert contract(instance).size_limits == instance.size_limits
    assert Instance(points, 3, cluster_constraints=[MaximumSize(4)]).size_limits is None
