"""Relaxations by this project's method, by Clarabel and by SCS.

Both solvers solve the CVXPY problem of the relaxation (`sdpbb.relaxation`), with tolerances 1e-7.

Each relaxation comes with cuts: those with a multiplier after 200 iterations of the bounding of the
root. With these cuts, and no others,

    clarabel, scs   the value that the solver reports, and what its dual values prove
    ours            what the dual values of the method prove, once that does not rise any more

are computed in one process and one thread each. The instances are overlapping clouds with random
constraints, and public constraint sets that must-links make small.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from scripts.bench import rows
from scripts.bench.data import published_instance
from scripts.bench.suite import Case, Options
from scripts.bench.tables import markdown
from sdpbb.bounds.sdp.admm import Admm
from sdpbb.bounds.sdp.admm_run import BALANCE_PERIOD, BOUND_PERIOD
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.bounds.sdp.model import RelaxationModel
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import safe_bound
from sdpbb.problem import Contraction, Instance, contract

KEY = "instance"
COLUMNS = (
    "m k cuts clarabel scs ours clarabel_proves scs_proves clarabel_accurate scs_accurate"
    " iterations clarabel_seconds scs_seconds seconds version"
)
SOLVERS = ("clarabel", "scs")
TOLERANCES: dict[str, dict[str, Any]] = {"clarabel": {}, "scs": {"eps_abs": 1e-7, "eps_rel": 1e-7}}
RANDOM = ((20, 3), (20, 6), (40, 3), (40, 8), (60, 4), (60, 10), (80, 5))
PUBLIC = ("iris/ml_100_cl_0_0", "wine/ml_100_cl_0_0", "iris/ml_50_cl_50_0")
STEPS = 10
# The method has ended when its best bound has not risen for so many iterations, by so much relative
# to it. Its residuals say less: where solutions are not unique they are large when it is exact.
PATIENCE, RISE, MOST_ITERATIONS = 1000, 1e-9, 20_000
# Its seconds are those until the bound is that near to what it ends with: the solvers' tolerance.
NEAR = 1e-7


def clouds(m: int, k: int) -> Instance:
    """Return an instance of about m blocks.

    It has k clouds that overlap, and m / 4 constraints of each kind between points drawn at random,
    the must-links within a cloud and the cannot-links not.
    """
    rng = np.random.default_rng([m, k])
    n = m + m // 4
    labels = np.arange(n) % k
    points = rng.normal(size=(n, 4)) + 1.5 * rng.normal(size=(k, 4))[labels]
    i, j = rng.integers(0, n, size=(2, 40 * m))
    same = (labels[i] == labels[j]) & (i != j)
    pairs = np.column_stack([i, j])
    return Instance(points, k, pairs[same][: m // 4], pairs[labels[i] != labels[j]][: m // 4])


def cases(options: Options) -> list[Case]:
    """Return the cases, small ones first."""
    public = PUBLIC if (options.data / "pc-sos-sdp").is_dir() else ()
    return [{"instance": name} for name in (*(f"clouds-{m}-{k}" for m, k in RANDOM), *public)]


def instance_of(options: Options, name: str) -> Instance:
    if name.startswith("clouds"):
        return clouds(*map(int, name.split("-")[1:]))
    return published_instance(options.data, *name.split("/"))


def cuts_of_root(contraction: Contraction) -> CutSet:
    """Return the cuts that matter after STEPS evaluations of the bound."""
    run = SdpBounding().start(contraction, None)
    for _ in range(STEPS):
        run.advance(np.inf)
    dual = run.dual_point()
    return dual.cuts.select(dual.multipliers > 0.0)


def by_method(relaxation: Relaxation, cuts: CutSet) -> dict[str, Any]:
    """Run the method with fixed cuts, until its bound does not rise any more."""
    began = time.perf_counter()
    admm = Admm.centre(relaxation)
    admm.replace_cuts(cuts)
    history: list[tuple[float, int, float]] = []
    best, last_rise = 0.0, 0
    while admm.n_iterations < min(last_rise + PATIENCE, MOST_ITERATIONS):
        admm.iterate()
        if admm.n_iterations % BALANCE_PERIOD == 0:
            admm.balance()
        if admm.n_iterations % BOUND_PERIOD == 0:
            bound = safe_bound(relaxation, admm.dual_point()).value
            history.append((bound, admm.n_iterations, time.perf_counter() - began))
            if bound > best * (1.0 + RISE):
                best, last_rise = bound, admm.n_iterations
    best = max(bound for bound, _, _ in history)
    _, iterations, seconds = next(one for one in history if one[0] >= best * (1.0 - NEAR))
    return {"ours": best, "iterations": iterations, "seconds": seconds}


def by_solver(relaxation: Relaxation, cuts: CutSet, solver: str) -> dict[str, Any]:
    """Return a solver's value, and what its dual values prove."""
    began = time.perf_counter()
    model = RelaxationModel(relaxation, cuts)
    value = model.solve(solver, **TOLERANCES[solver])
    seconds = time.perf_counter() - began
    return {
        solver: value,
        f"{solver}_proves": model.proven_bound(),
        f"{solver}_accurate": model.status == "optimal",
        f"{solver}_seconds": seconds,
    }


def measure(options: Options, instance: str) -> dict[str, Any]:
    """Solve by all three, after a small relaxation that compiles, or loads, what they need."""
    compare(clouds(12, 3))
    return compare(instance_of(options, instance))


def compare(instance: Instance) -> dict[str, Any]:
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    relaxation = Relaxation.of(contraction)
    with threadpool_limits(1):
        cuts = cuts_of_root(contraction)
        row = by_method(relaxation, cuts)
        for solver in SOLVERS:
            row |= by_solver(relaxation, cuts, solver)
    return {"m": relaxation.m, "k": relaxation.k, "cuts": len(cuts)} | row


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return one line for each row; differences relative to the value that Clarabel reports."""
    head = (
        *("instance", "m", "k", "cuts", "Clarabel", "SCS", "ours"),
        *("SCS - Clarabel", "ours - Clarabel", "Clarabel's duals - ours", "SCS's duals - ours"),
        *("s Clarabel", "s SCS", "s ours", "Clarabel / ours", "SCS / ours"),
    )
    lines = []
    for row in known:
        proven = ("ours", "clarabel_proves", "scs_proves")
        value = {name: float(row[name]) for name in (*SOLVERS, *proven)}
        seconds = [float(row[name]) for name in ("clarabel_seconds", "scs_seconds", "seconds")]
        marks = ["" if row[f"{solver}_accurate"] == "True" else "\\*" for solver in SOLVERS]
        differences = (
            value["scs"] - value["clarabel"],
            value["ours"] - value["clarabel"],
            value["clarabel_proves"] - value["ours"],
            value["scs_proves"] - value["ours"],
        )
        lines.append(
            (
                *(row[name] for name in ("instance", "m", "k", "cuts")),
                f"{value['clarabel']:.6f}{marks[0]}",
                f"{value['scs']:.6f}{marks[1]}",
                f"{value['ours']:.6f}",
                *(f"{difference / value['clarabel']:.1e}" for difference in differences),
                *(f"{one:.2f}" for one in seconds),
                *(f"{one / seconds[2]:.1f}" for one in seconds[:2]),
            )
        )
    return markdown(head, lines)


TABLES = {"crosscheck": table}
