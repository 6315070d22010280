"""The open nodes, the incumbent and the global lower bound."""

from __future__ import annotations

import heapq
import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import SafeBound
from sdpbb.search.node import Node, Outcome
from sdpbb.search.tolerances import Tolerances


class Tree:
    """What is proven about the whole instance.

    Every clustering is in an open node, in the node that is being evaluated, or in one that was
    closed; so the least of these nodes' bounds is a bound for all. Nodes closed by the tolerance
    count with their own bounds, infeasible nodes hold no clustering, and the incumbent is a bound
    on what is worth knowing.
    """

    def __init__(self, root: Node, tolerances: Tolerances) -> None:
        self.tolerances = tolerances
        self.upper = math.inf
        self.labels: NDArray[np.intp] | None = None
        self.source = ""
        self._open: list[tuple[float, int, Node]] = []
        self._running: SafeBound | None = None
        self._closed = math.inf
        self._n_created = 0
        self._push(root)

    @property
    def n_open(self) -> int:
        """Nodes not finished yet, the one being evaluated included."""
        return len(self._open) + (self._running is not None)

    @property
    def lower(self) -> float:
        """Proven for every clustering of the instance; inf if none is left."""
        bounds = [self._closed, self.upper]
        if self._open:
            bounds.append(self._open[0][0])
        if self._running is not None:
            bounds.append(self._running.value)
        return min(bounds)

    @property
    def gap(self) -> float:
        """Between the global bound and the incumbent, relative to the incumbent."""
        return self.tolerances.relative_gap(self.lower, self.upper)

    @property
    def is_closed(self) -> bool:
        """Whether the incumbent is proven to be optimal, to the tolerance."""
        return self.labels is not None and self.lower >= self.tolerances.cutoff(self.upper)

    def next_node(self) -> Node | None:
        """Take the open node with the least bound; None if all nodes are finished."""
        if not self._open:
            return None
        node = heapq.heappop(self._open)[2]
        self._running = node.lower
        return node

    def running(self, lower: SafeBound) -> None:
        """The node that is being evaluated has a better bound."""
        self._running = lower

    def close(self, lower: SafeBound) -> None:
        """To the tolerance, no clustering of a node with this bound beats the incumbent."""
        assert self.tolerances.closes(lower, self.upper)
        self._running = None
        self._closed = min(self._closed, lower.value)

    def drop(self) -> None:
        """The node being evaluated holds no clustering."""
        self._running = None

    def put_back(self, node: Node, lower: SafeBound) -> None:
        """The node being evaluated was left unfinished."""
        self._running = None
        self._push(replace(node, lower=lower))

    def split(self, node: Node, outcome: Outcome) -> None:
        """Replace the node being evaluated by its must-link and its cannot-link child."""
        self._running = None
        assert outcome.pair is not None
        together, apart = ((outcome.pair,), ()), ((), (outcome.pair,))
        known = outcome.feasible
        i, j = outcome.pair
        for (must_link, cannot_link), keeps in (
            (together, known is not None and known[i] == known[j]),
            (apart, known is not None and known[i] != known[j]),
        ):
            child = Node(
                number=self._n_created,
                must_link=node.must_link + must_link,
                cannot_link=node.cannot_link + cannot_link,
                blocks=outcome.blocks,
                feasible=known if keeps else None,
                lower=outcome.lower,
                warm_start=outcome.warm_start,
            )
            self._push(child)

    def offer(self, labels: NDArray[np.intp] | None, cost: float, source: str) -> bool:
        """Take a clustering if it improves the incumbent; whether it did."""
        if labels is None or not self.tolerances.improves(cost, self.upper):
            return False
        self.upper, self.labels, self.source = cost, labels, source
        self._close_open_nodes()
        return True

    def _close_open_nodes(self) -> None:
        """Close what the incumbent allows, which also frees the warm starts held for it."""
        cutoff = self.tolerances.cutoff(self.upper)
        closed = [bound for bound, _, _ in self._open if bound >= cutoff]
        self._closed = min([self._closed, *closed])
        self._open = [entry for entry in self._open if entry[0] < cutoff]
        heapq.heapify(self._open)

    def _push(self, node: Node) -> None:
        self._n_created = max(self._n_created, node.number + 1)
        heapq.heappush(self._open, (node.lower.value, node.number, node))
