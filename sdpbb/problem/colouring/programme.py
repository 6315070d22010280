"""Colourings as the solutions of a binary programme."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu

from sdpbb.runtime.backends.programme import BinaryProgramme


def colouring_programme(
    graph: csr_array,
    k: int,
    objective: NDArray[np.float64],
    fixed: NDArray[np.intp] | None = None,
) -> BinaryProgramme:
    """Return the colourings of a graph with k colours as the solutions of a binary programme.

    minimise    sum_{v, c} objective_vc x_vc
    subject to  sum_c x_vc = 1          for every vertex v,
                x_uc + x_vc <= 1        for every edge uv and colour c,
                x_vc in {0, 1}, x_vc at position v k + c.

    Parameters
    ----------
    k : number of colours
    objective : (m, k)
    fixed : (w,) vertices to have the colours 0..w-1, w <= k, or None. Where the objective does not
        tell the colours apart, fixing those of a clique takes off their symmetry.
    """
    m = graph.shape[0]
    u, v = (ends.astype(np.intp) for ends in triu(graph, format="csr").nonzero())
    colours = np.arange(k)
    edges = np.stack([u[:, None] * k + colours, v[:, None] * k + colours], axis=-1)
    singles = np.empty(0, np.intp) if fixed is None else fixed * k + np.arange(len(fixed))
    columns = np.concatenate([np.arange(m * k), edges.reshape(-1), singles])
    lengths = np.repeat([k, 2, 1], [m, len(u) * k, len(singles)])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    matrix = csr_array((np.ones(len(columns)), columns, starts), shape=(len(lengths), m * k))
    lower = np.repeat([1.0, -np.inf, 1.0], [m, len(u) * k, len(singles)])
    return BinaryProgramme(objective.reshape(-1), matrix, lower, np.ones(len(lengths)))
