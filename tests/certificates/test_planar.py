"""Certificates of column generation in the plane: small instances against enumeration, and hundreds
of points with sizes, diameters and heavy must-link blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.run.parameters import SolverParameters
from tests.enumeration import optimum
from tests.examples import examples


def heavy_block(rng, n, weight):
    """Must-links that make one block of so many of n points."""
    members = rng.permutation(n)[:weight]
    return np.array([(members[0], j) for j in members[1:]], np.intp).reshape(-1, 2)


def small_instance(seed):
    """Up to nine points in the plane or on a line, a third of them in one block, with limits."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 10)), int(rng.integers(1, 3))
    points = rng.normal(size=(n, d)) * rng.choice([1.0, 1e-3, 1e4])
    if rng.random() < 0.3:
        points = np.round(points)
    weight = max(2, n // 3)
    k = int(rng.integers(2, n - weight + 2))
    size = sdpbb.MaximumSize(int(rng.integers(weight, n)))
    spread = float(np.linalg.norm(points[:, None] - points, axis=2).max())
    diameter = sdpbb.MaximumDiameter(spread * rng.uniform(0.6, 1.0) + 1e-9)
    chosen = [(size,), (diameter,), (size, diameter)][int(rng.integers(3))]
    must_link = heavy_block(rng, n, weight) if rng.random() < 0.7 else np.empty((0, 2), np.intp)
    return sdpbb.Instance(points, k, must_link, cluster_constraints=chosen)


@pytest.mark.long
@examples(30)
@given(seed=st.integers(0, 10**6))
def test_small_instances_are_proven(tmp_path_factory, seed):
    instance, path = small_instance(seed), tmp_path_factory.mktemp("run") / "proof"
    parameters = SolverParameters(bounding="colgen", gap=1e-6)
    result = sdpbb.solve(instance, parameters, certificate=path)
    verdict = sdpbb.verify_certificate(path, instance)
    truth = optimum(instance)
    assert verdict.status == result.status.value
    if truth is None:
        assert verdict.status == "infeasible"
        return
    assert verdict.status == "optimal"
    assert verdict.lower_bound <= truth * (1.0 + 1e-9)
    assert verdict.cost == pytest.approx(truth, rel=1e-6, abs=1e-12)


N, K = 300, 100
SIZE, SPREAD = 4, 0.12


def scattered():
    """Points without structure."""
    return np.random.default_rng(0).random((N, 2))


def heavy_blocks(points):
    """Must-links of each of fifteen points with the three nearest ones that are free."""
    links, free = [], np.ones(len(points), bool)
    for i in range(0, N, N // 15):
        squares = np.where(free, ((points - points[i]) ** 2).sum(axis=1), np.inf)
        block = [i, *(j for j in np.argsort(squares)[:4] if j != i)][:SIZE]
        if free[block].all():
            free[block] = False
            links += [(i, j) for j in block[1:]]
    return np.array(links, np.intp)


NONE = np.empty((0, 2), np.intp)
LIMITS = {
    "blocks": (True, ()),
    "sizes": (False, (sdpbb.MaximumSize(SIZE),)),
    "diameter": (False, (sdpbb.MaximumDiameter(SPREAD),)),
    "all": (True, (sdpbb.MaximumSize(SIZE + 2), sdpbb.MaximumDiameter(2.0 * SPREAD))),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", LIMITS)
def test_hundreds_of_points_are_proven(tmp_path, kind):
    points, (is_heavy, limits) = scattered(), LIMITS[kind]
    must_link = heavy_blocks(points) if is_heavy else NONE
    instance = sdpbb.Instance(points, K, must_link, cluster_constraints=limits)
    parameters = SolverParameters(bounding="colgen", gap=1e-3)
    result = sdpbb.solve(instance, parameters, certificate=tmp_path / "proof")
    assert result.status.value == "optimal"
    verdict = sdpbb.verify_certificate(tmp_path / "proof", instance)
    assert verdict.status == "optimal"
    assert verdict.gap <= 1e-3 * (1.0 + 1e-9)
