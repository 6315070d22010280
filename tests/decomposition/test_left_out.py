"""What the bounds of subsets may ignore is said with the result."""

from dataclasses import replace

import numpy as np
import pytest

from sdpbb.plots.pages import page, run_document
from sdpbb.problem import Instance
from sdpbb.run.parameters import DecompositionParameters, SolverParameters
from sdpbb.run.report import IGNORED_BY_SUBSETS, ignored_by_subsets, summary
from sdpbb.run.solver import solve

POINTS = np.random.default_rng(0).normal(size=(8, 2))


@pytest.mark.parametrize(
    ("constraints", "are_ignored"),
    [
        ({}, False),
        ({"max_size": 5, "must_link": [(0, 1)]}, False),
        ({"sizes": [3, 5]}, True),
        ({"weights": np.arange(1.0, 9.0), "max_weight": 20.0}, True),
        ({"cannot_link": [(0, 4)]}, True),
        ({"soft_must_link": [(0, 1, 2.0)]}, True),
    ],
)
def test_constraints_that_may_be_ignored(constraints, are_ignored):
    assert bool(ignored_by_subsets(Instance(POINTS, 2, **constraints))) == are_ignored


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
    assert result.notes == (IGNORED_BY_SUBSETS,)
    assert result.to_row()["notes"] == IGNORED_BY_SUBSETS
    assert f"{'Note':<15} {IGNORED_BY_SUBSETS}" in summary(result).splitlines()
    assert "bounds of subsets ignore" in page(
        run_document(Instance(points, 3, min_size=38), result)
    )
    assert "Note" not in summary(replace(result, notes=()))
