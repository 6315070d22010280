"""Evidence by dual values of the semidefinite relaxation, any of which prove a lower bound.

Let a clustering have m blocks of weights e (n in all), means c and scatter w inside. Let
Z_ij = 1/|C| if i and j share the cluster C of weight |C|, and 0 otherwise. Then

    cost = sum of w + sum of e_i |c_i|^2 - <G, Z>,       G_ij = e_i e_j c_i . c_j,

Z e = 1, and with D = diag(e), Y = D^1/2 Z D^1/2 is an orthogonal projector of rank k. For

    N        symmetric, >= 0 for i and j that are not cannot-linked (Z_ij = 0 for others),
    t >= 0   multipliers of valid inequalities <B_c, Z> >= b_c; or of inequalities that a clustering
             violates at a price, a part of its cost that t does not exceed (`cuts.lifted`),
    a        any vector: <e a' + a e', Z> = 2 a'1, as Z e = 1,
    T        for k = 2, any sum of w a_p' + a_p w' for vectors w with Z w = 0,

and S = - G - N - sum of t_c B_c + e a' + a e' + T, M = D^-1/2 S D^-1/2,

    cost >= sum of w + sum of e_i |c_i|^2 + b't - 2 a'1 + <S, Z> + <N, Z>,

where <S, Z> = <M, Y> is at least the sum of the k smallest eigenvalues of M. Any a and T are right.
These are chosen for the best bound: D^-1/2 e, an eigenvector of every Y with value 1, becomes one
of M with a value below all others, and the vectors D^-1/2 w get a value above the least ones.

For k = 2 every block is with exactly one block of a cannot-linked pair, so that Z (1_Q - 1_Q') = 0
for any two such pairs Q and Q'.

If no cluster has blocks of two components, Z is 0 between them, and S may be anything there. It is
set to 0, which never makes the sum of the k smallest eigenvalues less. So means, N and cuts between
components do not matter. As Z e = 1 holds in each component by itself, e a' + a e' is also
restricted to pairs inside of components: the part of D^-1/2 e in each becomes an eigenvector.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .archive import REALS
from .arithmetic import TINY, down, gamma, norm_up, sum_down, sum_of_smallest, sum_up, up
from .blocks import Blocks
from .certificate import Take, Written, fields, number
from .cuts import Cuts
from .cuts.inequalities import ClusterLimits, CutSums, NodeFacts, WeightBounds
from .evidence import FULL, Effort, Evidence
from .geometry import Contracted
from .rejection import Rejected
from .rules import Rules, find_measure, measures

Matrix = NDArray[np.float64]
SingleOrDouble = NDArray[np.float32] | NDArray[np.float64]

# Dual values beyond this, in units of the largest squared coordinate, are rejected.
_LARGEST = 2.0**200


@dataclass(frozen=True, eq=False)
class Semidefinite(Evidence):
    """Dual values of the semidefinite relaxation of a node of m blocks.

    unit : a power of two, the unit of N and multipliers as squared lengths of the data
    N : (m (m + 1) / 2,) upper triangle of a symmetric matrix, row by row with the diagonal; >= 0
        except for cannot-linked pairs, float32 or float64
    cuts : valid inequalities
    multipliers : (number of cuts,) >= 0, float32 or float64
    """

    unit: float
    N: SingleOrDouble
    cuts: Cuts
    multipliers: SingleOrDouble

    WORD: ClassVar = "dual"
    PROOF: ClassVar = "dual bound"

    @classmethod
    def read(cls, values: list[Any], take: Take, m: int) -> Self:
        unit, groups = fields(values, "unit", "cuts")
        cuts = Cuts.read(groups, take, m)
        return cls(
            unit=number(unit, "unit"),
            N=take("N", REALS, m * (m + 1) // 2),
            cuts=cuts,
            multipliers=take("multipliers", REALS, len(cuts)),
        )

    def written(self) -> Written:
        groups, arrays = self.cuts.written()
        own = {"N": self.N, "multipliers": self.multipliers}
        return [self.WORD, self.unit, groups], own | arrays

    @property
    def rules_used(self) -> list[str]:
        return [self.PROOF, *self.cuts.rules_used]

    def bound(self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL) -> float:
        return contracted.for_points(dual_bound(contracted, blocks, self)[0])


@dataclass(frozen=True, eq=False)
class DualTerms:
    """Terms of the bound of a node, in units of 4^exponent; see the module.

    means : (m, d) c in units of 2^exponent
    N : (m, m) symmetric, >= 0 off the cannot-links, 0 between components
    t : (number of cuts,) multipliers
    node : facts that make the cuts valid
    cuts : their sums
    a, X : (m,) and (m, m), T being X + X'
    S : (m, m) the matrix of all terms, but for rounding
    """

    exponent: int
    means: Matrix
    N: Matrix
    t: NDArray[np.float64]
    node: NodeFacts
    cuts: CutSums
    a: NDArray[np.float64]
    X: Matrix
    S: Matrix

    @classmethod
    def of(cls, contracted: Contracted, blocks: Blocks, evidence: Semidefinite) -> DualTerms:
        """Return the terms of evidence; `Rejected` if it is not as `Semidefinite` says."""
        e, across = contracted.weights, contracted.across
        k, adjacency = blocks.k, blocks.adjacency
        # In units of a power of 4 nothing overflows, and what underflows is within TINY.
        exponent = _exponent(contracted, evidence)
        c = np.ldexp(contracted.means, -exponent)
        N = _unpacked(evidence.N, adjacency)
        N[across] = 0.0
        N = _scaled(N, evidence.unit, exponent)
        t = _scaled(_checked_multipliers(evidence), evidence.unit, exponent)
        prices = None
        if contracted.soft is not None:
            prices = contracted.soft.prices(adjacency | across, exponent)
        node = NodeFacts(k, e, adjacency, _limits(contracted, blocks.block_rules), prices)
        cuts = evidence.cuts.sums(t, node)
        vectors = e[:, None] * c
        G = vectors @ vectors.T
        S = -(np.triu(G) + np.triu(G, 1).T) - N - cuts.matrix
        S[across] = 0.0
        a, X = _free_terms(S, contracted, k, adjacency)
        ea = np.outer(e, a)
        ea[across] = 0.0
        return cls(exponent, c, N, t, node, cuts, a, X, S + (ea + ea.T) + (X + X.T))


def dual_bound(
    contracted: Contracted, blocks: Blocks, evidence: Semidefinite
) -> tuple[float, DualTerms]:
    """Return the bound for x^, and its terms.

    Every clustering with matrix Z costs at least the bound plus <N, Z> of the terms.
    """
    terms = DualTerms.of(contracted, blocks, evidence)
    k, adjacency = blocks.k, blocks.adjacency
    e, across, c, N, X = contracted.weights, contracted.across, terms.means, terms.N, terms.X
    vectors, ea = e[:, None] * c, np.outer(e, terms.a)
    ea[across] = 0.0
    r = 1.0 / np.sqrt(e)
    scaling = np.outer(r, r)
    M = scaling * terms.S

    # Entries of G are off by gamma_(d+2), sums of cuts by (number of terms + 1) u, others by 2 u.
    # Four additions follow. Errors in entries where Z is 0 do not matter.
    d, count = c.shape[1], terms.cuts.roundings
    lengths = np.sqrt(np.square(vectors).sum(axis=1))
    sizes = N + np.abs(ea) + np.abs(ea.T) + np.abs(X) + np.abs(X.T)
    sizes = (
        (d + 8.0) * np.outer(lengths, lengths) + (count + 8.0) * terms.cuts.absolute + 8.0 * sizes
    )
    sizes[adjacency | across] = 0.0
    # The terms themselves are rounded as well, and gamma_n is a little more than n u.
    inflated = 1.0 + gamma(2.0 * (d + float(count.max())) + 100.0)
    error = norm_up(scaling * sizes) * gamma(1.0) * inflated
    # The two factors of D^-1/2 are rounded twice each, and there are two products.
    error = up(error + up(norm_up(M) * gamma(7.0))) + TINY
    loss = up(up(math.sqrt(k)) * error) + TINY  # at most ||E||_F ||Y||_F for the error E of M

    squares = e * np.square(c).sum(axis=1)
    parts = [
        *squares.tolist(),
        -up(sum_up(squares.tolist()) * gamma(d + 4.0)),
        sum_down(terms.cuts.sides),
        *(-2.0 * terms.a).tolist(),
        sum_of_smallest(M, k),
        -loss,
    ]
    bound = down(float(np.ldexp(sum_down(parts), 2 * terms.exponent)))
    bound = contracted.with_soft(sum_down([*contracted.scatter.tolist(), bound]), adjacency)
    if not math.isfinite(bound):
        raise Rejected("dual values too large for a bound")
    return bound, terms


def _limits(contracted: Contracted, rules: Rules) -> ClusterLimits | None:
    """Return the limits on the weights of clusters that cuts may use, or None."""
    if contracted.counts_points:
        points = find_measure(rules, counts_points=True)
        return None if points is None else points.limits
    return WeightBounds.of(contracted.weights, measures(rules))


def _free_terms(
    S: Matrix, contracted: Contracted, k: int, adjacency: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], Matrix]:
    """Return the free terms: a vector a (m,) and a matrix X (m, m), T = X + X'.

    S is given without them.

    With u = sqrt(e / n) and M = D^-1/2 S D^-1/2, e a' + a e' adds u b' + b u' to M, where
    b = sqrt(n) D^-1/2 a. b = -M u + (u'M u + value) u / 2 makes u an eigenvector of that value.
    The value is minus the Frobenius norm, which is below all other eigenvalues. Each component is
    treated by itself, with its own n.
    """
    m, root = contracted.m, np.sqrt(contracted.weights)
    M = S / np.outer(root, root)
    shifts = np.empty(m)  # M u of each component, less u'M u u / 2
    unit = np.empty(m)
    n = np.empty(m)
    for block in contracted.components:
        inside = np.ix_(block, block)
        n[block] = contracted.weights[block].sum()
        u = unit[block] = root[block] / np.sqrt(n[block])
        Mu = M[inside] @ u
        shifts[block] = Mu - 0.5 * float(u @ Mu) * u
        outer = np.outer(u, -shifts[block])
        M[inside] += outer + outer.T
    value = -float(np.linalg.norm(M))
    a = root * (0.5 * value * unit - shifts) / np.sqrt(n)
    one_component = len(contracted.components) == 1
    pairs = disjoint_pairs(adjacency) if k == 2 and one_component else []
    if len(pairs) < 2:
        return a, np.zeros((m, m))
    return a, _kernel_terms(M, root, pairs, -value / math.sqrt(max(1, m - len(pairs))))


def disjoint_pairs(adjacency: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return disjoint cannot-linked pairs of blocks, found greedily."""
    used: set[int] = set()
    pairs = []
    for j, h in np.argwhere(np.triu(adjacency, 1)).tolist():
        if j not in used and h not in used:
            used.update((j, h))
            pairs.append((j, h))
    return pairs


def _kernel_terms(
    M: Matrix, root: NDArray[np.float64], pairs: list[tuple[int, int]], value: float
) -> Matrix:
    """Return the X (m, m) that gives the kernel the eigenvalue `value`.

    X = sum of (1_Q - 1_Q') a_Q' over consecutive pairs Q, Q', such that
    M + D^-1/2 (X + X') D^-1/2 has the eigenvalue `value` on the span of D^-1/2 (1_Q - 1_Q').

    With P the projector on that span, P H + H' P for H = - M + (M P + value I) / 2 does that; P is
    V (I - v v') V' for the normalised D^-1/2 1_Q as columns of V and v_Q proportional to the
    inverse lengths of D^-1/2 1_Q. For a pair Q = (j, h), rows j and h of X are equal, b_Q, and the
    b_Q add up to 0. Each b_Q is the rounded difference of two consecutive a_Q. So Z X = 0 holds for
    a matrix from which X differs by one rounding of each entry.
    """
    m = len(root)
    j, h = np.array(pairs).T
    length = np.hypot(1.0 / root[j], 1.0 / root[h])
    V = np.zeros((m, len(pairs)))
    V[j, np.arange(len(pairs))] = 1.0 / (root[j] * length)
    V[h, np.arange(len(pairs))] = 1.0 / (root[h] * length)
    v = 1.0 / length
    v /= np.linalg.norm(v)

    def projected(A: Matrix) -> Matrix:
        """Return (I - v v') A."""
        return np.asarray(A - np.outer(v, v @ A))

    MV = M @ V
    VMP = projected(V.T @ MV).T @ V.T
    rows = projected(0.5 * (VMP + value * V.T) - MV.T) / length[:, None] * root
    a = np.cumsum(rows, axis=0)[:-1]
    b = np.concatenate([a[:1], a[1:] - a[:-1], -a[-1:]])
    X = np.zeros((m, m))
    X[j] = b
    X[h] = b
    return X


def _exponent(contracted: Contracted, evidence: Semidefinite) -> int:
    """Return the exponent of the unit of length: of coordinates, or of dual values if all are 0."""
    mantissa, exponent = math.frexp(evidence.unit) if evidence.unit > 0.0 else (0.0, 0)
    if mantissa != 0.5 or not 1e-250 <= evidence.unit <= 1e250:
        raise Rejected(f"the unit of dual values is {evidence.unit!r}, not a power of two")
    largest = float(np.abs(contracted.means).max(initial=0.0))
    return math.frexp(largest)[1] if largest > 0.0 else exponent // 2


def _scaled(values: Matrix, unit: float, exponent: int) -> Matrix:
    """Return values * unit / 4^exponent; `Rejected` if one is too large.

    They need not be exact: any dual values are right.
    """
    with np.errstate(over="ignore"):
        scaled = np.ldexp(values, math.frexp(unit)[1] - 1 - 2 * exponent)
    if not (np.abs(scaled) <= _LARGEST).all():
        raise Rejected("dual values are too large for the points, or no numbers")
    return np.asarray(scaled)


def _unpacked(packed: NDArray[np.floating], adjacency: NDArray[np.bool_]) -> Matrix:
    """Return the symmetric matrix (m, m) of an upper triangle, row by row.

    `Rejected` unless it is >= 0 off the cannot-links.
    """
    m = len(adjacency)
    N = np.zeros((m, m))
    N[np.triu_indices(m)] = packed
    N = N + np.triu(N, 1).T
    if not (adjacency | (N >= 0.0)).all():  # false for nan
        raise Rejected("N is negative, or no number, for two blocks that are not cannot-linked")
    return np.asarray(N)


def _checked_multipliers(evidence: Semidefinite) -> Matrix:
    """Return the multipliers; `Rejected` unless all are >= 0."""
    t = evidence.multipliers
    if not (t >= 0.0).all():
        raise Rejected("a multiplier is negative or no number")
    return np.asarray(t, dtype=np.float64)
