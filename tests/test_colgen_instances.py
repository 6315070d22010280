import sys
from pathlib import Path

import numpy as np
import pytest

from sdpbb.errors import ParameterError
from sdpbb.problem import Partition

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import colgen_instances as made

has_public = pytest.mark.skipif(not made.PUBLIC.is_dir(), reason=f"{made.PUBLIC} is not there")


def test_the_grid_is_that_of_the_published_tables():
    grid = list(made.cases("tables", draws=2))
    assert len(grid) == len(set(grid)) == 2 * (2 * 11 + 2 * 7 + 3 * 6)
    assert {case.k for case in grid if case.name == "soybean"} == {3, 4, 5}
    assert {case.draw for case in grid} == {0, 1}
    assert [case.draw for case in grid] == sorted(case.draw for case in grid)


@pytest.mark.parametrize("case", [*made.cases("tables", 1)][::7])
def test_published_data_with_as_many_true_constraints_as_asked_for(case):
    instance = made.instance_of(case)
    labels = made.DATA[case.name]().labels
    n, d = {"iris": (150, 4), "wine": (178, 13), "soybean": (47, 35)}[case.name]
    assert (instance.n_points, instance.n_features, instance.k) == (n, d, case.k)
    pairs = np.concatenate([instance.must_link, instance.cannot_link])
    assert len(np.unique(pairs, axis=0)) == int(case.constraints)
    assert (labels[instance.must_link[:, 0]] == labels[instance.must_link[:, 1]]).all()
    assert (labels[instance.cannot_link[:, 0]] != labels[instance.cannot_link[:, 1]]).all()


def test_draws_differ_and_repeat_and_do_not_depend_on_the_number_of_clusters():
    def pairs(k, draw):
        instance = made.instance_of(made.Case("tables", "iris", k, "60", draw))
        return instance.must_link.tolist(), instance.cannot_link.tolist()

    assert pairs(3, 0) == pairs(3, 0) == pairs(5, 0)
    assert pairs(3, 0) != pairs(3, 1)


def test_every_pair_is_drawn_equally_often():
    rng = np.random.default_rng(2)
    count = np.zeros((6, 6))
    for _ in range(2000):
        _, pairs = made.constraints_by_number(np.arange(6), 3, rng)  # of 15
        count[tuple(pairs.T)] += 1
    drawn = count[np.triu_indices(6, 1)] / 2000
    assert drawn.sum() == pytest.approx(3)
    assert np.abs(drawn - 0.2).max() < 0.04  # 4.5 standard deviations


def test_the_stand_in_has_codes_and_classes_like_the_original():
    data = made.soybean()
    assert data.points.shape == (47, 35)
    assert np.bincount(data.labels).tolist() == [10, 10, 10, 17]
    assert set(np.unique(data.points)) <= set(range(7))
    assert data.points.max() == 6
    assert (data.points == data.points[0]).all(axis=0).sum() >= 14
    assert np.array_equal(data.points, made.soybean().points)


@pytest.mark.parametrize("family", made.FAMILIES)
@pytest.mark.parametrize("number", ["0", "25"])
def test_generated_points_have_small_clusters_and_keep_the_truth(family, number):
    case = made.Case("small-clusters", f"{family}-100", 25, number, 0)
    instance = made.instance_of(case)
    assert instance.n_points == 100
    assert instance.n_features == {"planar": 2, "blobs2": 2, "blobs4": 4, "blobs8": 8}[family]
    assert len(instance.must_link) + len(instance.cannot_link) == int(number)
    rng = np.random.default_rng([made.crc32(case.name.encode()), 25, 0])
    points, labels = made.generated(case.name, 25, rng)
    assert np.array_equal(points, instance.points)  # also without constraints
    assert not any(map(len, Partition(labels).violations(instance)))


def test_small_clusters_come_by_size():
    cases = list(made.cases("small-clusters", draws=1))
    assert len(cases) == len(set(cases)) == 4 * 4 * 3 * 2
    sizes = [int(case.name.split("-")[1]) for case in cases]
    assert sizes == sorted(sizes)
    assert {(n, case.k) for n, case in zip(sizes, cases, strict=True) if n == 100} == {
        (100, 12),
        (100, 20),
        (100, 25),
    }


@has_public
def test_public_sets_are_read_with_their_k():
    cases = list(made.cases("public", draws=3))
    assert len(cases) == len(set(cases)) == 3 * 18
    instance = made.instance_of(made.Case("public", "seeds", 3, "ml_50_cl_50", 2))
    assert (instance.n_points, instance.k) == (210, 3)
    assert (len(instance.must_link), len(instance.cannot_link)) == (50, 50)


def test_missing_public_sets_are_skipped_visibly(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(made, "PUBLIC", tmp_path / "none")
    assert list(made.cases("public")) == []
    assert "SKIPPED" in capsys.readouterr().out


def test_other_names_are_refused():
    with pytest.raises(ParameterError, match="suite = 'table'"):
        list(made.cases("table"))
    with pytest.raises(ParameterError, match="name = 'blobs-100'"):
        made.generated("blobs-100", 5, np.random.default_rng(0))
