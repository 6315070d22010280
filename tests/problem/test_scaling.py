"""Standardized columns: means, variances, and the way back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.problem.origin import standardization

COLUMN = np.array([1.0, -3.5, 0.25, 7.125, -0.5, 2.0])
WEIGHTS = np.array([1.0, 2.5, 0.125, 1.0, 3.0, 0.75])


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("exponent", [-300, 0, 300])
def test_the_unit_of_a_column_does_not_matter(exponent, weights):
    """Powers of two do not change any bit of the clustered points."""
    points = np.column_stack([COLUMN, np.ldexp(COLUMN, exponent)])
    scaling = standardization(points, weights)
    scaled = scaling.applied(points)
    assert scaled[:, 0].tolist() == scaled[:, 1].tolist()
    assert np.average(scaled[:, 0] ** 2, weights=weights) == pytest.approx(1.0)
    assert scaling.undone(scaled)[:, 1] == pytest.approx(points[:, 1], rel=1e-12)


@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_standardized_columns_have_mean_zero_and_variance_one(seed, weighted):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 3)) * [1e-3, 1, 1e6] + [5, 0, -1e6]
    points[:, 1] = 7.0
    weights = rng.integers(1, 5, 12).astype(float) if weighted else None
    scaling = standardization(points, weights)
    scaled = scaling.applied(points)
    repeated = np.repeat(scaled, 1 if weights is None else weights.astype(int), axis=0)
    assert np.allclose(repeated.mean(axis=0), 0, atol=1e-9)
    assert np.allclose(repeated.std(axis=0), [1, 0, 1])
    assert np.allclose(scaling.undone(scaled), points)
