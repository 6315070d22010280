"""Batches of queries, none of which constraints, or answers to the others, can make superfluous."""

from __future__ import annotations

from sdpbb.problem import Infeasibility, contract
from sdpbb.questions.queries.standing import Standing


class Batch:
    """Pairs of blocks that are asked about together.

    The answers to some can imply that to another if its blocks are connected by pairs that are
    asked about and at most one known cannot-link: must-links all the way say "together", and with
    one cannot-link on the way "apart". No such pair is added. What constraints imply already, as
    far as propagation finds it, is not added either.
    """

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        contraction = standing.contraction
        self._group = list(range(contraction.n_blocks))
        self._members = [[block] for block in self._group]
        self._apart: list[set[int]] = [set() for _ in self._group]
        for i, j in contraction.cannot_link.tolist():
            self._apart[i].add(j)
            self._apart[j].add(i)
        # Blocks that are the clusters, or one cluster: there is one clustering only.
        self._is_decided = contraction.k in (1, contraction.n_blocks)
        self.pairs: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def is_full(self) -> bool:
        """True if every further answer is or may come to be implied."""
        return self._is_decided or len(self.pairs) == len(self._group) - 1

    def holds(self, block: int) -> bool:
        """Return whether a pair of the batch holds the block."""
        return len(self._members[self._group[block]]) > 1

    def add(self, i: int, j: int) -> bool:
        """Add a pair of blocks, unless its answer is or may come to be implied; say whether."""
        a, b = self._group[i], self._group[j]
        if self.is_full or a == b or self._are_apart(a, b) or self._is_implied(i, j):
            return False
        if len(self._members[a]) < len(self._members[b]):
            a, b = b, a
        for block in self._members[b]:
            self._group[block] = a
        self._members[a] += self._members[b]
        self._members[b] = []
        self._apart[a] |= self._apart[b]
        self.pairs.append((i, j))
        return True

    def _are_apart(self, a: int, b: int) -> bool:
        """Return whether a cannot-link is known between two groups of connected blocks."""
        return any(self._group[block] == b for block in self._apart[a])

    def _is_implied(self, i: int, j: int) -> bool:
        """Return whether propagation finds one of the answers impossible."""
        instance = self._standing.instance
        first = self._standing.contraction.representatives
        pair = [(int(first[i]), int(first[j]))]
        answers = (contract(instance, must_link=pair), contract(instance, cannot_link=pair))
        return any(isinstance(answer, Infeasibility) for answer in answers)
