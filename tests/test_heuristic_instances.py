import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from sdpbb.problem import Partition

ROOT = Path(__file__).resolve().parents[1]
BH_KMEANS = ROOT.parent / "shared" / "data" / "bh-kmeans"


@pytest.fixture(scope="module")
def made():
    path = ROOT / "scripts" / "heuristic_instances.py"
    spec = importlib.util.spec_from_file_location("heuristic_instances", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["heuristic_instances"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["heuristic_instances"]


@pytest.mark.parametrize(("n", "fraction"), [(100, 0.07), (30, 0.33), (12, 0.8), (9, 1.0), (50, 0)])
def test_as_many_different_pairs_as_the_percentage_says_and_all_true(made, n, fraction):
    labels = np.random.default_rng(0).integers(4, size=n)
    must_link, cannot_link = made.constraints_by_percentage(
        labels, fraction, np.random.default_rng(1)
    )
    c = {0.07: 7, 0.33: 10, 0.8: 10, 1.0: 9, 0: 0}[fraction]
    pairs = np.concatenate([must_link, cannot_link])
    assert len(pairs) == c * (c - 1) // 2
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert (labels[must_link[:, 0]] == labels[must_link[:, 1]]).all()
    assert (labels[cannot_link[:, 0]] != labels[cannot_link[:, 1]]).all()


def test_every_pair_is_drawn_equally_often(made):
    rng = np.random.default_rng(2)
    count = np.zeros((6, 6))
    for _ in range(2000):
        _, pairs = made.constraints_by_percentage(np.arange(6), 0.5, rng)  # 3 of 15
        count[tuple(pairs.T)] += 1
    drawn = count[np.triu_indices(6, 1)] / 2000
    assert drawn.sum() == pytest.approx(3)
    assert np.abs(drawn - 0.2).max() < 0.04  # 4.5 standard deviations


def test_instances_are_standardised_and_kept_by_the_truth(made):
    instance, labels = made.col2(500, 5, 0.05, seed=3)
    assert (instance.n_points, instance.n_features, instance.k) == (500, 2, 5)
    assert len(instance.must_link) + len(instance.cannot_link) == 300
    assert instance.points.mean(axis=0) == pytest.approx(np.zeros(2), abs=1e-12)
    assert instance.points.std(axis=0) == pytest.approx(np.ones(2))
    assert Partition(labels).is_feasible(instance)
    softened = made.with_soft_cannot_links(instance)
    assert np.array_equal(softened.soft_cannot_link.pairs, instance.cannot_link)
    assert not len(softened.cannot_link)


def test_large_clouds_are_made_in_the_same_way(made):
    instance, labels = made.col3(seed=0, n=400, k=8, n_features=10)
    assert (instance.n_points, instance.n_features, instance.k) == (400, 10, 8)
    assert len(instance.must_link) + len(instance.cannot_link) == 190
    assert Partition(labels).is_feasible(instance)


@pytest.mark.skipif(not BH_KMEANS.is_dir(), reason=f"no published constraint sets in {BH_KMEANS}")
@pytest.mark.parametrize("name", ["iris", "wine"])
@pytest.mark.parametrize("percent", ["0.05", "0.1", "0.15", "0.2"])
def test_published_constraint_sets_agree_with_the_classes(made, name, percent):
    instance, labels = made.bh_kmeans(name, percent, BH_KMEANS)
    c = int(np.ceil(float(percent) * instance.n_points - 1e-9))
    assert len(instance.must_link) + len(instance.cannot_link) == c * (c - 1) // 2
    assert Partition(labels).is_feasible(instance)
