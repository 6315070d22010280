"""Contracted Peng-Wei relaxation of a node, in the coordinates of the solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import rounding_of
from sdpbb.checker.kernel.cuts.capacities import SetMeasure, most_filled, set_measure
from sdpbb.checker.kernel.cuts.inequalities import ClusterLimits, NodeFacts, WeightBounds
from sdpbb.checker.kernel.rules import Measure
from sdpbb.problem import Contraction
from sdpbb.problem.quantities import POINTS

# A row is an outlier if it is this many times longer than the nine tenths of shorter rows.
OUTLIER = 10.0
# If outliers cause most of the cost: a row is an outlier only beyond this many times the radius
# around k centres that covers all rows.
FARTHEST = 100.0
# Maximum measures with a tabulated right-hand side. With at most as many points all are exact.
_ENTRIES = 2**16


class SplitTable(NamedTuple):
    """Right-hand sides of capacity cuts for sets whose measure is a multiple of a step.

    sides : -inf: such sets need not be split
    filled : number of clusters that such sets can fill
    """

    step: float
    sides: NDArray[np.float64]
    filled: NDArray[np.int64]

    @classmethod
    def of(cls, measure: SetMeasure) -> SplitTable | None:
        """Return the table of a measure; None: no set has to be split."""
        n = measure.limits.n
        step = max(1, -(-n // _ENTRIES))
        at = np.minimum(np.arange(n // step + 2, dtype=np.int64) * step, n)
        sides = measure.sides(at)
        is_split = sides + at > 0.25
        if not is_split.any():
            return None
        filled = most_filled(measure.limits, at).astype(np.int64)
        return cls(float(step), np.where(is_split, sides, -np.inf), filled)


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Contracted Peng-Wei relaxation of a node, without cuts.

        minimise    total - scale <K, Y>
        subject to  Y = u u' + R,  0 <= R <= I (semidefinite),  R u = 0,  tr R = k - 1,
                    Y_ij >= 0,  Y_ij = 0 for cannot-links,  R V = 0 for the kernel V.

    With Z the clustering matrix over blocks (Z_ij = 1/|C| for two blocks of a cluster C, else 0),
    D = diag(e) and e their weights: Y = D^1/2 Z D^1/2, u = sqrt(e/n) a unit vector with Y u = u,
    and scale K = D^1/2 C C' D^1/2 for the block means C, centred so that K u = 0 (PC-SOS-SDP,
    equation 7, after the change of variables; R <= I follows from the rest, as D^-1/2 Y D^1/2 is
    nonnegative with row sums 1). K without outliers has Frobenius norm 1, which makes the method's
    parameters independent of the data's units.

    Attributes
    ----------
    k : number of clusters
    n : weight of all points; without weights, their number
    u : (m,) unit vector
    K : (m, m) symmetric; 0 if all block means coincide
    scale, total : > 0 and >= 0, in squared units of the data
    rounding : bound on the rounding error of the sums behind K and total, in the same units
    soft : (m, m) weights of soft pairs over scale, rounded down in absolute value: > 0 for
        cannot-links, < 0 for must-links (`sdpbb.problem.soft_blocks`). None: no soft pairs
    weights : (m,) block weights e
    limits : limits on the weights of clusters, in the checker's form; None: no limits
    forbidden : (m, m) bool, the cannot-linked pairs
    """

    k: int
    n: float
    u: NDArray[np.float64]
    K: NDArray[np.float64]
    scale: float
    total: float
    rounding: float
    weights: NDArray[np.float64]
    forbidden: NDArray[np.bool_]
    soft: NDArray[np.float64] | None = None
    limits: ClusterLimits | None = None

    @classmethod
    def of(cls, contraction: Contraction) -> Relaxation:
        """Return the relaxation of a contracted instance."""
        e = contraction.weights
        unit = _typical_length(contraction)
        factor = np.sqrt(e)[:, None] * contraction.means / unit
        K = factor @ factor.T  # of one array with itself: symmetric to the last bit
        u = np.sqrt(e / e.sum())
        return cls(
            k=contraction.k,
            n=float(e.sum()),
            u=u,
            K=K,
            scale=unit**2,
            total=contraction.total + contraction.soft.constant,
            rounding=rounding_of(contraction),
            weights=e,
            forbidden=contraction.adjacency,
            soft=_soft_weights(contraction, unit**2),
            limits=_limits(contraction),
        )

    @property
    def m(self) -> int:
        """Number of blocks."""
        return len(self.weights)

    @cached_property
    def node(self) -> NodeFacts:
        """Facts about the node for the checker's cuts, without soft pairs."""
        return NodeFacts(self.k, self.weights, self.forbidden, self.limits)

    @property
    def measures(self) -> dict[str, SetMeasure]:
        """Measure of blocks for each family of capacity cuts whose measure has limits."""
        return {
            family: measure
            for family, in_units in (("point_sets", False), ("weight_sets", True))
            if (measure := set_measure(self.limits, self.weights, in_units)) is not None
        }

    @cached_property
    def set_limits(self) -> dict[str, tuple[SetMeasure, SplitTable]]:
        """Measure and table of splits for each family of capacity cuts that splits a set."""
        return {
            family: (measure, table)
            for family, measure in self.measures.items()
            if (table := SplitTable.of(measure)) is not None
        }

    @cached_property
    def inverse_roots(self) -> NDArray[np.float64]:
        """Diagonal of D^-1/2, the inverse roots 1/sqrt(e) of the weights, (m,)."""
        return 1.0 / np.sqrt(self.weights)

    @cached_property
    def kernel(self) -> NDArray[np.float64]:
        """Orthonormal columns V (m, p), orthogonal to u, with Y V = 0 for every clustering.

        For k = 2, each block shares its cluster with one block of each cannot-linked pair (j, h):
        Z_ij + Z_ih = Z_ii. So two disjoint pairs Q, Q' satisfy Z (1_Q - 1_Q') = 0. For k > 2 there
        are no columns, as cannot-link cliques of k blocks are rare.
        """
        used = np.zeros(self.m, dtype=bool)
        pairs = []
        for j, h in np.argwhere(np.triu(self.forbidden)).tolist() if self.k == 2 else ():
            if not (used[j] or used[h]):
                used[j] = used[h] = True
                pairs.append((j, h))
        if len(pairs) < 2:
            return np.empty((self.m, 0))
        # The vectors D^-1/2 1_Q of disjoint pairs are orthogonal. A reflection of their coordinates
        # gives an orthonormal basis of their combinations sum_Q x_Q D^-1/2 1_Q with sum_Q x_Q = 0.
        j, h = np.array(pairs).T
        r = self.inverse_roots
        norm = np.hypot(r[j], r[h])
        columns = np.zeros((self.m, len(pairs)))
        columns[j, np.arange(len(pairs))] = r[j] / norm
        columns[h, np.arange(len(pairs))] = r[h] / norm
        normal = 1.0 / norm
        normal /= np.linalg.norm(normal)
        normal[0] += 1.0
        reflection = np.eye(len(pairs)) - np.outer(normal, normal / normal[0])
        return columns @ reflection[:, 1:]

    def deflated(self, M: NDArray[np.float64], value: float) -> NDArray[np.float64]:
        """Return (I - V V') M (I - V V') + value V V' for the kernel V.

        Without a kernel it is M.
        """
        V = self.kernel
        if V.shape[1] == 0:
            return M
        MV = M @ V
        half = MV - V @ (0.5 * (V.T @ MV + value * np.eye(V.shape[1])))
        product = half @ V.T
        return np.asarray(M - product - product.T)

    def to_affinity(self, Y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Z = D^-1/2 Y D^-1/2."""
        r = self.inverse_roots
        return r[:, None] * Y * r


def _limits(contraction: Contraction) -> ClusterLimits | None:
    """Return the limits on the weights of clusters; without weights, on their points."""
    instance = contraction.instance
    if instance is None or instance.weights is None:
        return None if instance is None else contraction.size_limits
    measures = (
        Measure.of(quantity.linear, replace(quantity.limits, listed=None), quantity.name == POINTS)
        for quantity in contraction.limited_amounts
    )
    return WeightBounds.of(contraction.weights, measures)


def _soft_weights(contraction: Contraction, scale: float) -> NDArray[np.float64] | None:
    soft = contraction.soft
    if not soft:
        return None
    # Rounded down by more than the rounding error of sums of weights and a few products.
    less = 1.0 - 2.0 * soft.rounding - 16.0 * float(np.finfo(np.float64).eps)
    return soft.matrix(contraction.n_blocks) * (less / scale)


def _typical_length(contraction: Contraction) -> float:
    """Return the unit of length in which K has Frobenius norm 1, after outliers are moved closer.

    Otherwise one outlier would set the unit, and the other points would lose their digits. An
    outlier also moves the mean, so lengths are distances from the median. If outliers are in more
    places than there are clusters, they cause nearly all of the cost, and set the unit, too.
    """
    centred = contraction.means - np.median(contraction.means, axis=0)
    roots = np.sqrt(contraction.weights)
    rows = roots[:, None] * centred
    longest = float(np.abs(rows).max(initial=0.0))
    if longest == 0.0:
        return 1.0
    rows /= longest
    norms = np.linalg.norm(rows, axis=1)
    cap = OUTLIER * np.quantile(norms, 0.9) or norms.max()
    if norms.max() > cap:
        radius = _covering_radius(rows, roots, norms, contraction.k)
        if radius > cap:
            cap = FARTHEST * radius
    rows = rows * np.minimum(1.0, cap / np.maximum(norms, cap))[:, None]
    return longest * float(np.sqrt(np.linalg.norm(rows.T @ rows)))


def _covering_radius(
    rows: NDArray[np.float64], roots: NDArray[np.float64], norms: NDArray[np.float64], k: int
) -> float:
    """Return the largest norm of a row about the nearest of k centres, chosen farthest first.

    rows : (m, r) the points times roots (m,)
    norms : (m,) of the rows: their distances from the first centre, 0
    """
    nearest = norms
    for _ in range(k - 1):
        centre = int(nearest.argmax())
        offsets = rows - roots[:, None] * (rows[centre] / roots[centre])
        nearest = np.minimum(nearest, np.linalg.norm(offsets, axis=1))
    return float(nearest.max())
