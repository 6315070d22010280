"""Solve the same semidefinite relaxations by this project's method, by Clarabel and by SCS.

Both solvers solve the CVXPY problem of the relaxation (`sdpbb.relaxation`), with tolerances 1e-7.

Each relaxation comes with cuts: those with a multiplier after 200 iterations of the bounding of the
root. With these cuts, and no others,

    clarabel, scs   the value that the solver reports, and what its dual values prove
    ours            what the dual values of the method prove, once that does not rise any more

are computed in one process and one thread each. The instances are overlapping clouds with random
constraints, and public constraint sets that must-links make small (those of `scripts/benchmark.py`,
where they are). Each row is appended to the CSV file at once, and rows that are there already are
not made again. The table of all rows is printed at the end.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rows
from benchmark import ROOT, SHARED
from threadpoolctl import threadpool_limits

from sdpbb.bounds.sdp.admm import Admm, AdmmState
from sdpbb.bounds.sdp.admm_run import BALANCE_PERIOD, BOUND_PERIOD
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.cuts.cut_set import CutSet
from sdpbb.bounds.sdp.model import RelaxationModel
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import safe_bound
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.formats import read_instance

FIELDS = (
    *("instance", "m", "k", "cuts", "clarabel", "scs", "ours", "clarabel_proves", "scs_proves"),
    *("clarabel_accurate", "scs_accurate", "iterations"),
    *("clarabel_seconds", "scs_seconds", "seconds", "version"),
)
SOLVERS = ("clarabel", "scs")
OPTIONS: dict[str, dict[str, Any]] = {"clarabel": {}, "scs": {"eps_abs": 1e-7, "eps_rel": 1e-7}}
RANDOM = ((20, 3), (20, 6), (40, 3), (40, 8), (60, 4), (60, 10), (80, 5))
PUBLIC = ("iris/ml_100_cl_0_0", "wine/ml_100_cl_0_0", "iris/ml_50_cl_50_0")
STEPS = 10
# The method has ended when its best bound has not risen for so many iterations, by so much relative
# to it. Its residuals say less: where solutions are not unique they are large when it is exact.
PATIENCE, RISE, MOST_ITERATIONS = 1000, 1e-9, 20_000
# Its seconds are those until the bound is that near to what it ends with: the solvers' tolerance.
NEAR = 1e-7


class Case(NamedTuple):
    name: str
    contraction: Contraction


def clouds(m: int, k: int) -> Case:
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
    instance = Instance(points, k, pairs[same][: m // 4], pairs[labels[i] != labels[j]][: m // 4])
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    return Case(f"clouds-{m}-{k}", contraction)


def cases(data: Path, largest: int) -> Iterator[Case]:
    """Return the cases, small ones first."""
    for m, k in RANDOM:
        if m <= largest:
            yield clouds(m, k)
    for name in PUBLIC:
        folder, file = name.split("/")
        constraints = data / "constraints" / folder / f"{file}.txt"
        if not constraints.exists():
            print(f"{name}: not there ({constraints})", flush=True)
            continue
        points = data / "datasets" / f"{folder}.txt"
        contraction = contract(read_instance(points, None, constraints))
        assert isinstance(contraction, Contraction)
        if contraction.n_blocks <= largest:
            yield Case(name, contraction)


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
    state = AdmmState.centre(relaxation)
    admm = Admm(relaxation, state)
    admm.replace_cuts(cuts)
    history: list[tuple[float, int, float]] = []
    best, last_rise = 0.0, 0
    while state.n_iterations < min(last_rise + PATIENCE, MOST_ITERATIONS):
        admm.iterate()
        if state.n_iterations % BALANCE_PERIOD == 0:
            admm.balance()
        if state.n_iterations % BOUND_PERIOD == 0:
            bound = safe_bound(relaxation, admm.dual_point()).value
            history.append((bound, state.n_iterations, time.perf_counter() - began))
            if bound > best * (1.0 + RISE):
                best, last_rise = bound, state.n_iterations
    best = max(bound for bound, _, _ in history)
    _, iterations, seconds = next(one for one in history if one[0] >= best * (1.0 - NEAR))
    return {"ours": best, "iterations": iterations, "seconds": seconds}


def by_solver(relaxation: Relaxation, cuts: CutSet, solver: str) -> dict[str, Any]:
    """Return a solver's value, and what its dual values prove."""
    began = time.perf_counter()
    model = RelaxationModel(relaxation, cuts)
    value = model.solve(solver, **OPTIONS[solver])
    seconds = time.perf_counter() - began
    return {
        solver: value,
        f"{solver}_proves": model.proven_bound(),
        f"{solver}_accurate": model.status == "optimal",
        f"{solver}_seconds": seconds,
    }


def compare(case: Case) -> dict[str, Any]:
    """Return the row of a case."""
    import sdpbb

    relaxation = Relaxation.of(case.contraction)
    with threadpool_limits(1):
        cuts = cuts_of_root(case.contraction)
        row = by_method(relaxation, cuts)
        for solver in SOLVERS:
            row |= by_solver(relaxation, cuts, solver)
    about = {"instance": case.name, "m": relaxation.m, "k": relaxation.k, "cuts": len(cuts)}
    return about | row | {"version": sdpbb.__version__}


def table(known: list[rows.Row]) -> str:
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
    return "\n".join(rows.markdown(head, lines)) + "\n"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "pc-sos-sdp")
    parser.add_argument("--largest", type=int, default=90, metavar="M", help="no more blocks")
    parser.add_argument("--csv", type=Path, default=ROOT / "docs" / "crosscheck.csv")
    parser.add_argument("--table-only", action="store_true", help="compute nothing")
    arguments = parser.parse_args(argv)
    known = {row["instance"] for row in rows.read(arguments.csv)}
    if arguments.table_only:
        print(table(rows.read(arguments.csv)))
        return 0
    compare(clouds(12, 3))  # what is compiled, or loaded, is outside of the seconds
    for case in cases(arguments.data, arguments.largest):
        if case.name in known:
            continue
        row = compare(case)
        rows.append(arguments.csv, FIELDS, row)
        print(
            {name: row[name] for name in ("instance", "m", "clarabel", "scs", "ours")}, flush=True
        )
    print(table(rows.read(arguments.csv)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
