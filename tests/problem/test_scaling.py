"""Standardized columns of all sizes of numbers."""

import numpy as np
import pytest

from sdpbb.errors import InstanceError
from sdpbb.problem.origin import standardization

COLUMN = np.array([1.0, -3.5, 0.25, 7.125, -0.5, 2.0])
WEIGHTS = np.array([1.0, 2.5, 0.125, 1.0, 3.0, 0.75])


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("exponent", [-1000, -600, -511, 0, 511, 600, 1000])
def test_the_unit_of_a_column_does_not_matter(exponent, weights):
    """Powers of two change no bit of what is clustered."""
    points = np.column_stack([COLUMN, np.ldexp(COLUMN, exponent)])
    scaling = standardization(points, weights)
    scaled = scaling.applied(points)
    assert scaled[:, 0].tolist() == scaled[:, 1].tolist()
    assert np.average(scaled[:, 0] ** 2, weights=weights) == pytest.approx(1.0)
    assert scaling.undone(scaled)[:, 1] == pytest.approx(points[:, 1], rel=1e-12)


def test_differences_that_overflow_are_refused():
    with pytest.raises(
        InstanceError, match=r"^points: column 2 has values up to 1\.5e\+308, whose"
    ):
        standardization(np.array([[0.0, -1.5e308], [1.0, 1.5e308], [2.0, 0.0]]))
