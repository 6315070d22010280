"""Runs that begin with prices and places, where dimensions are few and blocks many."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from sdpbb.bounds.lagrangian.reach import Reach
from sdpbb.problem import Instance
from sdpbb.run.parameters import DecompositionParameters, SolverParameters
from sdpbb.run.solver import solve
from sdpbb.search.events import Progress, SubsetsChosen
from sdpbb.search.result import SolutionStatus
from tests.constants import constants

PARAMETERS = SolverParameters(
    gap=2e-3,
    decomposition=DecompositionParameters(least_blocks=100, smallest=30),
)
MIN_BLOCKS = "run.decomposition.levels.MIN_BLOCKS"


@pytest.fixture(autouse=True, scope="module")
def few_places() -> Iterator[None]:
    """Places before subsets, and in no node."""
    changed = {
        MIN_BLOCKS: 100,
        "bounds.lagrangian.reach.FOR_PLACES": (Reach(blocks=1000),),
        "bounds.lagrangian.places.run.PLACES": 150,
    }
    with constants(changed):
        yield


def clouds(d: int, n: int = 600) -> Instance:
    rng = np.random.default_rng(0)
    centres = 6.0 * np.eye(3)[:, :d]
    labels = np.arange(n) % 3
    cannot_link = [(i, i + 1) for i in range(0, 60, 2)]
    return Instance(centres[labels] + rng.normal(size=(n, d)), 3, [(60, 63)], cannot_link)


def chosen(instance: Instance, parameters: SolverParameters) -> tuple[list[object], object]:
    events: list[object] = []
    result = solve(instance, parameters, events.append)
    lower = [event.lower for event in events if isinstance(event, Progress)]
    assert lower == sorted(lower)
    assert result.lower_bound <= result.objective
    return [event for event in events if isinstance(event, SubsetsChosen)], result


@pytest.mark.parametrize("d", [2, 3])
def test_prices_and_places_close_clear_clusters_before_any_subset(d: int) -> None:
    subsets, result = chosen(clouds(d), PARAMETERS)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.gap <= PARAMETERS.gap
    assert not subsets


@pytest.mark.parametrize(
    ("d", "parameters", "changed"),
    [
        (2, PARAMETERS, {MIN_BLOCKS: 1000}),
        (2, replace(PARAMETERS, certify=True), {}),
        (5, PARAMETERS, {}),
    ],
)
def test_elsewhere_subsets_come_first(
    d: int, parameters: SolverParameters, changed: dict[str, int]
) -> None:
    rng = np.random.default_rng(0)
    instance = clouds(2, 200)
    if d > 2:
        far = np.hstack([instance.points, rng.normal(size=(200, d - 2))])
        instance = Instance(far, 3)
    with constants(changed):
        subsets, result = chosen(instance, parameters)
    assert subsets
    assert result.status is SolutionStatus.OPTIMAL
