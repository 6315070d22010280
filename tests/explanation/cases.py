"""Instances whose constraints may contradict each other, and parts of their constraints."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from sdpbb.problem import Instance
from sdpbb.problem.statements import Statement
from tests.constrained import KINDS, constrained_instance, some_pairs
from tests.enumeration import feasible_clusterings, random_instance


def with_many_pairs(rng: np.random.Generator) -> Instance:
    """Up to 8 points, few clusters, and so many pairs that most instances are infeasible."""
    n = int(rng.integers(3, 9))
    pairs = some_pairs(rng, n, n * n)
    n_ml = int(rng.integers(0, 4))
    n_cl = int(rng.integers(0, len(pairs) - n_ml + 1))
    k = int(rng.integers(1, min(n, 5) + 1))
    points = rng.normal(size=(n, 2))
    return Instance(points, k, pairs[:n_ml], pairs[n_ml : n_ml + n_cl])


def contradictory(rng: np.random.Generator) -> Instance:
    """Of any kind; some pairs are stated twice, or both ways."""
    draw = rng.random()
    if draw < 0.3:
        return random_instance(rng, 8)
    if draw < 0.5:
        kinds = [KINDS[at] for at in rng.integers(0, len(KINDS), int(rng.integers(1, 4)))]
        return constrained_instance(rng, kinds)
    instance = with_many_pairs(rng)
    if draw < 0.6 and len(instance.cannot_link):
        twice = np.concatenate([instance.cannot_link, instance.cannot_link[:1]])
        both = np.concatenate([instance.must_link, instance.cannot_link[-1:]])
        return replace(instance, must_link=both, cannot_link=twice)
    return instance


def only(instance: Instance, statements: Iterable[Statement]) -> Instance:
    """The same points with these constraints only."""
    must, cannot, on_clusters = [], [], []
    for statement in statements:
        if statement.argument == "must_link":
            must.append(statement.rows)
        elif statement.rows:  # a maximum diameter stands for cannot-links
            cannot.append(statement.rows)
        else:
            on_clusters.append(instance.cluster_constraints[statement.position])
    return replace(instance, must_link=must, cannot_link=cannot, cluster_constraints=on_clusters)


def can_hold(instance: Instance) -> bool:
    return len(feasible_clusterings(instance)) > 0
