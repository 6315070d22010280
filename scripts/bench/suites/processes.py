"""Constraint sets of PC-SOS-SDP by `sdpbb solve`, a whole process for each.

The seconds are those that a user waits for, with the start of Python, imports and the loading of
kernels; one worker, one BLAS thread, one process at a time. Beside the wall-clock seconds are the
CPU seconds, which say what they would be on a machine that does nothing else.
"""

from __future__ import annotations

from typing import Any

from scripts.bench import data, rows
from scripts.bench.measuring import process, warm_up
from scripts.bench.suite import Case, Options
from scripts.bench.tables import geometric_mean, markdown

KEY = "dataset set"
COLUMNS = "wall cpu published"
OPTIONS = {"draws": 5}


def cases(options: Options) -> list[Case]:
    averages = data.published_averages(options.data)
    sets = data.published_sets(options.data, options.draws)
    return [
        one.case | {"published": averages[one.configuration]["wall_seconds_16_cores"]}
        for one in sets
        if one.configuration in averages
    ]


def measure(options: Options, dataset: str, set: str, published: str) -> dict[str, Any]:
    warm_up()  # compiles what the process loads
    folder = options.data / "pc-sos-sdp"
    pairs = folder / "constraints" / dataset / f"{set}.txt"
    command = ["-m", "sdpbb", "solve", str(folder / "datasets" / f"{dataset}.txt")]
    command += ["--constraints", str(pairs), "--gap", "1e-4", "--workers", "1", "--quiet"]
    done = process(command)
    return {"wall": f"{done.wall:.2f}", "cpu": f"{done.cpu:.2f}"}


def table(known: list[rows.Row], options: Options) -> list[str]:
    lines = []
    for clock in ("wall", "cpu"):
        found = [(rows.ratio(r, "published", clock), f"{r['dataset']} {r['set']}") for r in known]
        mean = geometric_mean(ratio for ratio, _ in found)
        lines.append((clock, len(found), f"{mean:.0f}", f"{min(found)[0]:.1f}", min(found)[1]))
    head = ("published seconds / ours by", "sets", "geometric mean", "least", "of")
    return markdown(head, lines, text=(0, 4))


TABLES = {"processes": table}
