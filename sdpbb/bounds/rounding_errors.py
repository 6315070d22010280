"""Bound on rounding errors in block means, total scatter and weights of soft pairs."""

from __future__ import annotations

import numpy as np

from sdpbb.problem import Contraction


def rounding_of(contraction: Contraction) -> float:
    """Return a bound on the rounding errors of inner products of block means and of their sums.

    They are sums of r and m terms, and inside blocks of as many terms as the block has points; and
    the sum of what all clusterings pay for soft pairs.
    """
    eps = float(np.finfo(np.float64).eps)
    terms: int = 2 * contraction.means.shape[1] + 16
    inside = float(contraction.counts.max()) * float(contraction.scatter.sum())
    soft = 2.0 * contraction.soft.rounding * contraction.soft.constant
    return eps * (terms * contraction.total + inside) + soft
