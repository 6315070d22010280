"""Optima with soft pairs, against enumeration."""

import numpy as np
import pytest

import sdpbb
from sdpbb.problem import Instance, SoftPairs
from sdpbb.run.decomposition.parameters import DecompositionParameters


def clouds(seed: int) -> Instance:
    """Three clouds of 20 points, and pairs at random."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(60, 2))
    points[:20] += 3.0
    points[20:40, 0] -= 3.0

    def pairs() -> list[tuple[int, int, float]]:
        drawn = (rng.choice(60, 2, replace=False).tolist() for _ in range(12))
        return [(i, j, float(rng.choice([0.1, 1.0, 5.0]))) for i, j in drawn]

    return Instance(points, 3, soft_must_link=pairs(), soft_cannot_link=pairs())


def test_runs_that_begin_with_subsets():
    instance = clouds(0)
    subsets = DecompositionParameters(least_blocks=10, smallest=15, per_cluster=1)
    parameters = sdpbb.SolverParameters(bounding="decomposition", decomposition=subsets, workers=1)
    whole = sdpbb.solve(instance, sdpbb.SolverParameters(workers=1))
    result = sdpbb.solve(instance, parameters)
    assert result.statistics.n_subsets > 1
    assert result.status is sdpbb.SolutionStatus.OPTIMAL
    assert result.objective == pytest.approx(whole.objective, rel=2e-4)
    assert result.lower_bound <= whole.objective * (1.0 + 1e-12)


def test_a_run_that_was_cut_short_goes_on_to_the_same_end(tmp_path):
    instance = clouds(13)
    whole = sdpbb.solve(instance, sdpbb.SolverParameters(workers=1, bounding="sdp"))
    assert whole.statistics.n_nodes > 1
    path = tmp_path / "run.ckpt"
    parameters = sdpbb.SolverParameters(workers=1, bounding="sdp", node_limit=1)
    begun = sdpbb.solve(instance, parameters, checkpoint=path)
    assert begun.status is sdpbb.SolutionStatus.FEASIBLE
    ended = sdpbb.resume(path, node_limit=1000)
    assert ended.status is sdpbb.SolutionStatus.OPTIMAL
    assert ended.objective == whole.objective
    assert ended.soft == whole.soft


@pytest.mark.parametrize("exponent", [-290, 290])
def test_units_change_nothing(exponent):
    """The same instance in other units: coordinates times 2^e, weights times 4^e."""
    instance, unit = clouds(0), 2.0**exponent
    other = Instance(
        instance.points * unit,
        instance.k,
        soft_must_link=SoftPairs(
            instance.soft_must_link.pairs, instance.soft_must_link.weights * unit**2
        ),
        soft_cannot_link=SoftPairs(
            instance.soft_cannot_link.pairs, instance.soft_cannot_link.weights * unit**2
        ),
    )
    result, moved = (
        sdpbb.solve(each, sdpbb.SolverParameters(workers=1)) for each in (instance, other)
    )
    assert moved.status is sdpbb.SolutionStatus.OPTIMAL
    assert moved.partition == result.partition
    assert moved.objective == pytest.approx(result.objective * unit**2, rel=1e-12)
