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
