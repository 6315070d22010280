"""Binary programmes that assign blocks to clusters: limits, cannot-links, soft pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array, eye_array, kron, vstack

from sdpbb.problem.graph import NeighbourSets
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.backends.programme import BinaryProgramme

Amounts = tuple[NDArray[np.number], NDArray[np.number], NDArray[np.number]]
"""Values (m,) of blocks, and the least (k,) and the most (k,) for sums over clusters."""


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

    fixed : blocks assigned to the clusters 0, 1, ...; a clique here breaks the symmetry of clusters
    """
    cliques = clique_cover(m, cannot_link)
    of_clique = np.repeat(np.arange(len(cliques)), list(map(len, cliques)))
    members = np.concatenate([np.empty(0, np.intp), *cliques]).astype(np.intp)
    of_cliques = _matrix(of_clique, members, 1.0, (len(cliques), m))
    of_sizes = np.array([values for values, _, _ in sizes], np.float64).reshape(-1, m)
    at = np.asarray(fixed, np.intp) * k + np.arange(len(fixed))
    matrix = vstack(
        [
            kron(eye_array(m), np.ones((1, k)), "csr"),
            *(kron(rows, eye_array(k), "csr") for rows in (csr_array(of_sizes), of_cliques)),
            _matrix(np.arange(len(fixed)), at, 1.0, (len(fixed), m * k)),
        ],
        format="csr",
    )
    least, most = ([each[end] for each in sizes] for end in (1, 2))
    n_shared, ones, one = len(cliques) * k, np.ones(m), np.ones(len(fixed))
    lower = np.concatenate([ones, *least, np.full(n_shared, -np.inf), one])
    upper = np.concatenate([ones, *most, np.ones(n_shared), one])
    return BinaryProgramme(np.zeros(m * k), csr_array(matrix), lower, upper)


def with_soft_pairs(rows: BinaryProgramme, k: int, soft: SoftBlocks) -> BinaryProgramme:
    """Return the programme with costs |w| y_p and |w| z_pc of the soft pairs p = ij.

        x_ic + x_jc - y_p <= 1   for soft cannot-links and clusters c,
        x_ic - x_jc - z_pc <= 0  for soft must-links.

    A must-link has a variable for each cluster; a solution pays for at most one of them.
    """
    is_apart, q = soft.weights > 0.0, len(soft)
    n_apart = int(is_apart.sum())
    paid = np.empty((q, k), np.intp)
    paid[is_apart] = np.arange(n_apart)[:, None]
    paid[~is_apart] = n_apart + np.arange((q - n_apart) * k).reshape(-1, k)
    prices = np.concatenate([soft.weights[is_apart], np.repeat(-soft.weights[~is_apart], k)])
    signs = np.column_stack([np.ones(q), np.where(is_apart, 1.0, -1.0)])
    shape = q, rows.n_variables // k
    ends = _matrix(np.repeat(np.arange(q), 2), soft.pairs.reshape(-1), signs.reshape(-1), shape)
    pays = _matrix(np.arange(q * k), paid.reshape(-1), -1.0, (q * k, len(prices)))
    matrix = block_array(
        [[rows.matrix, None], [kron(ends, eye_array(k), "csr"), pays]], format="csr"
    )
    return replace(
        rows,
        objective=np.concatenate([rows.objective, prices]),
        matrix=csr_array(matrix),
        lower=np.concatenate([rows.lower, np.full(q * k, -np.inf)]),
        upper=np.concatenate([rows.upper, np.repeat(is_apart, k)]),
    )


def _matrix(
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    values: NDArray[np.float64] | float,
    shape: tuple[int, int],
) -> csr_array:
    """Return a sparse matrix of entries at rows (e,) and columns (e,)."""
    return csr_array((np.broadcast_to(values, len(rows)), (rows, columns)), shape)


def clique_cover(m: int, edges: NDArray[np.intp]) -> list[list[int]]:
    """Return cliques of a graph that together contain each of its edges.

    The graph has m vertices and edges (q, 2), i < j. Each clique starts from the first edge that is
    not covered yet, and grows by the smallest vertices.
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
