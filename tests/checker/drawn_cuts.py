"""Cuts of every form on the blocks of small instances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sdpbb.bounds.sdp.cuts.cliques import extreme_sizes
from sdpbb.bounds.sdp.cuts.sizes import difference_down
from sdpbb.checker.kernel.arithmetic import down, up
from sdpbb.checker.kernel.cuts import Cuts
from sdpbb.checker.kernel.cuts.capacities import MeasureRows, SetCliques, Sets, set_measure
from sdpbb.checker.kernel.cuts.inequalities import Group, NodeFacts
from sdpbb.checker.kernel.cuts.lifted import LiftedPentagons, SoftTerms
from sdpbb.checker.kernel.cuts.templates import Templates, Vectors


def drawn_cuts(rng: np.random.Generator, name: str, node: NodeFacts) -> Cuts:
    """A few cuts of a form, most of them valid if the node has what the form needs.

    Blocks repeat in some.
    """
    return FORMS[name](rng, node, int(rng.integers(1, 4)))


def joined(*cuts: Cuts) -> Cuts:
    """Cuts of several groups as one."""
    return Cuts(tuple(group for each in cuts for group in each.groups))


def _rows(rng: np.random.Generator, m: int, new: int, width: int) -> np.ndarray:
    if width <= m and rng.random() < 0.7:
        rows = np.stack([rng.permutation(m)[:width] for _ in range(new)])
    else:
        rows = rng.integers(m, size=(new, width))
    return rows.astype(np.int32)


def _of(width: int, make: Callable[..., Group], *fields: Any) -> Callable[..., Cuts]:
    return lambda rng, node, new: Cuts((make(_rows(rng, node.m, new, width), *fields),))


def _lists(lists: list[np.ndarray]) -> np.ndarray:
    """Rows of the number of a list and its entries."""
    return np.concatenate([np.insert(np.atleast_2d(x.T).T, 0, i, 1) for i, x in enumerate(lists)])


def _vectors(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    """With any factors, which not all vectors suit."""
    width, beta = int(rng.integers(1, 6)), int(rng.choice([0, 0, rng.integers(-4, 5)]))
    vector = tuple(rng.integers(0 if beta else -3, 4, width).tolist())
    return _of(width, Vectors, vector, int(rng.integers(0, 4)), beta)(rng, node, new)


def _stars(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    vector = (-1, *[1] * int(rng.integers(1, 5)))
    return _of(len(vector), Vectors, vector)(rng, node, new)


def _cliques(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    return _of(node.k + 1, Vectors, (1,) * (node.k + 1))(rng, node, new)


def _templates(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    """Any entries, which hardly any right-hand side suits."""
    width = int(rng.integers(1, 5))
    pairs = [(p, q) for p in range(width) for q in range(p, width)]
    entries = tuple((p, q, float(rng.integers(-2, 4))) for p, q in pairs)
    side = float(rng.choice([0.0, -0.5, 0.2]))
    return _of(width, Templates, width, entries, side)(rng, node, new)


def _complements(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    linked, rows = np.argwhere(node.adjacency), _rows(rng, node.m, new, 3)
    if len(linked):
        rows[:, 1:] = linked[rng.integers(len(linked), size=new)]
    return Cuts((Templates(rows, 3, ((0, 0, -1.0), (0, 1, 1.0), (0, 2, 1.0)), 0.0),))


def _limits(node: NodeFacts) -> tuple[float, float]:
    if node.limits is None:
        return 1.0, node.heaviest
    return float(node.limits.least), float(node.limits.most)


def _most_points(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    side = down(1.0 / _limits(node)[1])
    return _of(1, Templates, 1, ((0, 0, 1.0),), side)(rng, node, new)


def _least_points(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    side = -up(1.0 / max(_limits(node)[0], 1e-9))
    return _of(1, Templates, 1, ((0, 0, -1.0),), side)(rng, node, new)


def _size_pairs(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    least, most = _limits(node)
    entries = ((0, 0, most), (1, 1, -least), (0, 1, -difference_down(most, least)))
    return _of(2, Templates, 2, entries, 0.0)(rng, node, new)


def _listed(is_largest: bool) -> Callable[..., Cuts]:
    def drawn(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
        exact = getattr(node.limits, "exact", None) or (1, 2)
        count, *factors = extreme_sizes(exact, is_largest)
        return _of(count + 1, Vectors, (1,) * (count + 1), *factors)(rng, node, new)

    return drawn


def _sets(unit: str, is_clique: bool) -> Callable[..., Cuts]:
    def drawn(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
        measure = set_measure(node.limits, node.weights, unit == "units")
        own = np.ones(node.m, np.int64) if measure is None else measure.of_blocks
        sets = []
        for _ in range(new):
            blocks = np.flatnonzero(rng.random(node.m) < rng.random())
            blocks = blocks if len(blocks) else np.arange(1)
            most = own[blocks]
            parts = np.where(rng.random(len(most)) < 0.3, rng.integers(1, most + 1), most)
            sets.append(np.column_stack([blocks, parts]))
        rows = _lists(sets).astype(np.int64)
        if not is_clique:
            return Cuts((Sets(rows, new, unit),))
        leaves = [rng.integers(node.m, size=int(rng.integers(2, node.k + 3))) for _ in range(new)]
        return Cuts((SetCliques(rows, new, unit, _lists(leaves).astype(np.int32)),))

    return drawn


def _pentagons(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    """With random estimates for some of the points of all blocks."""
    estimates = []
    for cut in range(new):
        for pair in range(10):
            for s, size in enumerate(node.weights.astype(int).tolist()):
                parts = rng.multinomial(size, np.full(4, 0.25))[: 3 if pair < 5 else 2]
                parts = parts * (rng.random() < 0.7)
                estimates += [(cut, 3 * pair + w, s, part) for w, part in enumerate(parts) if part]
    blocks = rng.integers(node.m, size=(new, 5)).astype(np.int32)
    return Cuts((LiftedPentagons(blocks, np.array(estimates, np.int32).reshape(-1, 4)),))


def _soft(link: str) -> Callable[..., Cuts]:
    def drawn(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
        """Of one pair and a partition that violates it: there its terms add up to its price."""
        prices = np.ones((node.m, node.m)) if node.soft is None else getattr(node.soft, link)
        pairs = np.argwhere((prices > 0.0) & ~np.eye(node.m, dtype=bool))
        if not len(pairs):
            return _of(3, SoftTerms, link)(rng, node, new)
        i, j = pairs[rng.integers(len(pairs))].tolist()
        labels = rng.integers(node.k, size=node.m)
        labels[j] = labels[i] if link == "cannot" else (labels[i] + 1) % node.k
        rows = [(i, j, h) for h in np.flatnonzero(labels == labels[i])]
        if link == "must":
            rows += [(j, i, h) for h in np.flatnonzero(labels == labels[j])]
        elif rng.random() < 0.5:  # the same terms once more
            rows += [(j, i, h) for i, j, h in rows]
        return Cuts((SoftTerms(np.array(rows, np.int32).reshape(-1, 3), link),))

    return drawn


FORMS: dict[str, Callable[[np.random.Generator, NodeFacts, int], Cuts]] = {
    "stars": _stars,
    "vectors": _vectors,
    "cliques": _cliques,
    "templates": _templates,
    "complements": _complements,
    "most points": _most_points,
    "least points": _least_points,
    "size pairs": _size_pairs,
    "most point rows": _of(1, MeasureRows, "most"),
    "least point rows": _of(1, MeasureRows, "least"),
    "largest cliques": _listed(True),
    "smallest cliques": _listed(False),
    "point sets": _sets("points", False),
    "weight sets": _sets("units", False),
    "point cliques": _sets("points", True),
    "weight cliques": _sets("units", True),
    "pentagons": _pentagons,
    "soft cannot-links": _soft("cannot"),
    "soft must-links": _soft("must"),
}
"""Functions that draw cuts of each form."""
