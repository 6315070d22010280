"""Roots where limits on sizes bind: gap by iteration, with and without capacity cuts.

    python scripts/benchmark_capacities.py --data ../shared/data --out docs/capacities.csv
    python scripts/benchmark_capacities.py --picture docs/capacities.png --out docs/capacities.csv

The sets are those of `benchmark_sizes.py`, in clusters of equal sizes. Each root begins from the
clustering of `best-of` and runs for so many seconds: without capacity cuts, with those of sets
alone, and with cliques. Rows are iterations at which bounds were taken; what has rows is not run
again. The second command draws them.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import rows
from benchmark_sizes import Case, instance_of
from numpy.typing import NDArray

import sdpbb
from sdpbb.bounds.sdp.admm_run import AdmmRun
from sdpbb.bounds.sdp.cuts.capacities import CapacityCuts
from sdpbb.bounds.sdp.cuts.capacity_cliques import CapacityCliqueCuts
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import InstanceNote
from sdpbb.problem import Contraction, Instance, Partition, contract

FIELDS = ("name", "cuts", "iteration", "seconds", "gap", "n_cuts", "load")
SETS: dict[str, Case] = {
    "UMD": ("equal", "UMD", ""),
    "InsectEPG": ("equal", "InsectEPGSmallTrain", ""),
    "glass": ("balanced", "glass", ""),
    "ecoli": ("balanced", "ecoli", ""),
    "500 blobs": ("hundreds", "five blobs", "100"),
}
NO_CLIQUES = CapacityCliqueCuts(per_block=0)
CUTS = {
    "none": (CapacityCuts(per_round=0), NO_CLIQUES),
    "sets": (CapacityCuts(), NO_CLIQUES),
    "sets and cliques": (CapacityCuts(), CapacityCliqueCuts(after=0)),
}
CLOSED = 1e-4
"""Gap at which a root is proven."""


def root(
    instance: Instance,
    labels: NDArray[np.intp],
    cuts: tuple[CapacityCuts, CapacityCliqueCuts],
    seconds: float,
) -> Iterator[dict[str, float]]:
    """Run a root until it is proven or its time is up; yield a row for each bound.

    labels : the clustering that it begins from, and gaps are taken to
    """
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    cost = Partition(labels).cost(instance)
    parameters = SdpParameters()
    separation = replace(parameters.separation, capacities=cuts[0], capacity_cliques=cuts[1])
    known = labels[contraction.representatives]
    run = AdmmRun(contraction, replace(parameters, separation=separation), known=known)
    begun, cutoff = time.perf_counter(), cost * (1.0 - CLOSED)
    while (now := time.perf_counter() - begun) < seconds:
        progress = run.advance(cutoff)
        gap = 1.0 - progress.bound.value / cost
        yield {
            "iteration": progress.n_iterations,
            "seconds": round(now, 2),
            "gap": max(gap, 0.0),
            "n_cuts": progress.n_cuts,
        }
        if progress.bound.value >= cutoff:
            return


def measure(data: Path, out: Path, seconds: float) -> None:
    """Append the rows of what has none yet."""
    done = {(row["name"], row["cuts"]) for row in rows.read(out)}
    for name, case in SETS.items():
        missing = [cuts for cuts in CUTS if (name, cuts) not in done]
        if not missing:
            continue
        with warnings.catch_warnings(action="ignore", category=InstanceNote):
            instance = instance_of(data, case)
        labels = sdpbb.heuristic("best-of").run(instance).labels
        assert labels is not None
        for cuts in missing:
            for row in root(instance, np.asarray(labels), CUTS[cuts], seconds):
                rows.append(
                    out,
                    FIELDS,
                    {"name": name, "cuts": cuts, **row, "load": round(os.getloadavg()[0], 2)},
                )
            print(name, cuts, row, flush=True)


def draw(out: Path, picture: Path) -> None:
    """Draw gaps by iteration, a panel for each set."""
    import matplotlib.pyplot as plt

    found = rows.read(out)
    figure, axes = plt.subplots(1, len(SETS), figsize=(13, 3), sharey=True, layout="constrained")
    for axis, name in zip(axes, SETS, strict=True):
        for cuts in CUTS:
            some = [row for row in found if (row["name"], row["cuts"]) == (name, cuts)]
            gaps = [100.0 * max(float(row["gap"]), 1e-5) for row in some]
            axis.plot([int(row["iteration"]) for row in some], gaps, label=cuts)
        axis.axhline(100.0 * CLOSED, color="0.6", linewidth=0.8, linestyle=":")
        axis.set(title=name, xlabel="iterations", yscale="log")
    axes[0].set_ylabel("gap in percent")
    axes[0].legend(title="capacity cuts", frameon=False)
    figure.savefig(picture, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description="Roots with and without capacity cuts.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each root")
    parser.add_argument("--picture", type=Path, help="draw the rows of --out, and run nothing")
    args = parser.parse_args()
    if args.picture is None:
        measure(args.data, args.out, args.seconds)
    else:
        draw(args.out, args.picture)


if __name__ == "__main__":
    main()
