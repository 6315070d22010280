"""Proofs that no clustering satisfies the constraints, and merges that cannot-links force."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem.graph import NeighbourSets, connected_components, shortest_path
from sdpbb.problem.textfile import first_of, name_in_file
from sdpbb.runtime.archive import stored
from sdpbb.runtime.values import counted


@stored
class InfeasibilityKind(Enum):
    """Argument that proves an instance (or a node of the tree) infeasible."""

    CANNOT_LINK_IN_BLOCK = "a cannot-link between points that must be together"
    ODD_CYCLE = "an odd cycle of cannot-links with k = 2"
    CLIQUE = "more than k blocks that are all cannot-linked to each other"
    TOO_FEW_BLOCKS = "fewer than k blocks"
    NOT_COLOURABLE = "the cannot-link graph has no colouring with k colours"
    """The verdict of an integer programming solver in floating point, on 0-1 data."""
    BLOCK_NOT_ALLOWED = "a point, or points that must be together, that no cluster may hold"
    TOO_MUCH_FOR_K = "more points, or pairs that must be together, than k clusters may hold"
    SIZES = "k clusters within the limits cannot hold all points"
    EXHAUSTED = "no clustering satisfies the constraints on clusters"
    """The search tree has been enumerated."""


@stored
@dataclass(frozen=True)
class Infeasibility:
    """Proof that no clustering exists.

    Pairs that constraints on clusters forbid count as cannot-links.

    kind : kind of the proof
    points : the row numbers of the points in the proof
    n_nodes : number of nodes of the search tree, for EXHAUSTED
    rows : the user's names of these points; (): messages show row numbers
    """

    kind: InfeasibilityKind
    points: tuple[int, ...] = ()
    n_nodes: int = 0
    rows: tuple[str, ...] = field(default=(), compare=False)

    def to_dict(self) -> dict[str, object]:
        """Return plain values: the kind's name, all points, and the text."""
        return {"kind": self.kind.name.lower(), "points": list(self.points), "text": str(self)}

    def __str__(self) -> str:
        if self.n_nodes:
            nodes = counted(self.n_nodes, "node")
            return f"{self.kind.value}, proven by branching over {nodes}"
        if not self.points:
            return self.kind.value
        names = tuple(map(name_in_file, self.rows)) or tuple(map(str, self.points))
        return f"{self.kind.value} (points {first_of(names, 12)})"


# Enumerating (k-1)-cliques is exponential in dense graphs. Propagation is not needed for
# correctness, so it stops after this number of common neighbours.
CLIQUE_BUDGET = 100_000


def forced_merges(
    n_blocks: int, cannot_link: NDArray[np.intp], k: int
) -> NDArray[np.intp] | Infeasibility:
    """Return pairs of blocks (p, 2) that share a cluster in every clustering with k clusters.

    Take a cannot-link clique of k - 1 blocks. Two blocks that are both cannot-linked to each of its
    members share the one remaining cluster. If they are cannot-linked themselves, the k + 1 blocks
    are a clique, and no clustering exists. For k = 2 the closure of the rule is the 2-colouring of
    each component, computed at once.

    The array is empty if nothing is forced. `Infeasibility.points` are block numbers.
    """
    if k == 1:
        return _merge_all(n_blocks, cannot_link)
    if k == 2:
        return _two_colouring(n_blocks, cannot_link)
    found = clique_merges(NeighbourSets(n_blocks, cannot_link), k)
    return found if isinstance(found, Infeasibility) else found[:, :2]


def clique_merges(neighbours: NeighbourSets, k: int) -> NDArray[np.intp] | Infeasibility:
    """Return merges of blocks as rows (t, k + 1): i, j, and the clique that forces them together.

    Each block j is in one row only. Or return the Infeasibility, with the k + 1 blocks of a clique.
    """
    rows: dict[int, tuple[int, ...]] = {}
    for clique, common in _shared_cliques(neighbours, k - 1):
        for i in common:
            adjacent = common & neighbours[i]
            if adjacent:
                return Infeasibility(InfeasibilityKind.CLIQUE, (*clique, i, min(adjacent)))
        least = min(common)
        rows.update((j, (least, j, *clique)) for j in common if j > least and j not in rows)
    return np.array(sorted(rows.values()), np.intp).reshape(-1, k + 1)


def _merge_all(n_blocks: int, cannot_link: NDArray[np.intp]) -> NDArray[np.intp] | Infeasibility:
    if len(cannot_link):
        return Infeasibility(InfeasibilityKind.CLIQUE, tuple(cannot_link[0].tolist()))
    others = np.arange(1, n_blocks, dtype=np.intp)
    return np.column_stack([np.zeros_like(others), others])


def _two_colouring(
    n_blocks: int, cannot_link: NDArray[np.intp]
) -> NDArray[np.intp] | Infeasibility:
    """Return the components of the bipartite double cover.

    Its vertices are (v, side), and a cannot-link joins opposite sides. A block lies on an odd cycle
    if both of its copies are in one component.
    """
    side = np.array([0, n_blocks])
    cover = np.concatenate([cannot_link + side, cannot_link + side[::-1]])
    component = connected_components(2 * n_blocks, cover)
    odd = np.flatnonzero(component[:n_blocks] == component[n_blocks:])
    if len(odd):
        walk = shortest_path(2 * n_blocks, cover, int(odd[0]), int(odd[0]) + n_blocks)
        return Infeasibility(
            InfeasibilityKind.ODD_CYCLE, _first_cycle([v % n_blocks for v in walk])
        )
    # Both copies of a component hold the same merges; the copy of (v, 0) is enough.
    _, first, inverse = np.unique(component[:n_blocks], return_index=True, return_inverse=True)
    partner = first[inverse.reshape(-1)]
    blocks = np.arange(n_blocks)
    moved = partner != blocks
    return np.column_stack([partner[moved], blocks[moved]]).astype(np.intp)


def _first_cycle(walk: list[int]) -> tuple[int, ...]:
    """Return the part of a closed walk from the first repeated vertex to its repetition.

    The walk is a shortest one between the two copies of a vertex. So the repetition is the other
    copy of the repeated vertex, and the length of the part is odd.
    """
    met: dict[int, int] = {}
    for at, vertex in enumerate(walk):
        if vertex in met:
            return tuple(walk[met[vertex] : at])
        met[vertex] = at
    raise AssertionError("the walk is not closed")


def _shared_cliques(
    neighbours: NeighbourSets, order: int
) -> Iterator[tuple[tuple[int, ...], set[int]]]:
    """Yield each clique of the given order that has at least two common neighbours, and these.

    The enumeration ends when CLIQUE_BUDGET is spent.
    """
    budget = CLIQUE_BUDGET
    for start in np.flatnonzero(neighbours.n_ends > order)[::-1].tolist():
        if len(neighbours[start]) <= order:
            continue
        # A clique, and the common neighbours of all its members but the last. Intersecting later
        # saves memory: waiting cliques share their sets.
        stack: list[tuple[tuple[int, ...], set[int]]] = [((start,), set(neighbours[start]))]
        while stack and budget > 0:
            clique, before = stack.pop()
            common = before & neighbours[clique[-1]]
            budget -= 1 + len(common)
            if len(common) < order - len(clique) + 2:
                continue
            if len(clique) == order:
                if len(common) >= 2:
                    yield clique, common
                continue
            stack += [((*clique, j), common) for j in common if j > clique[-1]]
        if budget <= 0:
            return
