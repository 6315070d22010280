"""Judge in balls (python-flint): its proofs rest on no analysis of rounding errors.

A ball is a number with a radius; the exact value is within. Arithmetic on balls (arb) preserves
this. The rules are the same as in `dual`, `judge` and `evidence`, but for the points themselves,
not for some nearby. Free terms and eigenvectors are chosen in floating-point arithmetic: any are
right, and the bound is computed from them in balls.

With y_p the points less any vector for each component, w_p their weights and s_i the sum of w_p y_p
over the points of block i,

    cost = sum of w_p |y_p|^2 - <G, Z>,    G_ij = s_i . s_j,

so that no means are rounded. If points have weights, w_p are the weights w^ of `geometry`: the
weights of a block add up to e_i, the number that cuts use.

Right-hand sides of cuts, prices of soft pairs and limits in whole units come from the kernel, which
rounds them to the safe side after a few operations. Sums over whole units are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .blocks import Blocks
from .cuts.inequalities import NodeFacts
from .dual import DualTerms, Semidefinite, disjoint_pairs
from .evidence import Evidence, Scatter
from .geometry import Contracted, Geometry
from .judge import Judge, pairs_within
from .rejection import Rejected

# Bits of the centre of a ball: products of coordinates are exact, and sums nearly so.
_BITS = 256

Reals = NDArray[np.float64]
Balls = NDArray[np.object_]
"""Array of balls; NumPy adds and multiplies them entry by entry."""


class ExactJudge(Judge):
    """Answers in balls, about the points of an instance or of a subset.

    `ImportError` if python-flint is not installed.
    """

    def __init__(self, geometry: Geometry) -> None:
        super().__init__(geometry)
        import flint

        flint.ctx.prec = _BITS
        self._arb, self._matrix = flint.arb, flint.arb_mat
        self._exact: tuple[Contracted, _ExactNode] | None = None

    def bound(self, evidence: Evidence, blocks: Blocks) -> float:
        node, contracted = self._node(blocks), self.contracted(blocks)
        if isinstance(evidence, Semidefinite):
            squares = self._dual(evidence, blocks, node)[0]
        elif isinstance(evidence, Scatter):
            squares = node.scatter
        else:
            raise Rejected(f"evidence of the kind {evidence.WORD!r}, which exact mode has not")
        return max(0.0, contracted.with_soft(_down(squares), blocks.adjacency))

    def proves_infeasible(self, prices: Any, blocks: Blocks) -> bool:
        raise Rejected("prices, which exact mode has not")

    def excluded(self, evidence: Semidefinite, blocks: Blocks, below: float) -> NDArray[np.bool_]:
        node, contracted = self._node(blocks), self.contracted(blocks)
        squares, terms = self._dual(evidence, blocks, node)
        constant = contracted.with_soft(0.0, blocks.adjacency)
        unit = self._arb(2) ** (2 * terms.exponent)
        budget = _up((self._arb(below) - constant - squares) / unit)
        return pairs_within(budget, terms.N, contracted.weights, blocks.adjacency)

    def far(self, blocks: Blocks, below: float) -> NDArray[np.bool_]:
        node, contracted = self._node(blocks), self.contracted(blocks)
        # e_i e_j / (e_i + e_j) |c_i - c_j|^2, of the means c_i = s_i / e_i, times (e_i + e_j)
        squares = node.gram.diagonal() / node.weights
        crossed = np.multiply.outer(squares, node.weights)
        crossed = crossed + crossed.T - 2 * node.gram
        far = crossed >= np.add.outer(node.weights, node.weights) * (
            self._arb(below) - node.scatter
        )
        np.fill_diagonal(far, False)
        return np.asarray((far | far.T).astype(np.bool_) | contracted.across)

    def cost_at_most(self, labels: NDArray[np.int64]) -> float:
        points, weights = self.geometry.points, self.geometry.weights
        total = self._arb(0)
        for cluster in range(int(labels.max()) + 1):
            members = np.flatnonzero(labels == cluster)
            w = self._balls(np.ones(len(members)) if weights is None else weights[members])
            y = self._balls(points[members]) - self._balls(points[members[0]])
            sums = (w[:, None] * y).sum(axis=0)
            total += (w[:, None] * y * y).sum() - (sums * sums).sum() / w.sum()
        return _up(total + self._balls(self.geometry.soft.violated(labels)).sum())

    def _balls(self, values: Any) -> Balls:
        """Return an array of numbers as balls."""
        return np.asarray(np.frompyfunc(self._arb, 1, 1)(np.asarray(values, np.float64)), object)

    def _product(self, A: Balls, B: Balls) -> Balls:
        """Return the matrix A B."""
        product = self._matrix(A.tolist()) * self._matrix(B.tolist())
        return np.array(product.tolist(), object)

    def _node(self, blocks: Blocks) -> _ExactNode:
        contracted = self.contracted(blocks)
        if self._exact is None or self._exact[0] is not contracted:
            self._exact = contracted, self._sums(blocks, contracted)
        return self._exact[1]

    def _sums(self, blocks: Blocks, contracted: Contracted) -> _ExactNode:
        """Return the sums over the points of blocks; see the module."""
        points, weights, of = self.geometry.points, self.geometry.weights, blocks.block_of
        m, e = contracted.m, self._balls(contracted.weights)
        w = self._balls(np.ones(len(points)) if weights is None else weights)
        if weights is not None:
            whole = np.zeros(m, object)
            np.add.at(whole, of, w)
            w = w * (e / whole)[of]
        component_of = np.zeros(m, np.intp) if blocks.component_of is None else blocks.component_of
        origin = np.empty_like(points)
        for component in np.unique(component_of):
            members = np.flatnonzero(component_of[of] == component)
            # Any vector is right; near the mean, free terms are best.
            own = None if weights is None else weights[members]
            origin[members] = np.average(points[members], axis=0, weights=own)
        y = self._balls(points) - self._balls(origin)
        sums, squares = np.zeros((m, points.shape[1]), object), (w[:, None] * y * y).sum()
        np.add.at(sums, of, w[:, None] * y)
        gram = self._product(sums, sums.T)
        return _ExactNode(e, squares, gram, squares - (gram.diagonal() / e).sum())

    def _dual(
        self, evidence: Semidefinite, blocks: Blocks, node: _ExactNode
    ) -> tuple[Any, DualTerms]:
        """Return a lower bound on the sum of squares, as a ball, and its terms; see `dual`."""
        contracted, e = self.contracted(blocks), node.weights
        terms = DualTerms.of(contracted, blocks, evidence)
        unit = self._arb(2) ** (-2 * terms.exponent)
        C, sides = self._cuts(evidence, terms.t, terms.node)
        a, X = self._balls(terms.a), self._kernel(terms.X, blocks)
        S = -unit * node.gram - self._balls(terms.N) - C + (X + X.T)
        S = S + np.multiply.outer(e, a) + np.multiply.outer(a, e)
        S[contracted.across] = self._arb(0)
        r = np.array([1 / value.sqrt() for value in e], object)
        least = self._sum_of_smallest(np.multiply.outer(r, r) * S, blocks.k)
        return (unit * node.squares + sides - 2 * a.sum() + least) / unit, terms

    def _cuts(self, evidence: Semidefinite, t: Reals, node: NodeFacts) -> tuple[Balls, Any]:
        """Return the sum of t_c B_c, (m, m), and the sum of t_c b_c."""
        lower, sides = self._balls(np.zeros((node.m, node.m))), self._arb(0)
        for found in evidence.cuts.inequalities(node):
            own, t = t[: len(found.sides)], t[len(found.sides) :]
            multipliers = self._balls(own if found.caps is None else np.minimum(own, found.caps))
            sides += (multipliers * self._balls(found.sides)).sum()
            for cut, i, j, coefficient in found.terms:
                # Entries off the diagonal count twice.
                halved = self._balls(np.where(i == j, coefficient, 0.5 * coefficient))
                place = np.maximum(i, j), np.minimum(i, j)
                np.add.at(lower, place, multipliers[cut] * halved)
            if found.squares is not None:
                q, factors = map(self._balls, found.squares)
                lower = lower - self._product(q.T, q * (factors * multipliers)[:, None])
        return np.where(np.tri(node.m, dtype=np.bool_), lower, lower.T), sides

    def _kernel(self, X: Reals, blocks: Blocks) -> Balls:
        """Return X in balls such that Z X = 0 exactly.

        Its rows are equal within cannot-linked pairs of blocks. The last row is minus the sum of
        the other pairs.
        """
        rows = self._balls(X)
        if X.any():
            *others, last = disjoint_pairs(blocks.adjacency)
            rows[list(last)] = -rows[[j for j, _ in others]].sum(axis=0)
        return rows

    def _sum_of_smallest(self, M: Balls, k: int) -> Any:
        """Return a lower bound on the sum of the k smallest eigenvalues; see `arithmetic`."""
        middle = np.array([[float(entry.mid()) for entry in row] for row in M])
        if not np.isfinite(middle).all():
            raise Rejected("a matrix has entries that are no finite numbers")
        eigenvalues, vectors = np.linalg.eigh(middle)
        theta = float(eigenvalues[k - 1])
        L, V = self._balls(eigenvalues - theta), self._balls(vectors)
        E = M - self._product(V * L, V.T) - self._balls(theta * np.eye(len(M)))
        norm = (E * E).sum().abs_upper().sqrt()
        is_negative = eigenvalues < theta
        gain = (V * V * L)[:, is_negative].sum()
        return k * self._arb(theta) + gain - self._arb(k).sqrt() * norm


@dataclass(frozen=True, eq=False)
class _ExactNode:
    """Sums over the points of the blocks of a node, in balls.

    weights : (m,) e
    squares : sum of w_p |y_p|^2
    gram : (m, m) G
    scatter : sum of squares inside the blocks
    """

    weights: Balls
    squares: Any
    gram: Balls
    scatter: Any


def _down(ball: Any) -> float:
    """Return a float at most every number in a ball, and nearly the greatest such."""
    nearest = float(ball.lower())
    for value in (nearest, math.nextafter(nearest, -math.inf)):
        if ball >= value:
            return value
    raise Rejected("numbers too far apart to calculate with")


def _up(ball: Any) -> float:
    """Return a float at least every number in a ball; 0 if it holds 0 alone."""
    return 0.0 - _down(-ball)
