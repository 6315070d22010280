"""Soft pairs: inequalities that a clustering may violate at a price, so that multipliers have caps.

For a clustering matrix Z (Z_ih = 1/|C| if i and h share a cluster C, and 0 otherwise) and blocks of
weights e_h,

    i and j share a cluster:      sum_h e_h max(0, Z_ih + Z_jh - Z_hh) = 1,  else 0,
    i and j are in different ones: sum_h e_h |Z_ih - Z_jh| / 2 = 1,           else 0.

In the first sum the terms of h in the common cluster C are e_h/|C|, and the others 0. In the second
the terms of h in either of the two clusters are e_h/|C| / 2. So the price w of a violated pair is
exactly

    soft cannot-link    sum_h (w e_h) max(0, Z_ih + Z_jh - Z_hh),
    soft must-link      sum_h (w e_h / 2) (max(0, Z_ih - Z_jh) + max(0, Z_jh - Z_ih)),

convex functions of Z. Each term is the price of violating an inequality,

    soft cannot-link    Z_hh - Z_ih - Z_jh >= 0   at w e_h for each unit,
    soft must-link      Z_jh - Z_ih >= 0 and the same with i and j exchanged, at w e_h / 2,

and in the dual function the price is the cap of the inequality's multiplier t. So t times the
violation is at most the price, and the bound holds for the sum of squares plus the prices. For
h = i and h = j the first is -Z_ij >= 0, at w (e_i + e_j).

Caps come from the relaxation of the node (`multiplier_caps`), not from the node that found a cut: a
cut whose pair has been decided, or merged, has cap 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, kind_number
from sdpbb.bounds.sdp.relaxation import Relaxation

# Terms on the places of i, j and h, by the kinds of cuts.
TERMS = {
    "soft_cannot_links": ((2, 2, 1.0), (0, 2, -1.0), (1, 2, -1.0)),
    "soft_must_links": ((1, 2, 1.0), (0, 2, -1.0)),
}
# Maximum terms per block and round; the most expensive first.
PER_BLOCK = 40
# Minimum violation of a term, as a share of Z_hh.
TOLERANCE = 1e-5


def separate_soft_pairs(Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
    """Return the violated terms of the prices of all soft pairs: inequalities with caps."""
    if relaxation.soft is None:
        return CutSet.empty()
    i, j = np.nonzero(np.triu(relaxation.soft, 1))
    is_cannot = relaxation.soft[i, j] > 0.0
    most = PER_BLOCK * relaxation.m
    diagonal = np.diag(Z)
    cuts = CutSet.empty()
    for kind, a, b in (
        ("soft_cannot_links", i[is_cannot], j[is_cannot]),
        ("soft_must_links", i[~is_cannot], j[~is_cannot]),
        ("soft_must_links", j[~is_cannot], i[~is_cannot]),
    ):
        excess = Z[a] - Z[b] if kind == "soft_must_links" else Z[a] + Z[b] - diagonal
        # h = a and h = b are the same term, or the second is Z_bb - Z_ab >= 0, which holds.
        excess[np.arange(len(b)), b] = 0.0
        pair, h = np.nonzero(excess > TOLERANCE * diagonal)
        if len(pair) > most:
            price = np.abs(relaxation.soft[a[pair], b[pair]]) * relaxation.weights[h]
            chosen = np.argsort(-price * excess[pair, h], kind="stable")[:most]
            pair, h = pair[chosen], h[chosen]
        rows = np.column_stack([a[pair], b[pair], h])
        cuts = cuts + CutSet.of_rows(kind, rows, TERMS[kind], place=np.arange(3))
    # In a soft cannot-link with h = i, two terms are the same entry.
    return cuts.merged(np.arange(relaxation.m))


def multiplier_caps(relaxation: Relaxation, cuts: CutSet) -> NDArray[np.float64]:
    """Return the upper limits of the multipliers of the cuts (number,), in units of scale.

    They are inf except for terms of soft pairs. Equal terms share their price.
    """
    caps = np.full(len(cuts), np.inf)
    kind, soft, m = cuts.members.kind, relaxation.soft, relaxation.m
    for name in TERMS:
        found = np.flatnonzero(kind == kind_number(name))
        if not len(found):
            continue
        if soft is None:
            caps[found] = 0.0
            continue
        i, j, h = cuts.members.block[cuts.members.start[found][:, None] + np.arange(3)].T
        weight = soft[i, j]
        if name == "soft_cannot_links":
            i, j = np.minimum(i, j), np.maximum(i, j)
            shared = (h == i) | (h == j)
            h = np.where(shared, i, h)
            unit = relaxation.weights[h] + np.where(shared, relaxation.weights[j], 0.0)
            price = np.maximum(weight, 0.0) * unit
        else:
            price = np.maximum(-weight, 0.0) * (0.5 * relaxation.weights[h])
        key = (i.astype(np.int64) * m + j) * m + h
        _, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
        caps[found] = price / count[inverse.reshape(-1)]
    return caps
