"""A certificate is about one instance: others have other digests.

That other digests, and other claims, are rejected by name is among the vectors.
"""

from dataclasses import replace

import numpy as np
import pytest

import sdpbb
from sdpbb.checker.kernel.certificate import DIGESTS as NAMES
from sdpbb.problem import Instance
from sdpbb.problem.checker_rules import stated_instance

POINTS = np.random.default_rng(2).normal(size=(14, 2))
WEIGHTS = np.random.default_rng(3).uniform(1.0, 2.0, 14)
SOFT_ML, SOFT_CL = [(0, 2, 0.25), (0, 1, 2.0)], [(2, 3, 0.5)]
RULES, WEIGHED = "constraints on clusters", "weights of points"
# What is stated; other statements, and what differs.
STATED = {
    "pairs": (
        {"must_link": [(0, 1)], "cannot_link": [(2, 3)]},
        [({"must_link": None}, "must-links"), ({"cannot_link": [(2, 4)]}, "cannot-links")],
    ),
    "a diameter": (
        {"cluster_constraints": [sdpbb.MaximumDiameter(3.5)]},
        [({"cluster_constraints": None}, "cannot-links")],
    ),
    "a maximum size": (
        {"cluster_constraints": [sdpbb.MaximumSize(6)]},
        [
            ({"max_size": 7}, RULES),
            *(
                ({"max_size": None, "cluster_constraints": x}, RULES)
                for x in (
                    [],
                    [sdpbb.MaximumOverlap(range(14), 5)],
                    [sdpbb.AnyOf([sdpbb.MaximumSize(6)])],
                    [sdpbb.AnyOf([sdpbb.MaximumSize(6), sdpbb.MaximumDiameter(1.0)])],
                    [sdpbb.SoftCannotLinks([(0, 1), (1, 2)], 1)],
                )
            ),
        ],
    ),
    "sizes": (
        {"min_size": 4},
        [({"min_size": x}, RULES) for x in (None, 3)]
        + [({"min_size": None, **x}, RULES) for x in ({"sizes": [4, 5, 5]}, {"max_size": 6})],
    ),
    "weights": (
        {"weights": WEIGHTS},
        [({"weights": x}, WEIGHED) for x in (None, 2.0 * WEIGHTS, np.nextafter(WEIGHTS, 0.0))],
    ),
    "limits on weights": (
        {"weights": WEIGHTS, "min_weight": 6.0},
        [({"min_weight": x}, RULES) for x in (None, 6.5)]
        + [({"min_weight": None, **x}, RULES) for x in ({"max_weight": 9.0}, {"min_size": 4})],
    ),
    "soft pairs": (
        {"soft_must_link": SOFT_ML, "soft_cannot_link": SOFT_CL},
        [
            ({"soft_must_link": x}, "soft must-links")
            for x in (None, SOFT_ML[:1], [(0, 3, 0.25), SOFT_ML[1]], [(0, 2, 0.2), SOFT_ML[1]])
        ]
        + [({"soft_cannot_link": x}, "soft cannot-links") for x in (None, SOFT_CL * 2)],
    ),
}


def differing(one: Instance, other: Instance) -> list[str]:
    """What two instances say differently, by the names that a rejection has."""
    digests = [stated_instance(each).digests for each in (one, other)]
    return [what for name, what in NAMES.items() if digests[0].get(name) != digests[1].get(name)]


@pytest.mark.parametrize("name", STATED)
def test_what_is_stated_otherwise_has_another_digest(name):
    stated, others = STATED[name]
    instance = Instance(POINTS, 3, **stated)
    for more, what in [*others, ({"points": POINTS + 1.0}, "points")]:
        assert what in differing(instance, replace(instance, **more))


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
    assert not differing(instance, replace(instance, **other))
