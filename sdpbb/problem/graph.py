"""Graphs of must-links and cannot-links: components, paths, spanning forests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def connected_components(n: int, pairs: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the component of each of n vertices, (n,), under undirected edges (p, 2).

    Components are numbered 0, 1, ... by their smallest vertex.
    """
    # Not SciPy's: importing it takes longer than reading an instance and reporting its errors.
    vertices = np.arange(n)
    root = vertices.copy()  # the smallest vertex known in the component of each vertex
    i, j = pairs.T
    while len(i):
        low, high = np.minimum(i, j), np.maximum(i, j)
        np.minimum.at(root, high, low)
        while not np.array_equal(root, upper := root[root]):
            root = upper
        i, j = root[low], root[high]
        are_apart = i != j
        i, j = i[are_apart], j[are_apart]
    number = np.cumsum(root == vertices) - 1
    components: NDArray[np.intp] = number[root]
    return components


def distinct_edges(pairs: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the undirected edges (p, 2) with i < j, sorted, each once."""
    if not len(pairs):
        return pairs.reshape(-1, 2)
    i, j = pairs.T
    width = int(pairs.max()) + 1
    keys = np.minimum(i, j) * width + np.maximum(i, j)
    keys.sort()  # np.unique hashes, and is five times slower for millions
    return np.column_stack(np.divmod(keys[np.diff(keys, prepend=-1) > 0], width))


class NeighbourSets:
    """Neighbours of each of n vertices under undirected edges (p, 2), as sets.

    A set is made at its first use: of a million vertices, few are used.

    Attributes
    ----------
    n_ends : (n,) number of ends of edges at each vertex, repeated edges included
    """

    def __init__(self, n: int, pairs: NDArray[np.intp]) -> None:
        ends = pairs.reshape(-1)
        self.n_ends: NDArray[np.intp] = np.bincount(ends, minlength=n)
        self._stop = np.cumsum(self.n_ends)
        self._others = pairs[:, ::-1].reshape(-1)[np.argsort(ends, kind="stable")]
        self._made: dict[int, set[int]] = {}

    def __len__(self) -> int:
        """Return the number n of vertices."""
        return len(self.n_ends)

    def __getitem__(self, vertex: int) -> set[int]:
        """Return the neighbours of a vertex."""
        found = self._made.get(vertex)
        if found is None:
            stop = self._stop[vertex]
            found = set(self._others[stop - self.n_ends[vertex] : stop].tolist())
            self._made[vertex] = found
        return found


def shortest_path(n: int, pairs: NDArray[np.intp], i: int, j: int) -> tuple[int, ...]:
    """Return a shortest path from i to j, both included, through undirected edges (p, 2).

    A path must exist.
    """
    from scipy.sparse import coo_array  # seldom needed; both imports take a tenth of a second
    from scipy.sparse.csgraph import breadth_first_order

    graph = coo_array((np.ones(len(pairs), np.int8), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    before = breadth_first_order(graph.tocsr(), j, directed=False)[1]
    path = [i]
    while path[-1] != j:
        path.append(int(before[path[-1]]))
    return tuple(path)


def by_first_occurrence(labels: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return labels (n,) of the same groups in canonical form.

    Groups are numbered 0, 1, ... by their first members.
    """
    n = len(labels)
    if n and not (labels.min() >= 0 and labels.max() < n):
        labels = np.unique(labels, return_inverse=True)[1].reshape(-1)
    # Linear in n: sorting a million labels takes as long as assigning them.
    first = np.full(n, n)
    np.minimum.at(first, labels, np.arange(n))
    used = np.flatnonzero(first < n)
    rank = np.empty(n, np.intp)
    rank[used[np.argsort(first[used])]] = np.arange(len(used))
    renumbered: NDArray[np.intp] = rank[labels]
    return renumbered


def spanning_forest(n: int, edges: NDArray[np.intp]) -> list[int]:
    """Return the ascending positions of edges (p, 2) that form a spanning forest of n vertices.

    Each of these edges joins two trees of the edges before it.
    """
    from scipy.sparse import coo_array  # as above
    from scipy.sparse.csgraph import minimum_spanning_tree

    first = np.unique(np.sort(edges, axis=1) @ [n, 1], return_index=True)[1]
    graph = coo_array((first + 1.0, edges[first].T), shape=(n, n))  # the first edges weigh least
    chosen = np.sort(minimum_spanning_tree(graph.tocsr()).data - 1.0)
    positions: list[int] = chosen.astype(np.intp).tolist()
    return positions
