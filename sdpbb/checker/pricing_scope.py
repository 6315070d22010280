"""Scope of nodes of the search for a cluster of low value: the blocks that matter to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .pricing_problem import CheckedPricing, Integers, Marks, Reals


@dataclass(frozen=True, eq=False)
class Scope:
    """The c of all m blocks that matter to some nodes, those of a clique side by side.

    blocks : (c,) their numbers
    problem : of them only
    clique : (c,) non-decreasing numbers of cliques from 0 on: no X holds two blocks of one
    starts : where each begins
    linked, apart, far : (c, c) 1.0 for pairs that are cannot-linked; not both in X; not near
    has_links : (c,)
    """

    blocks: Integers
    problem: CheckedPricing
    clique: Integers
    starts: Integers
    linked: Reals
    apart: Reals
    far: Reals
    has_links: Marks

    @classmethod
    def of(cls, problem: CheckedPricing, blocks: Integers, clique: Integers | None = None) -> Scope:
        """The scope of blocks with cliques (c,); without any given, cliques are looked for."""
        chosen = problem.select(blocks)
        if clique is None:
            apart = ~chosen.together
            np.fill_diagonal(apart, False)
            clique = clique_partition(apart)
            order = np.argsort(clique, kind="stable")
            return cls.of(problem, blocks[order], clique[order])
        first = np.concatenate([[True], clique[1:] != clique[:-1]])
        linked = chosen.linked.astype(np.float64)
        apart, far = ~chosen.together, ~chosen.near
        np.fill_diagonal(apart, False)
        np.fill_diagonal(far, False)
        return cls(
            blocks,
            chosen,
            np.cumsum(first) - 1,
            np.flatnonzero(first),
            linked,
            apart.astype(np.float64),
            far.astype(np.float64),
            some(chosen.linked),
        )

    def select(self, columns: Integers, whole: CheckedPricing) -> Scope:
        """The scope of some of its blocks, by their position."""
        return Scope.of(whole, self.blocks[columns], self.clique[columns])


def clique_partition(apart: Marks) -> Integers:
    """(m,) the number of a clique for each vertex of a graph without loops: vertices by decreasing
    degree, each in the first clique all of which it is adjacent to."""
    number = np.empty(len(apart), dtype=np.intp)
    common = np.ones((len(apart), len(apart)), dtype=np.bool_)  # adjacent to all of a clique
    count = 0
    for vertex in np.argsort(-apart.sum(axis=1), kind="stable").tolist():
        clique = int(common[: count + 1, vertex].argmax())
        count = max(count, clique + 1)
        number[vertex] = clique
        common[clique] &= apart[vertex]
    return number


def some(marks: Marks) -> Marks:
    """(s,) whether any of (s, c) is marked."""
    return np.asarray(marks.any(axis=1))
