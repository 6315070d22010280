"""Valid inequalities of a certificate: the families that a file may have, and the sums of its cuts.

Their matrices are computed from the blocks that they are made of, so that they are valid by
construction. Few rules prove all of them:

| file | rule |
| --- | --- |
| `templates.py` | integer vectors; cliques; enumeration of the partitions of a few places |
| `families.py` | the cuts that are templates: stars, cliques, complements, limits on weights |
| `measures.py` | rows of a measure, traces of sizes, cliques of listed sizes |
| `capacities.py` | sets that clusters within limits have to split |
| `lifted.py` | the lift to three blocks: pentagons, terms of soft pairs |
| `inequalities.py` | inequalities as terms, a node, and their sums |
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fields import ArrayKey
from ..rejection import Rejected
from . import capacities, families, lifted, measures
from .inequalities import CutSums, Family, NodeFacts, Reals, Rule


def _on_rows(name: str, columns: Any, rule: Rule, proof: str, is_optional: bool = True) -> Family:
    return Family(name, (ArrayKey(name, ("<i4",), columns),), rule, proof, is_optional)


def _on_lists(
    name: str, word: str, rule: Rule, proof: str, *more: ArrayKey, is_optional: bool = True
) -> Family:
    return Family(name, (*_lists(word), *more), rule, proof, is_optional)


def _lists(word: str, entries: str = "blocks") -> tuple[ArrayKey, ...]:
    return ArrayKey(f"{word}_start", ("<i8",)), ArrayKey(f"{word}_{entries}", ("<i4",))


def _on_sets(word: str, rule: Rule, *more: ArrayKey) -> Family:
    parts = ArrayKey(f"{word}_parts", ("<i8",))
    return _on_lists(f"{word}s", word, rule, _CAPACITIES, parts, *more)


def _leaves(word: str) -> tuple[ArrayKey, ...]:
    return ArrayKey(f"{word}_leaf_start", ("<i8",)), ArrayKey(f"{word}_leaves", ("<i4",))


_VECTORS, _ENUMERATION, _ROWS = "integer vectors", "enumeration", "rows of a measure"
_TRACES, _LISTED = "traces of sizes", "cliques of listed sizes"
_CAPACITIES, _LIFT = "capacities", "lift to three blocks"

FAMILIES: tuple[Family, ...] = (
    _on_lists("stars", "star", families.stars, _VECTORS, is_optional=False),
    _on_rows("cliques", lambda k: k + 1, families.cliques, _VECTORS, is_optional=False),
    _on_rows("complements", 3, families.complements, _ENUMERATION, is_optional=False),
    Family(
        "pentagons",
        (
            ArrayKey("pentagons", ("<i4",), 5),
            ArrayKey("estimate_start", ("<i8",)),
            ArrayKey("estimates", ("<i4",), 3),
        ),
        lifted.pentagons,
        _LIFT,
        is_optional=False,
    ),
    _on_rows("soft_cannot_links", 3, lifted.soft_cannot_links, _LIFT),
    _on_rows("soft_must_links", 3, lifted.soft_must_links, _LIFT),
    _on_rows("most_points", None, families.most_points, _ENUMERATION),
    _on_rows("least_points", None, families.least_points, _ENUMERATION),
    _on_lists("listed_sizes", "listed", measures.listed_sizes, _TRACES),
    _on_rows("most_point_rows", None, measures.most_point_rows, _ROWS),
    _on_rows("least_point_rows", None, measures.least_point_rows, _ROWS),
    _on_rows("size_pairs", 2, families.size_pairs, _ENUMERATION),
    _on_lists("largest_cliques", "largest", measures.largest_cliques, _LISTED),
    _on_lists("smallest_cliques", "smallest", measures.smallest_cliques, _LISTED),
    _on_sets("point_set", capacities.point_sets),
    _on_sets("weight_set", capacities.weight_sets),
    _on_sets("point_clique", capacities.point_cliques, *_leaves("point_clique")),
    _on_sets("weight_clique", capacities.weight_cliques, *_leaves("weight_clique")),
)
"""The families, in the order of their multipliers. New ones are added at the end."""

# Pairs of blocks in all stars and cliques, at most: their products take seconds.
_PRODUCTS = 2**27
# The arrays of all cuts of m blocks have min(64 (m^2 + 100,000), 2^24) entries together, at most.
_ENTRIES_PER_PAIR, _MAX_ENTRIES = 64, 2**24


def family_number(name: str) -> int:
    """Return the place of a family among `FAMILIES`."""
    return [family.name for family in FAMILIES].index(name)


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cuts of a node.

    arrays : by their names in a file, in its order; all that are not optional
    """

    arrays: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, k: int, arrays: Mapping[str, NDArray[Any]] | None = None) -> Cuts:
        """Return the cuts of these arrays, some of those of a file for k clusters."""
        given = {} if arrays is None else arrays
        found: dict[str, NDArray[Any]] = {}
        for family in FAMILIES:
            if not family.is_optional or any(name in given for name in family.names):
                none = family.empty(k)
                found |= {name: given.get(name, none[name]) for name in family.names}
        return cls(found)

    @property
    def present(self) -> dict[Family, list[NDArray[Any]]]:
        """Arrays of each family of which there are any."""
        return {
            family: [self.arrays[name] for name in family.names]
            for family in FAMILIES
            if family.names[0] in self.arrays
        }

    def __len__(self) -> int:
        return sum(
            family.count([array.shape for array in arrays])
            for family, arrays in self.present.items()
        )

    def sums(self, t: Reals, node: NodeFacts) -> CutSums:
        """Return the sums of the cuts with multipliers t >= 0, (number of cuts,).

        Raises
        ------
        Rejected
            Unless every cut is a valid inequality for the clusterings of the node.
        """
        require_moderate(node.m, [array.shape for array in self.arrays.values()])
        found = [family.inequalities(node, arrays) for family, arrays in self.present.items()]
        if sum(each.n_products for each in found) > _PRODUCTS:
            raise Rejected(f"the cuts have more than {_PRODUCTS} pairs of blocks")
        sums, ends = CutSums.zeros(node.m), np.cumsum([len(each.sides) for each in found])
        for each, part in zip(found, np.split(t, ends[:-1]), strict=True):
            sums.add(each, part)
        return sums.symmetric()


def cut_keys(present: Collection[str]) -> list[ArrayKey]:
    """Return the arrays of cuts in a file that has the keys `present`, in their order.

    Families that older files do not know may be missing.
    """
    return [
        key
        for family in FAMILIES
        if not family.is_optional or any(name in present for name in family.names)
        for key in family.keys
    ]


def proofs_of_cuts(shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
    """Return the rules that prove the cuts in arrays of these shapes, each once."""
    present = (
        family
        for family in FAMILIES
        if family.names[0] in shapes and family.count([shapes[name] for name in family.names])
    )
    return list(dict.fromkeys(family.proof for family in present))


def count_cuts(shapes: Mapping[str, tuple[int, ...]], m: int) -> int:
    """Return the number of cuts of m blocks in arrays of these shapes.

    `Rejected` where these would take much memory.
    """
    found = [
        (family, [shapes[name] for name in family.names])
        for family in FAMILIES
        if family.names[0] in shapes
    ]
    require_moderate(m, itertools.chain.from_iterable(these for _, these in found))
    return sum(family.count(these) for family, these in found)


def require_moderate(m: int, shapes: Iterable[tuple[int, ...]]) -> None:
    """Raise `Rejected` where arrays of these shapes, of the cuts of m blocks, take much memory."""
    most = min(_ENTRIES_PER_PAIR * (m * m + 100_000), _MAX_ENTRIES)
    if sum(map(math.prod, shapes)) > most:
        raise Rejected(f"the cuts have more than {most} entries")
