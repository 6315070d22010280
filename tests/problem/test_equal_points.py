import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.errors import CertificateError
from sdpbb.problem import Contraction, Instance, MaximumSize, contract
from sdpbb.problem.contraction import equal_points, join_equal_points
from sdpbb.search.result import SolutionStatus
from tests.examples import examples

HERE = np.array([[0.0, 1.0], [2.0, -0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 1.0], [5.0, 5.0]])


def crowded(seed, n=9):
    """Few places for n points, and some constraints that need not be consistent."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, rng.integers(2, 5), size=(n, rng.integers(1, 3))).astype(float)
    pairs = rng.permutation(n)[:8].reshape(-1, 2)
    must, cannot = rng.integers(0, 3, size=2)
    k = int(rng.integers(1, 5))
    return Instance(points, k, pairs[:must], pairs[must : must + cannot])


@given(st.integers(0, 2**32 - 1))
@examples(150)
def test_joined_are_all_that_may_be(seed):
    instance = crowded(seed)
    points, k, n = instance.points, instance.k, instance.n_points
    group = np.arange(n)
    for i, j in instance.must_link:
        group[group == group[j]] = group[i]
    linked = np.unique(group[instance.cannot_link])
    alone = [
        i
        for i in range(n)
        if group[i] not in linked and (points[group == group[i]] == points[i]).all()
    ]
    others = {int(group[i]) for i in range(n) if group[i] not in linked} - {
        int(group[i]) for i in alone
    }
    n_left = len(np.unique(points[alone], axis=0)) + len(others) if alone else len(others)
    pairs = equal_points(instance)
    for i, j in pairs:
        assert i in alone
        assert j in alone
        assert (points[i] == points[j]).all()
    if k > 1 and n_left >= k:
        block_of = contract(Instance(points, 1, join_equal_points(instance).must_link)).block_of
        assert block_of.max() == 0  # k = 1: all
        joined = np.arange(n)
        for i, j in np.concatenate([instance.must_link, pairs]):
            joined[joined == joined[j]] = joined[i]
        for i in alone:
            for j in alone:
                same = bool((points[i] == points[j]).all())
                assert (joined[i] == joined[j]) == (same or group[i] == group[j])
    else:
        assert not len(pairs)


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
