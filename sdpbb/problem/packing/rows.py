"""Rows of the binary programme of packings: limits on clusters, cannot-links, soft pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.checker.kernel.sizes import SizeLimits
from sdpbb.problem.contraction import Contraction
from sdpbb.problem.graph import NeighbourSets
from sdpbb.problem.quantities import Quantity
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.backends.programme import BinaryProgramme

# Maximum sums whose units differ by more than the tolerance of entries, 10^-6.
FEW_UNITS = 1_000_000


@dataclass(frozen=True, eq=False)
class SizeRows:
    """Rows of a programme on what clusters have of a quantity.

    values : (m,) of the blocks
    least, most : (k,) of the clusters
    """

    values: NDArray[np.float64]
    least: NDArray[np.float64]
    most: NDArray[np.float64]


def size_bounds(limits: SizeLimits) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the least and the most points (k,) of each cluster.

    Where sizes are listed, cluster c has the c-th of them.
    """
    least, most = np.array(limits.bounds(), np.intp).T
    return least, most


def size_rows(
    of_blocks: NDArray[np.integer], least: NDArray[np.integer], most: NDArray[np.integer]
) -> SizeRows:
    """Return rows of whole numbers (m,) of blocks, least_c to most_c of them in cluster c."""
    return SizeRows(*(each.astype(np.float64) for each in (of_blocks, least, most)))


def quantity_rows(quantity: Quantity, slack: float) -> SizeRows:
    """Return the rows of a quantity.

    slack : part of a limit on many units that clusters may be beyond it
    """
    rows = size_rows(quantity.linear, *size_bounds(quantity.limits))
    if quantity.limits.n <= FEW_UNITS:
        return rows
    scale = 1.0 / quantity.limits.most
    return SizeRows(
        rows.values * scale,
        rows.least * scale * (1.0 - slack),
        rows.most * scale * (1.0 + slack),
    )


def assignment_rows(contraction: Contraction, sizes: Sequence[SizeRows]) -> BinaryProgramme:
    """Return the binary programme of assignments of blocks to clusters, without costs.

    s_bc is at position b k + c.

        sum_c s_bc = 1,  least_c <= sum_b v_b s_bc <= most_c for the rows of sizes,
        sum_{b in Q} s_bc <= 1 for cliques Q of cannot-links,  s_bc in {0, 1}
    """
    m, k = contraction.n_blocks, contraction.k
    cliques = clique_cover(m, contraction.cannot_link)
    by_size = (np.arange(m) * k + np.arange(k)[:, None]).reshape(-1)
    by_clique = [(np.array(clique) * k + c) for clique in cliques for c in range(k)]
    columns = np.concatenate([np.arange(m * k), *[by_size] * len(sizes), *by_clique])
    n_pairs = len(by_clique)
    lengths = np.concatenate(
        [np.full(m, k), np.full(k * len(sizes), m), [len(row) for row in by_clique]]
    )
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
    values = np.ones(len(columns))
    for position, rows in enumerate(sizes, 1):
        values[position * m * k : (position + 1) * m * k] = np.tile(rows.values, k)
    matrix = csr_array((values, columns, starts), shape=(len(lengths), m * k))
    lower = np.concatenate([np.ones(m), *(rows.least for rows in sizes), np.full(n_pairs, -np.inf)])
    upper = np.concatenate([np.ones(m), *(rows.most for rows in sizes), np.ones(n_pairs)])
    return BinaryProgramme(np.zeros(m * k), matrix, lower, upper)


def with_fixed(rows: BinaryProgramme, blocks: list[int], k: int) -> BinaryProgramme:
    """Return the programme with blocks in the clusters 0, 1, ..."""
    at = np.array(blocks) * k + np.arange(len(blocks))
    one = np.ones(len(at))
    return _with_rows(rows, rows.objective, at[:, None], one[:, None], one, one)


def with_soft_pairs(rows: BinaryProgramme, k: int, soft: SoftBlocks) -> BinaryProgramme:
    """Return the programme with costs |w| y_p and |w| z_pc of the soft pairs p = ij.

        x_ic + x_jc - y_p <= 1   for soft cannot-links and clusters c,
        x_ic - x_jc - z_pc <= 0  for soft must-links.

    A must-link has a variable for each cluster, of which a solution pays for one at most.
    """
    is_apart = soft.weights > 0.0
    n_apart, n_together = int(is_apart.sum()), int((~is_apart).sum())
    paid = np.empty((len(soft), k), np.intp)
    paid[is_apart] = rows.n_variables + np.arange(n_apart)[:, None]
    paid[~is_apart] = rows.n_variables + n_apart + np.arange(n_together * k).reshape(-1, k)
    one, other = (soft.pairs[:, end, None] * k + np.arange(k) for end in (0, 1))
    columns = np.stack([one, other, paid], axis=2).reshape(-1, 3)
    sign = np.repeat(np.where(is_apart, 1.0, -1.0), k)
    values = np.column_stack([np.ones(len(sign)), sign, np.full(len(sign), -1.0)])
    prices = soft.weights[is_apart], np.repeat(-soft.weights[~is_apart], k)
    upper = np.maximum(sign, 0.0)
    return _with_rows(
        rows,
        np.concatenate([rows.objective, *prices]),
        columns,
        values,
        np.full(len(upper), -np.inf),
        upper,
    )


def _with_rows(
    rows: BinaryProgramme,
    objective: NDArray[np.float64],
    columns: NDArray[np.intp],
    values: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
) -> BinaryProgramme:
    """Return the programme with more rows, and as many variables as the objective.

    columns, values : (q, e) the entries of each of them
    """
    whole, (q, e) = rows.matrix, columns.shape
    starts = whole.indptr[-1] + e * np.arange(1, q + 1)
    matrix = csr_array(
        (
            np.concatenate([whole.data, values.reshape(-1)]),
            np.concatenate([whole.indices, columns.reshape(-1)]),
            np.concatenate([whole.indptr, starts]),
        ),
        shape=(whole.shape[0] + q, len(objective)),
    )
    return replace(
        rows,
        objective=objective,
        matrix=matrix,
        lower=np.concatenate([rows.lower, lower]),
        upper=np.concatenate([rows.upper, upper]),
    )


def clique_cover(m: int, edges: NDArray[np.intp]) -> list[list[int]]:
    """Return cliques of a graph that cover exactly its edges.

    The graph has m vertices, and the cliques contain each of its edges (q, 2), i < j, and together
    nothing else: each is grown from the first edge in none yet, by the smallest vertices.
    """
    neighbours = NeighbourSets(m, edges)
    covered: set[tuple[int, int]] = set()
    cliques = []
    for i, j in edges.tolist():
        if (i, j) in covered:
            continue
        clique, common = [i, j], neighbours[i] & neighbours[j]
        while common:
            vertex = min(common)
            clique.append(vertex)
            common = common & neighbours[vertex]
        covered.update(combinations(sorted(clique), 2))
        cliques.append(clique)
    return cliques
