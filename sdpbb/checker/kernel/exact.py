"""Judge whose numbers are balls: what it proves rests on no analysis of rounding errors.

A ball is a number and a radius that the exact value is within, and arithmetic on balls keeps that
(arb, by python-flint). The rules are those of `dual`, `judge` and `evidence`, for the points as
they are, not for some nearby. Free terms and eigenvectors are chosen in floating-point arithmetic:
any are right, and what they prove is computed in balls.

With y_p the points less any vector for each component, w_p their weights and s_i the sum of w_p y_p
over the points of block i,

    cost = sum of w_p |y_p|^2 - <G, Z>,    G_ij = s_i . s_j,

so that no means are rounded. Where points have weights, w_p is what `geometry` makes of them: the
weights of a block add up to the number e_i that the cuts are about.

Right-hand sides of cuts, prices of soft pairs and limits in whole units are the ones of the kernel,
rounded to the safe side where they are made of a few operations. Sums over whole units are exact.
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

# Bits of the centre of a ball: products of coordinates are exact, and sums lose next to nothing.
_BITS = 256

Reals = NDArray[np.float64]


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

    def proves_infeasible(self, evidence: Evidence, blocks: Blocks) -> bool:
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
        m, cutoff = contracted.m, self._arb(below) - node.scatter
        far, G, e = contracted.across.copy(), node.gram, node.weights
        for i in range(m):
            for j in range(i):
                # e_i e_j / (e_i + e_j) |c_i - c_j|^2, of the means c_i = s_i / e_i
                crossed = e[j] / e[i] * G[i, i] + e[i] / e[j] * G[j, j] - 2 * G[i, j]
                if crossed >= cutoff * (e[i] + e[j]):
                    far[i, j] = far[j, i] = True
        return far

    def cost_at_most(self, labels: NDArray[np.int64]) -> float:
        points, weights = self.geometry.points, self.geometry.weights
        total = self._arb(0)
        for cluster in range(int(labels.max()) + 1):
            members = np.flatnonzero(labels == cluster)
            w = [self._arb(1)] * len(members)
            if weights is not None:
                w = [self._arb(value) for value in weights[members].tolist()]
            y = self._centred(points[members], points[members[0]])
            sums, whole = [self._arb(0)] * points.shape[1], self._arb(0)
            for own, row in zip(w, y, strict=True):
                whole += own
                sums = [s + own * x for s, x in zip(sums, row, strict=True)]
                total += own * _squares(row)
            total -= _squares(sums) / whole
        for weight in self.geometry.soft.violated(labels):
            total += self._arb(weight)
        return _up(total)

    def _centred(self, points: Reals, origin: Reals) -> list[list[Any]]:
        o = [self._arb(value) for value in origin.tolist()]
        return [[self._arb(x) - c for x, c in zip(row, o, strict=True)] for row in points.tolist()]

    def _node(self, blocks: Blocks) -> _ExactNode:
        contracted = self.contracted(blocks)
        if self._exact is None or self._exact[0] is not contracted:
            self._exact = contracted, self._sums(blocks, contracted)
        return self._exact[1]

    def _sums(self, blocks: Blocks, contracted: Contracted) -> _ExactNode:
        """Return the sums over the points of blocks; see the module."""
        points, weights = self.geometry.points, self.geometry.weights
        m, d, arb = contracted.m, points.shape[1], self._arb
        e = [arb(value) for value in contracted.weights.tolist()]
        sums, squares = [[arb(0)] * d for _ in range(m)], arb(0)
        factor = [arb(1)] * m
        if weights is not None:
            whole = [arb(0)] * m
            for block, weight in zip(blocks.block_of.tolist(), weights.tolist(), strict=True):
                whole[block] += arb(weight)
            factor = [own / total for own, total in zip(e, whole, strict=True)]
        of_block = np.zeros(m, np.intp) if blocks.component_of is None else blocks.component_of
        of_point = of_block[blocks.block_of]
        for component in np.unique(of_point).tolist():
            members = np.flatnonzero(of_point == component)
            # Free terms are chosen for points around their means.
            own = None if weights is None else weights[members]
            y = self._centred(points[members], np.average(points[members], axis=0, weights=own))
            for point, row in zip(members.tolist(), y, strict=True):
                block = int(blocks.block_of[point])
                w = factor[block] * (1 if weights is None else arb(float(weights[point])))
                sums[block] = [s + w * x for s, x in zip(sums[block], row, strict=True)]
                squares += w * _squares(row)
        s = self._matrix(sums)
        gram = s * s.transpose()
        scatter = squares - sum((gram[i, i] / e[i] for i in range(m)), arb(0))
        return _ExactNode(e, squares, gram, scatter)

    def _dual(
        self, evidence: Semidefinite, blocks: Blocks, node: _ExactNode
    ) -> tuple[Any, DualTerms]:
        """Return a lower bound on the sum of squares, and the terms that it is made of."""
        contracted, arb = self.contracted(blocks), self._arb
        k, m, across = blocks.k, contracted.m, contracted.across
        terms = DualTerms.of(contracted, blocks, evidence)
        unit = arb(2) ** (-2 * terms.exponent)
        C, sides = self._cuts(evidence, terms.t, terms.node)
        a = [arb(value) for value in terms.a.tolist()]
        X = self._kernel(terms.X, blocks, contracted)
        r = [1 / value.sqrt() for value in node.weights]
        M = self._matrix(m, m)
        for i in range(m):
            for j in range(i + 1):
                if across[i, j]:
                    continue
                value = -unit * node.gram[i, j] - arb(float(terms.N[i, j])) - C[i, j]
                value += node.weights[i] * a[j] + a[i] * node.weights[j] + X[i][j] + X[j][i]
                M[i, j] = M[j, i] = r[i] * r[j] * value
        parts = [unit * node.squares, sides, -2 * sum(a, arb(0)), self._sum_of_smallest(M, k)]
        return sum(parts, arb(0)) / unit, terms

    def _cuts(self, evidence: Semidefinite, t: Reals, node: NodeFacts) -> tuple[Any, Any]:
        """Return the sum of t_c B_c, of which the lower triangle counts, and that of t_c b_c."""
        arb, m = self._arb, node.m
        total, sides, begin = self._matrix(m, m), arb(0), 0
        for found in evidence.cuts.inequalities(node):
            own = t[begin : begin + len(found.sides)]
            begin += len(own)
            if found.caps is not None:
                own = np.minimum(own, found.caps)
            multipliers = [arb(value) for value in own.tolist()]
            for multiplier, side in zip(multipliers, found.sides.tolist(), strict=True):
                sides += multiplier * arb(side)
            for cut, i, j, coefficient in found.terms:
                of_terms = zip(
                    cut.tolist(),
                    np.maximum(i, j).tolist(),
                    np.minimum(i, j).tolist(),
                    coefficient.tolist(),
                    strict=True,
                )
                for c, row, column, value in of_terms:
                    # Entries off the diagonal count twice.
                    half = 1.0 if row == column else 0.5
                    total[row, column] += multipliers[c] * arb(value) * half
            if found.squares is not None:
                q, factor = found.squares
                scaled = [
                    [arb(value) * arb(f) * multiplier for value in row]
                    for row, f, multiplier in zip(
                        q.tolist(), factor.tolist(), multipliers, strict=True
                    )
                ]
                total -= self._matrix(q.T.tolist()) * self._matrix(scaled)
        return total, sides

    def _kernel(self, X: Reals, blocks: Blocks, contracted: Contracted) -> list[list[Any]]:
        """Return X in balls, as a sum of (1_Q - 1_Q') a' over cannot-linked pairs of blocks.

        Its rows are equal within pairs, and the last one is made such that all pairs add up to 0.
        """
        rows = [[self._arb(value) for value in row] for row in X.tolist()]
        if X.any():
            pairs = disjoint_pairs(blocks.adjacency)
            others = [rows[j] for j, _ in pairs[:-1]]
            last = [-sum(column, self._arb(0)) for column in zip(*others, strict=True)]
            for block in pairs[-1]:
                rows[block] = last
        return rows

    def _sum_of_smallest(self, M: Any, k: int) -> Any:
        """Return at most the sum of the k smallest eigenvalues; see `arithmetic`."""
        arb, m = self._arb, M.nrows()
        middle = np.array([[float(M[i, j].mid()) for j in range(m)] for i in range(m)])
        if not np.isfinite(middle).all():
            raise Rejected("a matrix has entries that are no finite numbers")
        eigenvalues, V = np.linalg.eigh(middle)
        theta = float(eigenvalues[k - 1])
        L = eigenvalues - theta
        vectors, values = [[arb(x) for x in row] for row in V.tolist()], list(map(arb, L.tolist()))
        scaled = [[x * value for x, value in zip(row, values, strict=True)] for row in vectors]
        E = M - self._matrix(scaled) * self._matrix(vectors).transpose()
        for i in range(m):
            E[i, i] -= arb(theta)
        squares = sum((E[i, j] * E[i, j] for i in range(m) for j in range(m)), arb(0))
        norm = squares.abs_upper().sqrt()
        negative = np.flatnonzero(L < 0.0).tolist()
        loss = sum((-values[c] * row[c] * row[c] for row in vectors for c in negative), arb(0))
        return k * arb(theta) - loss - arb(k).sqrt() * norm


@dataclass(frozen=True, eq=False)
class _ExactNode:
    """Sums over the points of the blocks of a node, in balls.

    weights : (m,) e
    squares : sum of w_p |y_p|^2
    gram : (m, m) G
    scatter : sum of squares inside the blocks
    """

    weights: list[Any]
    squares: Any
    gram: Any
    scatter: Any


def _squares(values: list[Any]) -> Any:
    """Return the sum of squares of one value or more."""
    return sum((x * x for x in values[1:]), values[0] * values[0])


def _down(ball: Any) -> float:
    """Return a number that is at most what a ball holds, and nearly the greatest such."""
    value = float(ball.lower())
    return value if ball >= value else _beyond(ball, math.nextafter(value, -math.inf))


def _up(ball: Any) -> float:
    """Return a number that is at least what a ball holds; 0 exactly if it holds 0 alone."""
    value = float(ball.upper())
    return value if ball <= value else -_beyond(-ball, -math.nextafter(value, math.inf))


def _beyond(ball: Any, value: float) -> float:
    """Return a number if a ball holds no less, as it does but where it is no number."""
    if not ball >= value:
        raise Rejected("numbers too far apart to calculate with")
    return value
