"""Instances whose constraints may contradict each other, and parts of their constraints."""

from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from sdpbb.problem import Instance
from sdpbb.problem.rules import LIMITS
from sdpbb.problem.statements import Statement
from tests.any_instance import drawn_instance, drawn_pairs
from tests.enumeration import Truth

RULES = ("constraints", "own constraints", "weights", "sizes", "weight limits")


def points(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(n, 2))


def contradictory(seed: int) -> Instance:
    """An instance with any constraints; often many pairs, some repeated or contradictory."""
    random = Random(seed)
    parts = ("pairs", *RULES) if random.random() < 0.5 else ("pairs",)
    instance = drawn_instance(random, *parts, k=(1, 5))
    draw, n = random.random(), instance.n_points
    if draw < 0.5:
        return instance
    must_link, cannot_link = drawn_pairs(random, n, 3), drawn_pairs(random, n, n * n)
    if draw < 0.7:
        must_link, cannot_link = must_link + cannot_link[-1:], cannot_link + cannot_link[:1]
    return replace(instance, must_link=must_link, cannot_link=cannot_link)


def only(instance: Instance, statements: Iterable[Statement]) -> Instance:
    """The same points with these constraints only."""
    must, cannot, on_clusters = [], [], []
    limits: dict[str, Any] = dict.fromkeys(LIMITS)
    for statement in statements:
        if statement.argument == "must_link":
            must.append(statement.rows)
        elif statement.rows:  # a cannot-link that a maximum diameter implies
            cannot.append(statement.rows)
        elif statement.argument in limits:
            limits[statement.argument] = getattr(instance, statement.argument)
        else:
            on_clusters.append(instance.cluster_constraints[statement.position])
    return replace(
        instance, must_link=must, cannot_link=cannot, cluster_constraints=on_clusters, **limits
    )


def can_hold(instance: Instance) -> bool:
    return Truth(instance).is_feasible
