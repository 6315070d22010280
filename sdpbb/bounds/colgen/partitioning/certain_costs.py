"""Costs of clusters, rounded down by more than their rounding errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.bounds.colgen.columns import Columns
from sdpbb.problem import Contraction

_EPS = float(np.finfo(np.float64).eps)


def certain_costs(contraction: Contraction, columns: Columns) -> NDArray[np.float64]:
    """Return the costs of the columns (t,), less what rounding can have added to them.

    Sums over dimensions and blocks lose as many units in the last place as they have terms, scatter
    and means of blocks as many as these have points. With d_i = c_i - mean_X, coordinates that are
    known to a few units of their own change a cost by as many eps sum e_i |d_i| |c_i|, at most
    eps sqrt(c(X) sum (w_i + e_i |c_i|^2)), and by the squares of such errors, as do centres.
    """
    soft = contraction.soft
    sets = csr_array(columns.members.astype(np.float64))
    e, c, w = contraction.weights, contraction.means, contraction.scatter
    squares = (c**2).sum(axis=1)
    lengths = sets @ (w + e * squares)
    inside = float(e[w > 0.0].max(initial=0.0))
    terms = 2.0 * (c.shape[1] + np.diff(sets.indptr) + inside + len(soft)) + 32.0
    crossed = 32.0 * np.sqrt(columns.costs) * np.sqrt(lengths)  # their product may be too large
    second = 1024.0 * _EPS * (lengths + (sets @ e) * squares.max(initial=0.0))
    margin = _EPS * (terms * columns.costs + crossed + second)
    # Weights of soft pairs have been summed up before.
    margin += 2.0 * soft.uncertainty
    return np.asarray(np.maximum(columns.costs - margin, 0.0))
