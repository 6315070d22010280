"""Strong branching: the children of several candidates are bounded for a short while."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.certified import BoundProof
from sdpbb.search.branching import product_score
from sdpbb.search.node import Fixings, Node, Pair
from sdpbb.search.tolerances import Tolerances

# A gain counts at least as this share of the distance to the cutoff, so that a product of gains
# does not vanish with one of them.
LEAST_GAIN = 1e-3


@dataclass
class PseudoCosts:
    """What probing has found before: the gains of a pair's two children, as shares of the distance
    between their parent's bound and the cutoff. A pair that comes up again in another part of the
    tree is not probed again.

    Source: T. Achterberg, Constraint Integer Programming (2007), sections 5.3 and 5.7; kept per
    pair, as there are no variables whose fractional part could tell a unit of change.
    """

    gains: dict[Pair, tuple[float, float]] = field(default_factory=dict)


@dataclass
class Probing:
    """The candidates of one node, while their children are probed.

    bounds : per child that was probed, what is proven for it; None if it holds no clustering
    proofs : of these bounds, where they are kept
    waiting : children not yet given to a worker
    """

    node: Node
    candidates: tuple[Pair, ...]
    bounds: dict[tuple[Pair, bool], ProvenBound | None] = field(default_factory=dict)
    proofs: dict[tuple[Pair, bool], BoundProof | None] = field(default_factory=dict)
    waiting: list[tuple[Pair, bool]] = field(default_factory=list)
    n_in_flight: int = 0

    @classmethod
    def of(cls, node: Node, candidates: tuple[Pair, ...], known: PseudoCosts) -> Probing:
        """Probe all candidates that are not known; none if that leaves nothing to compare."""
        unknown = [pair for pair in candidates if pair not in known.gains]
        if len(candidates) == 1:
            unknown = []
        waiting = [(pair, together) for pair in reversed(unknown) for together in (False, True)]
        return cls(node, candidates, waiting=waiting)

    @property
    def is_finished(self) -> bool:
        return not self.waiting and not self.n_in_flight

    def fixings(self, tolerances: Tolerances, upper: float) -> Fixings:
        """What follows where one child of a pair holds no clustering, or none that is better: the
        pair is linked the other way."""
        links: dict[bool, list[Pair]] = {True: [], False: []}
        below = math.inf
        for pair, together in self.refuted(tolerances, upper):
            links[not together].append(pair)
            bound = self.bounds[pair, together]
            below = below if bound is None else min(below, bound.value)
        must_link, cannot_link = (
            np.array(links[side], np.intp).reshape(-1, 2) for side in (True, False)
        )
        return Fixings(must_link, cannot_link, below)

    def refuted(self, tolerances: Tolerances, upper: float) -> list[tuple[Pair, bool]]:
        """The children that hold no clustering, or none that is better."""
        return [
            child
            for child, bound in self.bounds.items()
            if bound is None or tolerances.closes(bound, upper)
        ]

    def choose(
        self, known: PseudoCosts, cutoff: float
    ) -> tuple[Pair, ProvenBound | None, ProvenBound | None]:
        """The candidate with the best score, and what is proven for its two children (None: it
        holds no clustering); remembers all gains."""
        for pair in self.candidates:
            if (pair, True) in self.bounds:
                known.gains[pair] = self._gain(pair, True, cutoff), self._gain(pair, False, cutoff)

        def score(pair: Pair) -> float:
            return product_score(known.gains.get(pair, (0.0, 0.0)), LEAST_GAIN)

        best = max(self.candidates, key=score)  # the first of equals
        together, apart = (self.bounds.get((best, side), self.node.lower) for side in (True, False))
        return best, together, apart

    def _gain(self, pair: Pair, together: bool, cutoff: float) -> float:
        bound, lower = self.bounds[pair, together], self.node.lower.value
        if bound is None or cutoff <= lower:
            return 1.0
        return min(1.0, (bound.value - lower) / (cutoff - lower))

    def tasks(self) -> Iterator[tuple[Pair, bool]]:
        """Children to probe, in order, as long as the caller takes them."""
        while self.waiting:
            self.n_in_flight += 1
            yield self.waiting.pop()
