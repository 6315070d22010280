"""Profile the semidefinite bound of a root: which of its parts take the time.

Give data and constraints as for `sdpbb solve`. Prints seconds and shares of the spectral
projection, the polyhedral step, separation, and the evaluation of the bound, on one core.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys

from threadpoolctl import threadpool_limits

import sdpbb
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.compilation import exercise_kernels
from sdpbb.problem import Contraction, contract

# File and function, and what they are.
PARTS = {
    ("spectrum.py", "project"): "spectral projection",
    ("spectrum.py", "_exactly"): "  of it: LAPACK",
    ("admm_kernels.py", "relaxed_sum"): "relaxed sum",
    ("admm_kernels.py", "dual_sweeps"): "dual sweeps",
    ("admm_kernels.py", "polyhedral_iterates"): "polyhedral iterates",
    ("cuts/__init__.py", "separate"): "separation",
    ("star_kernels.py", "violated_triangles"): "  of it: triangles",
    ("star_kernels.py", "violated_stars"): "  of it: stars",
    ("admm.py", "replace_cuts"): "exchange of cuts",
    ("safe_bound.py", "safe_bound"): "bound",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--constraints")
    parser.add_argument("-k", type=int)
    parser.add_argument("--iterations", type=int, default=200)
    arguments = parser.parse_args()
    instance = sdpbb.read_instance(arguments.data, arguments.k, arguments.constraints)
    contraction = contract(instance)
    if not isinstance(contraction, Contraction):
        print(f"infeasible: {contraction}", file=sys.stderr)
        return 1
    with threadpool_limits(1):
        exercise_kernels("sdp")
        run = SdpBounding().start(contraction, None)
        profile = cProfile.Profile()
        profile.enable()
        while run.n_iterations < arguments.iterations:
            progress = run.advance(float("inf"))
        profile.disable()
    show(profile, run.n_iterations, contraction.n_blocks)
    print(f"bound {progress.bound.value:.10g} with {progress.n_cuts} cuts")
    return 0


def show(profile: cProfile.Profile, n_iterations: int, n_blocks: int) -> None:
    stats = pstats.Stats(profile)
    total = stats.total_tt  # type: ignore[attr-defined]
    print(f"{n_iterations} iterations, {n_blocks} blocks: {total:.2f} s")
    for wanted, name in PARTS.items():
        for (file, _, function), (_, calls, _, seconds, _) in stats.stats.items():  # type: ignore[attr-defined]
            if file.endswith(f"/{wanted[0]}") and function == wanted[1]:
                print(
                    f"{name:24s} {seconds:8.2f} s {100 * seconds / total:5.1f} % {calls:7d} calls"
                )


if __name__ == "__main__":
    sys.exit(main())
