"""What the bounds of subsets ignore is said with the result."""

from dataclasses import replace

import numpy as np
import pytest

from sdpbb.plots.pages import page, run_document
from sdpbb.problem import Instance
from sdpbb.run.decomposition.restriction import left_out
from sdpbb.run.decomposition.subsets import SubsetBounds, SubsetTree
from sdpbb.run.parameters import DecompositionParameters, SolverParameters
from sdpbb.run.report import summary
from sdpbb.run.solver import solve

POINTS = np.random.default_rng(0).normal(size=(8, 2))
LEAST = "bounds of subsets ignore minimum sizes, minimum weights and listed sizes"


def halves(proven: list[float]) -> SubsetBounds:
    """The first four of eight points, and the others."""
    bounds = SubsetBounds(SubsetTree(np.arange(8), np.array([0, 4, 8])), 1)
    bounds.proven[:] = proven
    return bounds


@pytest.mark.parametrize(
    ("constraints", "told"),
    [
        ({}, ()),
        ({"max_size": 5}, ()),
        ({"min_size": 3}, (LEAST,)),
        ({"sizes": [3, 5]}, (LEAST,)),
        ({"weights": np.arange(1.0, 9.0), "min_weight": 10.0}, (LEAST,)),
        ({"cannot_link": [(0, 1)]}, ()),
        ({"cannot_link": [(0, 4)]}, ("bounds of subsets ignore 1 cannot-link between subsets",)),
        (
            {"cannot_link": [(0, 4), (1, 6)], "soft_must_link": [(0, 1, 2.0), (1, 5, 1.0)]},
            (
                "bounds of subsets ignore 2 cannot-links between subsets",
                "bounds of subsets ignore 1 soft constraint",
            ),
        ),
    ],
)
def test_a_line_for_each_kind(constraints, told):
    assert left_out(Instance(POINTS, 2, **constraints), halves([0.0, 0.0, 1.0, 1.0])) == told


def test_certified_subsets_know_nothing_of_greatest_weights():
    told = ("certified bounds of subsets ignore maximum weights",)
    bounds = halves([0.0, 0.0, 1.0, 1.0])
    for most, is_told in ((20.0, True), (30.0, False)):  # the halves weigh 10 and 26
        instance = Instance(POINTS, 2, weights=np.arange(1.0, 9.0), max_weight=most)
        assert left_out(instance, bounds) == ()
        assert left_out(instance, replace(bounds, proofs={})) == (told if is_told else ())


def test_nothing_is_across_where_the_best_bound_is_that_of_the_whole():
    instance = Instance(POINTS, 2, cannot_link=[(0, 4)])
    assert left_out(instance, halves([0.0, 3.0, 1.0, 1.0])) == ()


def test_results_say_it_wherever_they_are_shown():
    rng = np.random.default_rng(0)
    points = 6.0 * rng.normal(size=(3, 4))[np.arange(120) % 3] + rng.normal(size=(120, 4))
    parameters = SolverParameters(
        bounding="decomposition",
        decomposition=DecompositionParameters(smallest=30, largest=60),
        gap=0.05,
    )
    result = solve(Instance(points, 3, min_size=38), parameters)
    assert result.statistics.n_subsets
    assert result.notes == (LEAST,)
    assert f"{'Note':<15} {LEAST}" in summary(result).splitlines()
    assert result.to_dict()["notes"] == [LEAST]
    assert result.to_row()["notes"] == LEAST
    assert LEAST in page(run_document(Instance(points, 3, min_size=38), result))
    none = replace(result, notes=())
    assert "Note" not in summary(none)
    assert none.to_row()["notes"] == ""
