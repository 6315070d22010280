"""Certificates that were written by earlier versions are still accepted.

To keep those of a new format, run this module: it writes a certificate for each instance that has
none.
"""

from pathlib import Path

import numpy as np
import pytest

import sdpbb
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.run.decomposition.parameters import DecompositionParameters

KEPT = Path(__file__).with_name("kept")
SDP = sdpbb.SolverParameters(bounding="sdp", sdp=SdpParameters(max_iterations=20))
HYBRID = sdpbb.SolverParameters()
SUBSETS = sdpbb.SolverParameters(
    bounding="decomposition", decomposition=DecompositionParameters(smallest=12), gap=0.2
)
PAIRS = {"must_link": [(0, 1), (2, 3)], "cannot_link": [(0, 2), (4, 5), (5, 6), (4, 6)]}
PAIRS_OF_GROUPS = {"must_link": [(0, 3), (1, 7), (2, 50)], "cannot_link": [(0, 1), (30, 40)]}


def scattered(n: int, d: int, k: int, **constraints) -> sdpbb.Instance:
    """Points without structure, the same to the last bit on every machine."""
    numbers = np.arange(1, n * d + 1, dtype=np.int64) * 7919
    return sdpbb.Instance((numbers * numbers % 10007 / 100.0).reshape(n, d), k, **constraints)


def grouped(n: int, k: int, **constraints) -> sdpbb.Instance:
    """Clear groups, of which subsets prove nearly all."""
    instance = scattered(n, 2, k)
    points = instance.points / 20.0 + 10.0 * (np.arange(n) % k)[:, None]
    return sdpbb.Instance(points, k, **constraints)


RUNS = {
    "tree": (scattered(34, 5, 4, **PAIRS), SDP),
    "two_clusters": (scattered(40, 3, 2), SDP),
    "columns": (scattered(40, 2, 10, **PAIRS), HYBRID),
    "sizes": (scattered(20, 2, 4, cluster_constraints=[sdpbb.MaximumSize(6)]), HYBRID),
    "subsets": (grouped(64, 3, **PAIRS_OF_GROUPS), SUBSETS),
    "infeasible": (scattered(6, 2, 2, cannot_link=[(0, 1), (1, 2), (0, 2)]), HYBRID),
}


@pytest.mark.parametrize("name", RUNS)
def test_kept_certificates_are_accepted(name):
    instance, _ = RUNS[name]
    verdict = sdpbb.verify_certificate(KEPT / f"{name}.cert", instance)
    expected = "infeasible" if name == "infeasible" else "optimal"
    assert str(verdict.status) == expected, verdict


def write_missing() -> None:
    KEPT.mkdir(exist_ok=True)
    for name, (instance, parameters) in RUNS.items():
        path = KEPT / f"{name}.cert"
        if not path.exists():
            result = sdpbb.solve(instance, parameters, certificate=path)
            print(name, result.status, result.statistics.n_nodes, path.stat().st_size)


if __name__ == "__main__":
    write_missing()
