"""Valid inequalities of a certificate: the forms that a file may have, and the sums of its cuts.

Their matrices are computed from the blocks that they are made of, so that they are valid by
construction. Few rules prove all of them:

| file | rule |
| --- | --- |
| `templates.py` | integer vectors; cliques; enumeration of the partitions of a few places |
| `measures.py` | rows of a measure, traces of sizes, cliques of listed sizes |
| `capacities.py` | sets that clusters within limits have to split |
| `lifted.py` | the lift to three blocks: pentagons, terms of soft pairs |
| `inequalities.py` | inequalities as terms, a node, and their sums |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archive import NUMBERS, PARTS
from ..log import StepArrays, items
from ..rejection import Rejected
from .capacities import SetCliques, Sets
from .inequalities import MOST_ENTRIES, CutSums, Group, Inequalities, NodeFacts, Reals
from .lifted import LiftedPentagons, SoftTerms
from .measures import ListedCliques, MeasureRows, Traces
from .templates import Cliques, Templates, Vectors

FORMS: tuple[type[Group], ...] = (
    Vectors,
    Cliques,
    Templates,
    MeasureRows,
    Traces,
    ListedCliques,
    Sets,
    SetCliques,
    LiftedPentagons,
    SoftTerms,
)
"""Forms of cuts that a file may have."""

# Pairs of blocks in all rows of templates and cliques, at most: their products take seconds.
_PRODUCTS = 2**27
# The arrays of all cuts of m blocks have so many entries for each pair, and for small m so many.
_ENTRIES_PER_PAIR, _ENTRIES_FOR_FEW = 64, 6_400_000


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cuts of a node: groups, and the blocks, parts and estimates of all, group after group.

    blocks : int32; parts : int64; estimates : (number, 3) int32
    """

    groups: tuple[Group, ...] = ()
    blocks: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    parts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    estimates: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 3), np.int32))

    @classmethod
    def read(cls, groups: Any, arrays: StepArrays, m: int, k: int) -> Cuts:
        """Return the cuts of a step on m blocks; `Rejected` if they are none, or take much memory.

        groups : lists, each of a word and what the group of that word has
        """
        found = tuple(_group(items(group, "a group of cuts")) for group in items(groups, "cuts"))
        blocks = sum(group.n_blocks(k) for group in found)
        parts, estimates = (
            sum(getattr(group, name) for group in found) for name in ("n_parts", "n_estimates")
        )
        most = min(_ENTRIES_PER_PAIR * m * m + _ENTRIES_FOR_FEW, MOST_ENTRIES)
        if blocks + parts + estimates > most:
            raise Rejected(f"the cuts have more than {most} entries")
        none = cls()
        return cls(
            found,
            arrays.take("blocks", NUMBERS, blocks) if blocks else none.blocks,
            arrays.take("parts", PARTS, parts) if parts else none.parts,
            arrays.take("estimates", NUMBERS, estimates, 3) if estimates else none.estimates,
        )

    def written(self) -> tuple[list[list[Any]], dict[str, NDArray[Any]]]:
        """Return the groups as a file has them, and the arrays that are not empty."""
        arrays: dict[str, NDArray[Any]] = {
            "blocks": self.blocks,
            "parts": self.parts,
            "estimates": self.estimates,
        }
        groups = [group.written() for group in self.groups]
        return groups, {name: array for name, array in arrays.items() if len(array)}

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
        if (self.blocks < 0).any() or (self.blocks >= node.m).any():
            raise Rejected(f"a cut has a block outside of 0..{node.m - 1}")
        terms = [group.link for group in self.groups if isinstance(group, SoftTerms)]
        if len(set(terms)) < len(terms):
            # Terms of a pair share its price, which a group knows of its own alone.
            raise Rejected("two groups of soft pairs of the same kind; expected one")
        block = part = estimate = 0
        for group in self.groups:
            ends = block + group.n_blocks(node.k), part + group.n_parts
            last = estimate + group.n_estimates
            yield group.inequalities(
                node,
                self.blocks[block : ends[0]],
                self.parts[part : ends[1]],
                self.estimates[estimate:last],
            )
            (block, part), estimate = ends, last


def _group(values: list[Any]) -> Group:
    for form in FORMS:
        if values and values[0] == form.WORD:
            return form.read(values[1:])
    words = ", ".join(form.WORD for form in FORMS)
    raise Rejected(f"cuts: expected a group that begins with one of {words}")
