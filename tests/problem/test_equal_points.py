import numpy as np
import pytest
from hypothesis import given

import sdpbb
from sdpbb.errors import CertificateError
from sdpbb.problem import Contraction, Instance, MaximumSize, contract
from sdpbb.problem.contraction import equal_points, join_equal_points
from sdpbb.search.result import SolutionStatus
from tests.any_instance import any_instance
from tests.enumeration import Truth
from tests.examples import examples

HERE = np.array([[0.0, 1.0], [2.0, -0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 1.0], [5.0, 5.0]])


@given(any_instance(always=["equal points"]))
@examples(150)
def test_joining_equal_points_keeps_the_optimum(instance):
    costs = [Truth(each).exact_costs for each in (instance, join_equal_points(instance))]
    assert min(costs[0], default=None) == min(costs[1], default=None)


def test_signs_of_zero_do_not_matter():
    assert equal_points(Instance(HERE, 3)).tolist() == [[0, 2], [1, 3], [0, 4]]


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        ({"cannot_link": [(0, 2)]}, [[1, 3]]),
        ({"must_link": [(0, 5)]}, [[2, 4], [1, 3]]),
        ({"must_link": [(0, 4)]}, [[0, 2], [1, 3]]),
        ({"soft_must_link": [(0, 1, 0.5)]}, [[2, 4]]),
        ({"soft_cannot_link": [(3, 4, 0.5)]}, [[0, 2]]),
        ({"cluster_constraints": [MaximumSize(6)]}, []),
        ({"cannot_link": [(0, 2), (1, 2)], "k": 3}, []),
        ({"k": 4}, []),
        ({"k": 1}, []),
    ],
)
def test_points_with_constraints_are_left_alone(constraints, expected):
    found = equal_points(Instance(HERE, **{"k": 2, **constraints}))
    assert sorted(found.tolist()) == sorted(expected)


def test_an_image_is_contracted_to_its_colours():
    colours = np.random.default_rng(0).integers(0, 8, size=(100_000, 3)).astype(float)
    contraction = contract(join_equal_points(Instance(colours, 5)))
    assert isinstance(contraction, Contraction)
    assert contraction.n_blocks == 512
    assert contraction.weights.sum() == 100_000


def test_a_given_clustering_may_part_equal_points():
    instance = Instance(HERE, 3)
    result = sdpbb.solve(instance, start=[0, 1, 2, 1, 1, 2])
    assert result.partition is not None
    assert result.objective == 0.0
    assert result.status is SolutionStatus.OPTIMAL


def test_the_checker_proves_that_points_may_be_joined(tmp_path, monkeypatch):
    instance = Instance(HERE, 3)
    wrong = [[[0, 1]], [[0, 2], [1, 3], [0, 4]], [[0, 2]]]
    others = [{}, {"cannot_link": [(0, 5)]}, {"cluster_constraints": [MaximumSize(3)]}]
    for pairs, change in zip(wrong, others, strict=True):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.cert"
        changed = Instance(instance.points, 3, **change)
        with monkeypatch.context() as patch:
            patch.setattr(
                "sdpbb.run.certificates.writer.equal_points", lambda _, pairs=pairs: np.array(pairs)
            )
            patch.setattr(
                "sdpbb.run.solving.join_equal_points",
                lambda given, pairs=pairs: Instance(
                    given.points, given.k, pairs, given.cannot_link
                ),
            )
            sdpbb.solve(changed, certificate=path)
        with pytest.raises(CertificateError, match="equal"):
            sdpbb.verify_certificate(path, changed)
