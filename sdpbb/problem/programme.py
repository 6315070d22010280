"""Binary programmes that assign blocks to clusters: limits, cannot-links, soft pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from sdpbb.problem.graph import NeighbourSets
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.backends.milp import solve_binary_programme
from sdpbb.runtime.backends.programme import BinaryProgramme, MilpSolution
from sdpbb.runtime.time_left import TimeLeft

Amounts = tuple[NDArray[np.number], NDArray[np.number], NDArray[np.number]]
"""Values (m,) of blocks, and the least (k,) and the most (k,) that clusters have of them."""


class SparseRows(NamedTuple):
    """Rows of a programme, of e entries each.

    columns : (r, e)
    values : of the entries, (r, e), (e,) or (1,)
    lower, upper : (r,) or (1,)
    """

    columns: NDArray[np.intp]
    values: NDArray[np.number]
    lower: NDArray[np.number]
    upper: NDArray[np.number | np.bool_]


def _matrix(rows: Sequence[SparseRows], n_columns: int) -> csr_array:
    """Return the rows as one sparse matrix."""
    values = [np.broadcast_to(each.values, each.columns.shape).reshape(-1) for each in rows]
    columns = np.concatenate([each.columns.reshape(-1) for each in rows])
    lengths = np.repeat(*np.transpose([each.columns.shape[::-1] for each in rows]))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    data = np.concatenate(values, dtype=np.float64)
    return csr_array((data, columns, starts), shape=(len(lengths), n_columns))


def assignment_rows(
    m: int,
    k: int,
    cannot_link: NDArray[np.intp],
    sizes: Sequence[Amounts] = (),
    fixed: Sequence[int] | NDArray[np.intp] = (),
) -> BinaryProgramme:
    """Return the binary programme of assignments of m blocks to k clusters, without costs.

    s_bc is at position b k + c.

        sum_c s_bc = 1,  least_c <= sum_b v_b s_bc <= most_c for each of sizes,
        sum_{b in Q} s_bc <= 1 for cliques Q of cannot-links (q, 2),  s_bc in {0, 1}

    fixed : blocks in the clusters 0, 1, ...: those of a clique take off the symmetry of clusters
    """
    at, one = np.arange(m * k).reshape(m, k), np.ones(1)
    rows: list[SparseRows] = [
        SparseRows(at, one, one, one),
        *(SparseRows(at.T, values, low, high) for values, low, high in sizes),
        *(
            SparseRows(at[clique].T, one, -np.inf * one, one)
            for clique in clique_cover(m, cannot_link)
        ),
        SparseRows(at[fixed, np.arange(len(fixed))][:, None], one, one, one),
    ]
    lower = np.concatenate([np.broadcast_to(each.lower, len(each.columns)) for each in rows])
    upper = np.concatenate([np.broadcast_to(each.upper, len(each.columns)) for each in rows])
    matrix = _matrix(rows, m * k)
    return BinaryProgramme(np.zeros(m * k), matrix, lower.astype(float), upper.astype(float))


def with_soft_pairs(rows: BinaryProgramme, k: int, soft: SoftBlocks) -> BinaryProgramme:
    """Return the programme with costs |w| y_p and |w| z_pc of the soft pairs p = ij.

        x_ic + x_jc - y_p <= 1   for soft cannot-links and clusters c,
        x_ic - x_jc - z_pc <= 0  for soft must-links.

    A must-link has a variable for each cluster, of which a solution pays for one at most.
    """
    is_apart = soft.weights > 0.0
    sign, n_apart = np.where(is_apart, 1.0, -1.0), int(is_apart.sum())
    paid = np.empty((len(soft), k), np.intp)
    paid[is_apart] = np.arange(n_apart)[:, None]
    paid[~is_apart] = n_apart + np.arange((len(soft) - n_apart) * k).reshape(-1, k)
    one, other = (soft.pairs[:, end, None] * k + np.arange(k) for end in (0, 1))
    columns = np.stack([one, other, rows.n_variables + paid], axis=2).reshape(-1, 3)
    values = np.repeat(np.column_stack([np.ones(len(soft)), sign, np.full(len(soft), -1.0)]), k, 0)
    prices = soft.weights[is_apart], np.repeat(-soft.weights[~is_apart], k)
    objective = np.concatenate([rows.objective, *prices])
    more = SparseRows(columns, values, np.full(len(sign) * k, -np.inf), np.repeat(sign > 0.0, k))
    whole = rows.matrix
    whole = csr_array((whole.data, whole.indices, whole.indptr), (whole.shape[0], len(objective)))
    return replace(
        rows,
        objective=objective,
        matrix=csr_array(vstack([whole, _matrix([more], len(objective))], format="csr")),
        lower=np.concatenate([rows.lower, more.lower]),
        upper=np.concatenate([rows.upper, more.upper]),
    )


def solved_within(programme: BinaryProgramme, time_left: TimeLeft) -> MilpSolution:
    """Return the solution of a binary programme in the time left.

    Raises
    ------
    BackendFailure
        If the integer programming solver fails.
    """
    seconds = time_left()
    limit = None if seconds == math.inf else max(0.01, seconds)
    return solve_binary_programme(programme, "auto", lambda: time_left() <= 0.0, limit)


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
