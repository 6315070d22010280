"""Certificates of column generation in the plane: many points with sizes, diameters and
heavy must-link blocks."""

from __future__ import annotations

import numpy as np
import pytest

import sdpbb
from sdpbb.run.parameters import SolverParameters

N, K = 150, 50
SIZE, SPREAD = 4, 0.17


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
def test_a_hundred_points_and_more_are_proven(tmp_path, kind):
    points, (is_heavy, limits) = scattered(), LIMITS[kind]
    must_link = heavy_blocks(points) if is_heavy else NONE
    instance = sdpbb.Instance(points, K, must_link, cluster_constraints=limits)
    parameters = SolverParameters(bounding="colgen", gap=1e-3)
    result = sdpbb.solve(instance, parameters, certificate=tmp_path / "proof")
    assert result.status.value == "optimal"
    verdict = sdpbb.verify_certificate(tmp_path / "proof", instance)
    assert verdict.status == "optimal"
    assert verdict.gap <= 1e-3 * (1.0 + 1e-9)
