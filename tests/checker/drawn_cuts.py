"""Cuts of every form on the blocks of small instances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sdpbb.bounds.sdp.cuts.sizes import difference_down
from sdpbb.checker.kernel.arithmetic import down, up
from sdpbb.checker.kernel.cuts import Cuts
from sdpbb.checker.kernel.cuts.capacities import SetCliques, Sets, set_measure
from sdpbb.checker.kernel.cuts.inequalities import Group, NodeFacts
from sdpbb.checker.kernel.cuts.lifted import LiftedPentagons, SoftTerms
from sdpbb.checker.kernel.cuts.measures import ListedCliques, MeasureRows, Traces
from sdpbb.checker.kernel.cuts.templates import Cliques, Templates, Vectors


def drawn_cuts(rng: np.random.Generator, name: str, node: NodeFacts) -> Cuts:
    """A few cuts of a form, most of them valid if the node has what the form needs.

    Blocks repeat in some.
    """
    return FORMS[name](rng, node, int(rng.integers(1, 4)))


def joined(*cuts: Cuts) -> Cuts:
    """Cuts of several groups as one."""
    return Cuts(
        tuple(group for each in cuts for group in each.groups),
        *(
            np.concatenate([getattr(each, name) for each in cuts])
            for name in ("blocks", "parts", "estimates")
        ),
    )


def _rows(rng: np.random.Generator, m: int, new: int, width: int) -> np.ndarray:
    if width <= m and rng.random() < 0.7:
        return np.concatenate([rng.permutation(m)[:width] for _ in range(new)])
    return rng.integers(m, size=new * width)


def _cuts(group: Group, blocks: np.ndarray, **others: np.ndarray) -> Cuts:
    arrays = {name: array.astype(np.int64) for name, array in others.items()}
    if "estimates" in arrays:
        arrays["estimates"] = arrays["estimates"].astype(np.int32)
    return Cuts((group,), blocks.astype(np.int32), **arrays)


def _of(make: Callable[[int], Group]) -> Callable[..., Cuts]:
    def drawn(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
        group = make(new)
        return _cuts(group, _rows(rng, node.m, new, group.n_blocks(node.k) // new))

    return drawn


def _vectors(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    width = int(rng.integers(1, 6))
    return _of(lambda count: Vectors(count, tuple(rng.integers(-3, 4, width).tolist())))(
        rng, node, new
    )


def _stars(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    vector = (-1, *[1] * int(rng.integers(1, 5)))
    return _of(lambda count: Vectors(count, vector))(rng, node, new)


def _templates(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    """Any entries, which hardly any right-hand side suits."""
    width = int(rng.integers(1, 5))
    pairs = [(p, q) for p in range(width) for q in range(p, width)]
    entries = tuple((p, q, float(rng.integers(-2, 4))) for p, q in pairs)
    side = float(rng.choice([0.0, -0.5, 0.2]))
    return _of(lambda count: Templates(count, width, entries, side))(rng, node, new)


def _complements(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    group = Templates(new, 3, ((0, 0, -1.0), (0, 1, 1.0), (0, 2, 1.0)), 0.0)
    linked = np.argwhere(node.adjacency)
    if not len(linked):
        return _cuts(group, _rows(rng, node.m, new, 3))
    pairs = linked[rng.integers(len(linked), size=new)]
    return _cuts(group, np.column_stack([rng.integers(node.m, size=new), pairs]).reshape(-1))


def _limits(node: NodeFacts) -> tuple[float, float]:
    if node.limits is None:
        return 1.0, node.heaviest
    return float(node.limits.least), float(node.limits.most)


def _most_points(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    side = down(1.0 / _limits(node)[1])
    return _of(lambda count: Templates(count, 1, ((0, 0, 1.0),), side))(rng, node, new)


def _least_points(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    side = -up(1.0 / max(_limits(node)[0], 1e-9))
    return _of(lambda count: Templates(count, 1, ((0, 0, -1.0),), side))(rng, node, new)


def _size_pairs(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    least, most = _limits(node)
    entries = ((0, 0, most), (1, 1, -least), (0, 1, -difference_down(most, least)))
    return _of(lambda count: Templates(count, 2, entries, 0.0))(rng, node, new)


def _traces(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    own = np.repeat(np.arange(node.m), node.weights.astype(int).clip(0, 9))
    lists = [own[rng.random(len(own)) < 0.5] for _ in range(new)]
    return _cuts(Traces(tuple(map(len, lists))), np.concatenate(lists))


def _listed(end: str) -> Callable[..., Cuts]:
    def drawn(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
        listed = getattr(node.limits, "listed", None)
        width = int(rng.integers(2, 6))
        if listed is not None:
            width = 1 + listed.count(listed[-1] if end == "largest" else listed[0])
        return _cuts(ListedCliques(new, width, end), _rows(rng, node.m, new, width))

    return drawn


def _sets(unit: str, is_clique: bool) -> Callable[..., Cuts]:
    def drawn(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
        measure = set_measure(node.limits, node.weights, unit == "units")
        own = np.ones(node.m, np.int64) if measure is None else measure.of_blocks
        sets = [np.flatnonzero(rng.random(node.m) < rng.random()) for _ in range(new)]
        sets = [blocks if len(blocks) else np.arange(1) for blocks in sets]
        blocks, lengths = np.concatenate(sets), tuple(map(len, sets))
        most = own[blocks]
        parts = np.where(rng.random(len(most)) < 0.3, rng.integers(1, most + 1), most)
        if not is_clique:
            return _cuts(Sets(lengths, unit), blocks, parts=parts)
        width = int(rng.integers(2, node.k + 3))
        leaves = rng.integers(node.m, size=new * width)
        group = SetCliques(lengths, unit, (width,) * new)
        return _cuts(group, np.concatenate([blocks, leaves]), parts=parts)

    return drawn


def _pentagons(rng: np.random.Generator, node: NodeFacts, new: int) -> Cuts:
    """With random estimates for some of the points of all blocks."""
    lengths, estimates = [], []
    for _ in range(new):
        before = len(estimates)
        for pair in range(10):
            for s, size in enumerate(node.weights.astype(int).tolist()):
                parts = rng.multinomial(size, np.full(4, 0.25))[: 3 if pair < 5 else 2]
                parts = parts * (rng.random() < 0.7)
                estimates += [(3 * pair + w, s, part) for w, part in enumerate(parts) if part]
        lengths.append(len(estimates) - before)
    blocks = rng.integers(node.m, size=5 * new)
    return _cuts(
        LiftedPentagons(tuple(lengths)), blocks, estimates=np.array(estimates, int).reshape(-1, 3)
    )


FORMS: dict[str, Callable[[np.random.Generator, NodeFacts, int], Cuts]] = {
    "stars": _stars,
    "vectors": _vectors,
    "cliques": _of(Cliques),
    "templates": _templates,
    "complements": _complements,
    "most points": _most_points,
    "least points": _least_points,
    "size pairs": _size_pairs,
    "most point rows": _of(lambda count: MeasureRows(count, "most")),
    "least point rows": _of(lambda count: MeasureRows(count, "least")),
    "traces": _traces,
    "largest cliques": _listed("largest"),
    "smallest cliques": _listed("smallest"),
    "point sets": _sets("points", False),
    "weight sets": _sets("units", False),
    "point cliques": _sets("points", True),
    "weight cliques": _sets("units", True),
    "pentagons": _pentagons,
    "soft cannot-links": _of(lambda count: SoftTerms(count, "cannot")),
    "soft must-links": _of(lambda count: SoftTerms(count, "must")),
}
"""Functions that draw cuts of each form."""
