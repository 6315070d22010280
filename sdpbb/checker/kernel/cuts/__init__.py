"""Valid inequalities (cuts) of a certificate: their forms in a file, and their sums.

A file states the blocks of a cut; the checker computes its matrix, and proves the cut by a few
rules:

| file | rule |
| --- | --- |
| `templates.py` | integer vectors; enumeration of the partitions of a few places |
| `capacities.py` | limits on the measure of clusters: rows, and sets that they have to split |
| `lifted.py` | the lift to three blocks: pentagons, terms of soft pairs |
| `inequalities.py` | inequalities as terms, a node, and their sums |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..certificate import Take, items
from ..rejection import Rejected
from .capacities import MeasureRows, SetCliques, Sets
from .inequalities import CutSums, Group, Inequalities, NodeFacts, Reals
from .lifted import LiftedPentagons, SoftTerms
from .templates import Templates, Vectors

FORMS: tuple[type[Group], ...] = (
    Vectors,
    Templates,
    MeasureRows,
    Sets,
    SetCliques,
    LiftedPentagons,
    SoftTerms,
)
"""Forms of cuts that a file may have."""

# Pairs of blocks in all rows of vectors and templates, at most: their products take seconds.
_PRODUCTS = 2**27
# Most entries of the arrays of all cuts of m blocks: for each pair of blocks, in addition for small
# m, and in all.
_ENTRIES_PER_PAIR, _ENTRIES_FOR_FEW, _MOST_ENTRIES = 64, 6_400_000, 2**24


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cuts of a node, in groups of one form each."""

    groups: tuple[Group, ...] = ()

    @classmethod
    def read(cls, groups: Any, take: Take, m: int) -> Cuts:
        """Return the cuts of a step on m blocks; `Rejected` if a group is wrong, or too large.

        groups : lists, each of a word and the fields of the form with that word
        """
        left = min(_ENTRIES_PER_PAIR * m * m + _ENTRIES_FOR_FEW, _MOST_ENTRIES)
        found: list[Group] = []

        def rows(name: str, dtypes: tuple[str, ...], width: int) -> NDArray[Any]:
            nonlocal left
            array = take(f"{len(found)}.{name}", dtypes, range(left // width + 1), width)
            left -= array.size
            return array

        for group in items(groups, "cuts"):
            word, *values = items(group, "a group of cuts") or [None]
            form = next((form for form in FORMS if word == form.WORD), None)
            if form is None:
                words = ", ".join(form.WORD for form in FORMS)
                raise Rejected(f"cuts: expected a group that begins with one of {words}")
            found.append(form.read(values, rows, m))
            if len(found[-1]) > len(found[-1].blocks):
                raise Rejected(f"{word}: more cuts than rows of blocks")
        return cls(tuple(found))

    def written(self) -> tuple[list[list[Any]], dict[str, NDArray[Any]]]:
        """Return the groups as a file has them, and their arrays."""
        parts = [group.written() for group in self.groups]
        arrays = {
            f"{number}.{name}": array
            for number, (_, own) in enumerate(parts)
            for name, array in own.items()
        }
        return [words for words, _ in parts], arrays

    def __len__(self) -> int:
        return sum(map(len, self.groups))

    @property
    def rules_used(self) -> list[str]:
        """Names of the rules that prove the cuts, each once."""
        return list(dict.fromkeys(group.PROOF for group in self.groups))

    def sums(self, t: Reals, node: NodeFacts) -> CutSums:
        """Return the sums of the cuts with multipliers t >= 0, (number of cuts,).

        Raises
        ------
        Rejected
            Unless every cut is a valid inequality for the clusterings of the node.
        """
        found = list(self.inequalities(node))
        if sum(each.n_products for each in found) > _PRODUCTS:
            raise Rejected(f"the cuts have more than {_PRODUCTS} pairs of blocks")
        sums, begin = CutSums.zeros(node.m), 0
        for each in found:
            sums.add(each, t[begin : begin + len(each.sides)])
            begin += len(each.sides)
        return sums.symmetric()

    def inequalities(self, node: NodeFacts) -> Iterator[Inequalities]:
        """Yield the inequalities of each group; `Rejected` if one is not valid."""
        terms = [group.link for group in self.groups if isinstance(group, SoftTerms)]
        if len(set(terms)) < len(terms):
            # Terms of a pair share its price, and a group divides it among its own terms only.
            raise Rejected("two groups of soft pairs of the same kind; expected one")
        for group in self.groups:
            if any((each < 0).any() or (each >= node.m).any() for each in group.numbers):
                raise Rejected(f"a cut has a block outside of 0..{node.m - 1}")
            yield group.inequalities(node)
