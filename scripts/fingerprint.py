"""Print what small runs come to, to the last bit, so that two versions can be compared.

    python scripts/fingerprint.py > before.txt
    ... a change that must not change results ...
    python scripts/fingerprint.py | diff before.txt -

Runs with one worker and without limits are repeatable: a change of structure leaves every line as
it is. A change of method does not, and belongs in the benchmarks instead.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

import sdpbb
from sdpbb.bounds.sdp.parameters import SdpParameters

HASTY = SdpParameters(max_iterations=20)
SDP = sdpbb.SolverParameters(bounding="sdp", sdp=HASTY)
HYBRID = sdpbb.SolverParameters()
COLGEN = sdpbb.SolverParameters(bounding="colgen")


def cloud(n: int, d: int, k: int, seed: int, **constraints) -> sdpbb.Instance:
    """Return points without structure, whose runs branch."""
    return sdpbb.Instance(np.random.default_rng(seed).normal(size=(n, d)), k, **constraints)


def runs():
    """Yield (name, instance, parameters)."""
    pairs = {"must_link": [(0, 1), (2, 3)], "cannot_link": [(0, 2), (4, 5), (5, 6), (4, 6)]}
    small, smaller = cloud(60, 10, 6, 1), cloud(34, 6, 4, 2)
    constrained, plane = cloud(50, 3, 4, 3, **pairs), cloud(60, 2, 12, 5, **pairs)
    yield "small sdp", small, SDP
    yield "smaller sdp", smaller, SDP
    yield "constrained sdp", constrained, SDP
    yield "small hybrid", small, HYBRID
    yield "constrained hybrid", constrained, HYBRID
    yield "plane hybrid", plane, HYBRID
    yield "plane colgen", plane, COLGEN
    yield "two clusters sdp", cloud(60, 4, 2, 4), SDP
    conic = replace(SDP, sdp=SdpParameters(solver="clarabel"))
    yield "conic sdp", cloud(14, 3, 3, 6), conic
    sizes = [sdpbb.MaximumSize(6)]
    yield "sizes hybrid", cloud(20, 2, 4, 7, cluster_constraints=sizes), HYBRID
    yield "sizes colgen", cloud(20, 2, 4, 7, cluster_constraints=sizes), COLGEN
    yield "certified sdp", smaller, replace(SDP, certify=True)
    yield "certified hybrid", plane, replace(HYBRID, certify=True)


def main() -> int:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    for name, instance, parameters in runs():
        result = sdpbb.solve(instance, parameters)
        statistics = result.statistics
        exact = [
            float.hex(x)
            for x in (result.objective, result.lower_bound, statistics.root_lower_bound)
        ]
        counts = (statistics.n_nodes, statistics.n_iterations, statistics.n_fixed)
        print(name, result.status, *exact, *counts, sep="; ", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
