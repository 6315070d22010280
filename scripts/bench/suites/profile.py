"""Semidefinite bound of a root: what takes the time, and what the machine would need.

The points are random ones of electric (k = 3). For each part of an iteration: its milliseconds of
processor time on one core and its share, the operations and the bytes that it moves, the time that
they take at the rates of matrix products and of copies measured on this core, and how many times as
long the part takes. Beside them, how long a round looks for triangles and stars, by the iterations
between two rounds, and the speed-up that the shares allow on several cores (Amdahl's law).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from scripts.bench import rows
from scripts.bench.measuring import warm_up
from scripts.bench.suite import Case, Options
from scripts.bench.tables import markdown
from sdpbb.bounds.sdp import admm, admm_run, safe_bound, spectrum
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.cuts.cliques import CliqueCuts
from sdpbb.bounds.sdp.cuts.pentagons import PentagonCuts
from sdpbb.bounds.sdp.cuts.stars import StarCuts, TriangleCuts
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.formats import read_instance

KEY = "blocks"
COLUMNS = "part cores ms share mflop mb needed_ms ratio"
SIZES, ITERATIONS = (150, 500, 1000, 2000, 4000), 60
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


def cases(options: Options) -> list[Case]:
    exists = (options.data / "avoc" / "electric.txt").exists()
    return [{"blocks": m} for m in SIZES if exists]


def measure(options: Options, blocks: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each part, per iteration."""
    points = read_instance(options.data / "avoc" / "electric.txt", 3).points
    chosen = np.random.default_rng(0).choice(len(points), blocks, False)
    contraction = contract(Instance(points[chosen], 3))
    assert isinstance(contraction, Contraction)
    with threadpool_limits(1):
        warm_up("sdp")
        rates = product_rate(), copy_rate()
        found = parts()
        run = SdpBounding().start(contraction, None)
        watch(found)
        begun = time.process_time()
        while run.n_iterations < ITERATIONS:
            run.advance(float("inf"))
        seconds = time.process_time() - begun
    n = run.n_iterations
    for part in found:
        if not part.seconds:
            continue
        needed = max(part.operations / rates[0], part.bytes / rates[1])
        yield {
            "part": part.name,
            "cores": "all" if part.is_shared else "one",
            "ms": round(1e3 * part.seconds / n, 4),
            "share": round(part.seconds / seconds, 4),
            "mflop": round(part.operations / n / 1e6, 3),
            "mb": round(part.bytes / n / 1e6, 3),
            "needed_ms": round(1e3 * needed / n, 4),
            "ratio": round(part.seconds / needed, 1) if needed else "",
        }


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


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return milliseconds of each part by the number of blocks, and what follows from them."""
    sizes = sorted({int(row["blocks"]) for row in known})
    of_size = {m: [row for row in known if int(row["blocks"]) == m] for m in sizes}
    lines = []
    for (part, cores), own in rows.grouped(known, "part", "cores").items():
        cells = {int(r["blocks"]): f"{float(r['ms']):.2f}" for r in own}
        times = {int(r["blocks"]): f" ({r['ratio']})" if r["ratio"] else "" for r in own}
        lines.append([part, cores, *(cells.get(m, "-") + times.get(m, "") for m in sizes)])

    def sums(name: str, told: Callable[[list[rows.Row]], str]) -> None:
        lines.append([name, "", *(told(of_size[m]) for m in sizes)])

    for name, column in (("Mflop", "mflop"), ("MB moved", "mb")):
        sums(name, lambda some, column=column: f"{sum(rows.numbers(some, column)):.0f}")  # type: ignore[misc]
    sums("**all**", lambda some: f"**{total(some):.1f}**")
    sums("serial", lambda some: f"{100 * serial(some):.0f} %")
    for n in CORES:
        sums(f"at most, on {n} cores", lambda some, n=n: f"{speedup(serial(some), n):.1f}")  # type: ignore[misc]
    sums("triangles and stars by the rest", lambda some: f"{looking(some):.2f}")
    return markdown(["part", "cores", *(f"{m:,}" for m in sizes)], lines, text=(0, 1))


def total(some: list[rows.Row]) -> float:
    """Return the milliseconds of an iteration."""
    largest = max(some, key=lambda row: float(row["share"]))
    return float(largest["ms"]) / float(largest["share"])


def serial(some: list[rows.Row]) -> float:
    """Return the share of the parts that one core works on."""
    return 1.0 - sum(float(row["share"]) for row in some if row["cores"] == "all")


def speedup(alone: float, n: int) -> float:
    return 1.0 / (alone + (1.0 - alone) / n)


def looking(some: list[rows.Row]) -> float:
    """Return the time of looking for triangles and stars, by that of the iterations between."""
    share = {row["part"]: float(row["share"]) for row in some}
    looked = sum(share.get(name, 0.0) for name in SEPARATION)
    return looked / (1.0 - looked - sum(share.get(name, 0.0) for name in BOUNDS))


TABLES = {"profile": table}
