"""A certificate is about one instance: others have other digests.

That other digests, and other claims, are rejected by name is among the vectors.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.problem import AnyOf, Instance, SoftCannotLinks, SoftPairs
from sdpbb.problem.checker_rules import stated_instance
from tests.any_instance import any_instance, drawn_constraint, drawn_pairs, drawn_sizes
from tests.enumeration import Truth
from tests.examples import examples

POINTS = np.random.default_rng(2).normal(size=(14, 2))
CHECKED = ("pairs", "constraints", "weights", "sizes", "weight limits", "soft pairs")


def digests(instance):
    return stated_instance(instance).digests


def changes(instance, random):
    """Arguments that each say a little less, more or otherwise than the instance."""
    yield {"points": np.nextafter(instance.points, np.inf)}
    for name in ("must_link", "cannot_link"):
        yield {name: getattr(instance, name)[1:]}
        yield {name: (getattr(instance, name) + 1) % instance.n_points}
    for name in ("soft_must_link", "soft_cannot_link"):
        pairs, weights = (getattr(getattr(instance, name), part) for part in ("pairs", "weights"))
        yield {name: SoftPairs(pairs[1:], weights[1:])}
        yield {name: SoftPairs(pairs, 0.5 * weights)}
        yield {name: SoftPairs((pairs + 1) % instance.n_points, weights)}
    for name, value in instance.limits.items():
        yield {name: None}
        if name != "sizes":
            yield {name: value + 1}
    if instance.weights is not None:
        yield {"weights": np.nextafter(instance.weights, 0.0)}
        yield {"weights": None}
    for _ in range(3):
        yield dict.fromkeys(("min_size", "max_size", "sizes")) | drawn_sizes(random, instance)
    one, other = (drawn_constraint(random, instance) for _ in range(2))
    for constraint in (one, other, AnyOf([one]), AnyOf([one, other])):
        yield {"cluster_constraints": [constraint]}
    for _ in range(2):
        pairs = drawn_pairs(random, instance.n_points, instance.n_points)
        yield {"cluster_constraints": [SoftCannotLinks(pairs, 1)]}


@given(any_instance(*CHECKED), st.randoms(use_true_random=False))
@examples(200)
def test_instances_with_the_same_digests_have_the_same_clusterings_and_costs(instance, random):
    met = {}
    for change in ({}, *changes(instance, random)):
        other = replace(instance, **change)
        same = met.setdefault(tuple(digests(other).items()), other)
        if same is not other:
            truths = Truth(same), Truth(other)
            assert np.array_equal(*(truth.labels for truth in truths)), change
            assert truths[0].exact_costs == truths[1].exact_costs, change


SOFT_ML = [(0, 2, 0.25), (0, 1, 2.0)]
SAME_SOFT = [(1, 0, 2.0), (2, 0, 0.25), (1, 2, 0.0)]
SIX = sdpbb.MaximumSize(6)


@pytest.mark.parametrize(
    ("stated", "other"),
    [
        ({"points": 0.0 * abs(POINTS)}, {"points": -0.0 * abs(POINTS)}),
        ({"soft_must_link": SOFT_ML}, {"soft_must_link": SAME_SOFT}),
        ({"cluster_constraints": [SIX]}, {"cluster_constraints": [SIX] * 2}),
        ({"cluster_constraints": [SIX]}, {"cluster_constraints": [sdpbb.AllOf([SIX])]}),
        (
            {"cluster_constraints": [SIX]},
            {"cluster_constraints": [sdpbb.MaximumOverlap(range(14), 6)]},
        ),
    ],
)
def test_what_says_the_same_in_another_way_is_the_same(stated, other):
    instance = replace(Instance(POINTS, 3), **stated)
    assert digests(instance) == digests(replace(instance, **other))
