"""Roots where limits on sizes bind: gap by iteration, with and without capacity cuts.

Each root, in clusters of equal sizes, begins from the clustering of `best-of` and runs until it is
proven or its time is up: without capacity cuts, with those of sets alone, and with cliques. Rows
are iterations at which bounds were taken.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sdpbb
from scripts.bench import rows
from scripts.bench.size_cases import SizeCase, instance_of
from scripts.bench.suite import Case, Options
from scripts.bench.tables import draw, markdown
from sdpbb.bounds.sdp import cuts as families
from sdpbb.bounds.sdp.admm_run import AdmmRun
from sdpbb.bounds.sdp.cuts.capacities import CapacityCliqueCuts, CapacityCuts
from sdpbb.bounds.sdp.cuts.family import CutFamily
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import InstanceNote
from sdpbb.problem import Contraction, Instance, Partition, contract

KEY = "name cuts"
COLUMNS = "iteration seconds gap n_cuts load"
OPTIONS = {"time_limit": 20.0}
SETS: dict[str, SizeCase] = {
    "UMD": ("equal", "UMD", ""),
    "InsectEPG": ("equal", "InsectEPGSmallTrain", ""),
    "glass": ("balanced", "glass", ""),
    "ecoli": ("balanced", "ecoli", ""),
    "500 blobs": ("hundreds", "five blobs", "100"),
}
# Families that are left out.
CUTS: dict[str, tuple[type[CutFamily], ...]] = {
    "none": (CapacityCuts, CapacityCliqueCuts),
    "sets": (CapacityCliqueCuts,),
    "sets and cliques": (),
}
CLOSED = 1e-4
"""Gap at which a root is proven."""


def root(
    instance: Instance,
    labels: NDArray[np.intp],
    seconds: float,
) -> Iterator[dict[str, Any]]:
    """Run a root until it is proven or its time is up; yield a row for each bound.

    labels : the clustering that it begins from, and gaps are taken to
    """
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    cost = Partition(labels).cost(instance)
    known = labels[contraction.representatives]
    run = AdmmRun.begin(contraction, SdpParameters(), known=known)
    begun, cutoff = time.perf_counter(), cost * (1.0 - CLOSED)
    while (now := time.perf_counter() - begun) < seconds:
        progress = run.advance(cutoff)
        gap = 1.0 - progress.bound.value / cost
        yield {
            "iteration": progress.n_iterations,
            "seconds": round(now, 2),
            "gap": max(gap, 0.0),
            "n_cuts": progress.n_cuts,
            "load": round(os.getloadavg()[0], 2),
        }
        if progress.bound.value >= cutoff:
            return


def cases(options: Options) -> list[Case]:
    has_data = (options.data / "ccmssc").is_dir()
    return [
        {"name": name, "cuts": cuts}
        for name, case in SETS.items()
        for cuts in CUTS
        if has_data or case[0] == "hundreds"
    ]


def measure(options: Options, name: str, cuts: str) -> Iterator[dict[str, Any]]:
    with warnings.catch_warnings(action="ignore", category=InstanceNote):
        instance = instance_of(options.data, SETS[name])
    labels = sdpbb.heuristic("best-of").run(instance).labels
    assert labels is not None
    families.FAMILIES = tuple(of for of in families.FAMILIES if not isinstance(of, CUTS[cuts]))
    CapacityCliqueCuts.after = 0
    return root(instance, np.asarray(labels), options.time_limit)


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return the last row of each root."""
    columns = ("name", "cuts", "iteration", "seconds", "n_cuts")
    ends = [own[-1] for own in rows.grouped(known, "name", "cuts").values()]
    lines = [[*(row[c] for c in columns), f"{100 * float(row['gap']):.3g} %"] for row in ends]
    return markdown([*columns, "gap"], lines, text=(0, 1))


TABLES = {"capacities": table}


def picture(known: list[rows.Row], path: Path, options: Options) -> None:
    """Draw gaps by iteration, a panel for each set."""
    panels = []
    for name in SETS:
        some = rows.chosen(known, name=name)
        curves = {}
        for cuts in CUTS:
            own = rows.chosen(some, cuts=cuts)
            gaps = [100.0 * max(gap, 1e-5) for gap in rows.numbers(own, "gap")]
            curves[f"capacity cuts: {cuts}"] = (rows.numbers(own, "iteration"), gaps, {})
        axes = {"title": name, "xlabel": "iterations", "yscale": "log"}
        panels.append((curves, axes | ({} if panels else {"ylabel": "gap in percent"})))
    draw(path, panels, (13, 3), sharey=True)
