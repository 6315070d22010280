"""Profile the semidefinite bound of a root: what takes the time, and what the machine would need.

Give data and constraints as for `sdpbb solve`. For each part of an iteration: its milliseconds of
processor time on one core and its share, the operations and the bytes that it moves, the time that
they take at the rates of matrix products and of copies measured on this core, and how many times as
long the part takes. Then, how long a round looks for triangles and stars, by the iterations between
two rounds. Last, the speed-up that the shares allow on 2, 8 and 16 cores (Amdahl's law).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import rows
from threadpoolctl import threadpool_limits

import sdpbb
from sdpbb.bounds.sdp import admm, admm_run, safe_bound, spectrum
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.cuts.cliques import CliqueCuts
from sdpbb.bounds.sdp.cuts.pentagons import PentagonCuts
from sdpbb.bounds.sdp.cuts.stars import StarCuts
from sdpbb.bounds.sdp.cuts.triangles import TriangleCuts
from sdpbb.problem import Contraction, contract
from sdpbb.run.kernels import WarmUp

CORES = (2, 8, 16)
SEPARATION = ("triangles", "stars")
BOUNDS = ("eigenvalues of bounds", "matrices of bounds")
# Operations of LAPACK for an order r, in r^3: all eigenpairs of a small matrix, eigenvalues alone.
PAIRS, VALUES = 9.0, 4.0 / 3.0


@dataclass
class Part:
    """Part of an iteration: a function, and its work.

    owner, function : where it is looked up
    work : arguments of a call to its operations and bytes; None where they depend on the data
    is_shared : whether cores share it
    """

    name: str
    owner: Any
    function: str
    work: Callable[..., tuple[float, float]] | None
    is_shared: bool
    seconds: float = 0.0
    operations: float = 0.0
    bytes: float = 0.0


def parts() -> list[Part]:
    """Return the parts; the time of one does not count those that it calls."""
    projector = spectrum.SpectralProjector
    return [
        Part("products", spectrum, "_product", _of_product, True),
        Part("Gram matrices", spectrum, "_gram", _of_gram, True),
        Part("square", spectrum, "_square", _of_square, True),
        Part("Rayleigh-Ritz", np.linalg, "eigh", lambda A: (PAIRS * len(A) ** 3, 0.0), False),
        Part("full eigenpairs", projector, "_exactly", _of_pairs, False),
        Part("rest of projection", projector, "project", None, False),
        Part("dual sweeps", admm, "dual_sweeps", _of_sweeps, False),
        Part("polyhedral step", admm.Admm, "_project_onto_polyhedron", _of_step, True),
        Part("triangles", TriangleCuts, "separate", None, True),
        Part("stars", StarCuts, "separate", None, True),
        Part("cliques", CliqueCuts, "separate", None, True),
        Part("pentagons", PentagonCuts, "separate", None, False),
        Part("exchange of cuts", admm.Admm, "replace_cuts", None, False),
        Part("eigenvalues of bounds", safe_bound, "smallest_eigenvalues", _of_values, False),
        Part("matrices of bounds", admm_run.AdmmRun, "_evaluate", _of_bound, True),
    ]


def _of_product(A: Any, B: Any) -> tuple[float, float]:
    return 2.0 * A.size * B.shape[1], A.nbytes + 2.0 * B.nbytes


def _of_gram(A: Any, B: Any) -> tuple[float, float]:
    return 2.0 * A.size * B.shape[1], 0.0


def _of_square(A: Any, out: Any) -> tuple[float, float]:
    return A.size * len(A), out.nbytes / 2.0  # the upper triangle


def _of_pairs(projector: Any, M: Any) -> tuple[float, float]:
    return PAIRS * len(M) ** 3, M.nbytes


def _of_values(A: Any, count: int) -> tuple[float, float]:
    return VALUES * len(A) ** 3, A.nbytes


def _of_sweeps(*arguments: Any) -> tuple[float, float]:
    entries, terms, sweeps = len(arguments[4]), len(arguments[6]), arguments[-1]
    return 4.0 * terms * sweeps, 24.0 * entries + 20.0 * terms * sweeps


def _of_step(method: Any) -> tuple[float, float]:
    # Upper triangles of Y, W, U, K are read, of W and U written, and both of M.
    m = method.relaxation.m
    return 10.0 * m * m, 8.0 * m * m * (6 / 2 + 1)


def _of_bound(run: Any, *arguments: Any, **options: Any) -> tuple[float, float]:
    m = run.relaxation.m  # U to N, its nonnegative part, sums of cuts, S, and its restriction
    return 20.0 * m * m, 8.0 * m * m * 14


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--constraints")
    parser.add_argument("-k", type=int)
    parser.add_argument("--sample", type=int, help="points drawn at random")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--csv", type=Path, help="a file that rows are appended to")
    arguments = parser.parse_args()
    instance = sdpbb.read_instance(arguments.data, arguments.k, arguments.constraints)
    if arguments.sample is not None:
        chosen = np.random.default_rng(0).choice(len(instance.points), arguments.sample, False)
        instance = sdpbb.Instance(instance.points[chosen], instance.k)
    contraction = contract(instance)
    if not isinstance(contraction, Contraction):
        print(f"infeasible: {contraction}", file=sys.stderr)
        return 1
    with threadpool_limits(1):
        WarmUp("sdp")()
        rates = product_rate(), copy_rate()
        found = parts()
        run = SdpBounding().start(contraction, None)
        watch(found)
        begun = time.process_time()
        while run.n_iterations < arguments.iterations:
            progress = run.advance(float("inf"))
        seconds = time.process_time() - begun
    m = contraction.n_blocks
    print(
        f"{m} blocks, k = {contraction.k}, {run.n_iterations} iterations: {seconds:.2f} s, ", end=""
    )
    print(f"bound {progress.bound.value:.10g} with {progress.n_cuts} cuts")
    print(f"one core: products {rates[0] / 1e9:.1f} Gflop/s, copies {rates[1] / 1e9:.1f} GB/s\n")
    found_rows = [row(part, m, run.n_iterations, seconds, rates) for part in found if part.seconds]
    show(found_rows)
    looking = sum(part.seconds for part in found if part.name in SEPARATION)
    bounding = sum(part.seconds for part in found if part.name in BOUNDS)
    times = looking / (seconds - looking - bounding)
    print(f"\ntriangles and stars: {times:.2f} times the iterations between two rounds")
    serial = 1.0 - sum(part.seconds for part in found if part.is_shared) / seconds
    speedups = [f"{1.0 / (serial + (1.0 - serial) / n):.2f} on {n}" for n in CORES]
    print(f"serial {100 * serial:.1f} %: at most {', '.join(speedups)} cores")
    if arguments.csv:
        for each in found_rows:
            rows.append(arguments.csv, list(each), each)
    return 0


def product_rate() -> float:
    """Return operations per second of products of matrices in double precision, on one core."""
    A = np.random.default_rng(0).normal(size=(1000, 1000))
    return 2e9 / _least_seconds(lambda: A @ A)


def copy_rate() -> float:
    """Return bytes per second that a copy of 128 MiB reads and writes, on one core."""
    A = np.ones(2**24)
    B = A.copy()
    return 2.0 * A.nbytes / _least_seconds(lambda: np.copyto(B, A))


def _least_seconds(step: Callable[[], object]) -> float:
    times = []
    for _ in range(7):
        begun = time.process_time()
        step()
        times.append(time.process_time() - begun)
    return min(times)


def watch(found: list[Part]) -> None:
    """Count time and work of the parts from now on."""
    inner: list[float] = []  # seconds of the parts that those under way have called
    for part in found:
        original = getattr(part.owner, part.function)

        @wraps(original)
        def counted(
            *arguments: Any, part: Part = part, original: Any = original, **options: Any
        ) -> Any:
            inner.append(0.0)
            begun = time.process_time()
            value = original(*arguments, **options)
            passed = time.process_time() - begun
            part.seconds += passed - inner.pop()
            if inner:
                inner[-1] += passed
            if part.work is not None:
                operations, moved = part.work(*arguments, **options)
                part.operations += operations
                part.bytes += moved
            return value

        setattr(part.owner, part.function, counted)


def row(
    part: Part, m: int, n_iterations: int, seconds: float, rates: tuple[float, float]
) -> dict[str, Any]:
    """Return what is known of a part, per iteration."""
    needed = max(part.operations / rates[0], part.bytes / rates[1])
    return {
        "blocks": m,
        "part": part.name,
        "cores": "all" if part.is_shared else "one",
        "ms": round(1e3 * part.seconds / n_iterations, 4),
        "share": round(part.seconds / seconds, 4),
        "mflop": round(part.operations / n_iterations / 1e6, 3),
        "mb": round(part.bytes / n_iterations / 1e6, 3),
        "needed_ms": round(1e3 * needed / n_iterations, 4),
        "ratio": round(part.seconds / needed, 1) if needed else "",
    }


def show(found: list[dict[str, Any]]) -> None:
    """Print rows as a table, an iteration each."""
    print("part                          ms   share    Mflop       MB  needs ms  ratio")
    for each in sorted(found, key=lambda each: -each["ms"]):
        print(
            f"{each['part']:22s} {each['ms']:9.3f} {100 * each['share']:6.1f}% "
            f"{each['mflop']:8.2f} {each['mb']:8.2f} {each['needed_ms']:9.3f} {each['ratio']:>6}"
        )


if __name__ == "__main__":
    sys.exit(main())
