"""Nodes of small instances, and arrays of cuts of every family on their blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.checker.cuts import FAMILIES, family_number
from sdpbb.checker.cuts.capacities import set_measure
from sdpbb.checker.cuts.inequalities import Family, NodeFacts
from sdpbb.problem import Contraction, Instance
from sdpbb.problem.checker_rules import checked_soft_pairs
from sdpbb.problem.contraction import contract
from tests.enumeration import clustering_matrix, feasible_clusterings, random_instance, weighted
from tests.sizes.instances import sized_instance
from tests.sizes.weighted_instances import weighted_instance
from tests.soft.instances import random_soft_instance


@dataclass(frozen=True, eq=False)
class EnumeratedNode:
    """NodeFacts with the matrices Z of all its clusterings, and what each pays for soft pairs."""

    node: NodeFacts
    matrices: list[np.ndarray]
    paid: list[float]


def enumerated_nodes(number: int, n_max: int = 6) -> list[EnumeratedNode]:
    """Nodes with limits of every kind, weights, hard and soft pairs, that have a clustering."""
    found = (node_of(_drawn_instance(seed, n_max)) for seed in range(number))
    return [node for node in found if node is not None]


def _drawn_instance(seed: int, n_max: int) -> Instance:
    rng = np.random.default_rng(seed)
    plain = random_instance(rng, n_max, 3)
    match seed % 8:
        case 0:
            return plain
        case 1:  # as complements need
            return Instance(plain.points, 2, cannot_link=plain.cannot_link)
        case 2:
            return sized_instance(seed, n_max)
        case 3:
            sizes = [(1, 2, 3), (2, 2, 3), (1, 3, 3), (1, 2), (1, 1, 3)][rng.integers(5)]
            pairs = plain.must_link[:1] if rng.random() < 0.5 else None
            return Instance(np.arange(float(sum(sizes)))[:, None], len(sizes), pairs, sizes=sizes)
        case 4 | 5:
            return weighted_instance(seed, n_max)
        case 6:
            return random_soft_instance(rng, n_max)
        case _:
            return weighted(plain, rng)


def node_of(instance: Instance) -> EnumeratedNode | None:
    contraction, labels = contract(instance), feasible_clusterings(instance)
    if not isinstance(contraction, Contraction) or not len(labels):
        return None
    node, soft = Relaxation.of(contraction).checked_node, checked_soft_pairs(instance)
    paid = [0.0] * len(labels)
    if soft:
        over = soft.over(contraction.block_of, contraction.n_blocks)
        node = replace(node, soft=over.prices(contraction.adjacency, 0))
        constant = over.constant(contraction.adjacency)
        paid = [sum(soft.violated(row)) - constant for row in labels]
    of_blocks = labels[:, contraction.representatives]
    matrices = [clustering_matrix(row, contraction.weights) for row in of_blocks]
    return EnumeratedNode(node, matrices, paid)


def drawn_arrays(
    rng: np.random.Generator, family: Family, node: NodeFacts
) -> dict[str, np.ndarray]:
    """Arrays of a few cuts, most of them valid if the node has what the family needs.

    Blocks repeat in some.
    """
    arrays = _drawn(rng, family, node, int(rng.integers(1, 4)))
    return {
        key.name: np.asarray(array).astype(key.dtypes[0])
        for key, array in zip(family.keys, arrays, strict=True)
    }


def _drawn(rng: np.random.Generator, family: Family, node: NodeFacts, new: int) -> list[np.ndarray]:
    m, name = node.m, family.name
    if name == "complements":
        linked = np.argwhere(node.adjacency)
        if len(linked):
            pairs = linked[rng.integers(len(linked), size=new)]
            return [np.column_stack([rng.integers(m, size=new), pairs])]
    if name == "pentagons":
        return _pentagons(rng, node.weights)
    if len(family.keys) == 1:
        columns = family.keys[0].columns_for(node.k)
        rows = rng.integers(m, size=(new,) if columns is None else (new, columns))
        if columns is not None and columns <= m and rng.random() < 0.7:
            rows = np.array([rng.permutation(m)[:columns] for _ in range(new)])
        return [rows]
    if len(family.keys) == 2:
        width = _width(rng, name, node)
        if name == "listed_sizes":
            own = np.repeat(np.arange(m), node.weights.astype(int).clip(0, 9))
            lists = [own[rng.random(len(own)) < 0.5] for _ in range(new)]
        else:
            lists = [rng.integers(m, size=width) for _ in range(new)]
        return _lists(lists)
    measure = set_measure(node.limits, node.weights, name.startswith("weight"))
    own = np.ones(m, np.int64) if measure is None else measure.of_blocks
    sets = [np.flatnonzero(rng.random(m) < rng.random()) for _ in range(new)]
    sets = [blocks if len(blocks) else np.arange(1) for blocks in sets]
    arrays = _lists(sets)
    most = own[arrays[1]]
    arrays.append(np.where(rng.random(len(most)) < 0.3, rng.integers(1, most + 1), most))
    if len(family.keys) == 3:
        return arrays
    width = int(rng.integers(2, node.k + 3))
    return [*arrays, *_lists([rng.integers(m, size=width) for _ in range(new)])]


def _width(rng: np.random.Generator, name: str, node: NodeFacts) -> int:
    listed = getattr(node.limits, "listed", None)
    if name == "stars" or listed is None:
        return int(rng.integers(2, 6))
    return 1 + listed.count(listed[-1] if name == "largest_cliques" else listed[0])


def _lists(lists: list[np.ndarray]) -> list[np.ndarray]:
    return [np.cumsum([0, *map(len, lists)]), np.concatenate(lists)]


def _pentagons(rng: np.random.Generator, weights: np.ndarray) -> list[np.ndarray]:
    """Up to three, with random estimates for some of the points of all blocks."""
    cycles = rng.integers(len(weights), size=(int(rng.integers(1, 4)), 5))
    start, estimates = [0], []
    for _ in cycles:
        for pair in range(10):
            for s, size in enumerate(weights.astype(int).tolist()):
                parts = rng.multinomial(size, np.full(4, 0.25))[: 3 if pair < 5 else 2]
                parts = parts * (rng.random() < 0.7)
                estimates += [(3 * pair + w, s, part) for w, part in enumerate(parts) if part]
        start.append(len(estimates))
    return [cycles, np.array(start), np.array(estimates).reshape(-1, 3)]


def family_named(name: str) -> Family:
    return FAMILIES[family_number(name)]
