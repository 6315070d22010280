"""Measure what workers and fixing do to runs with trees.

Points without structure, which few roots close on: n, d and k as given and a seed each. Every
instance is solved with one worker and with two, and without fixing, one after the other in one
process; a row each goes to the CSV file. Two workers begin beside the
root, so their ratio is that of whole runs. Prints the geometric means of the ratios.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np

import sdpbb
from sdpbb.search.parameters import SearchParameters

# n, d, k, seed: trees of up to 1,600 nodes.
INSTANCES = [
    *((80, 10, 8, seed) for seed in range(1, 5)),
    *((90, 9, 7, seed) for seed in range(1, 3)),
    *((100, 12, 6, seed) for seed in range(1, 4)),
    (110, 12, 6, 1),
    (100, 10, 6, 1),
]
# The bound that leaves the largest trees.
SDP = sdpbb.SolverParameters(bounding="sdp")
SETTINGS = {
    "one worker": SDP,
    "two workers": replace(SDP, workers=2),
    "no fixing": replace(SDP, search=SearchParameters(fixing=False)),
}
FIELDS = ["n", "d", "k", "seed", "setting", "status", "objective", "gap", "nodes", "seconds"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("trees.csv"))
    parser.add_argument("--settings", default=",".join(SETTINGS), help="separated by commas")
    parser.add_argument("--nodes", type=int, default=20, help="smaller trees do not count")
    arguments = parser.parse_args()
    settings = arguments.settings.split(",")
    sdpbb.solve(instance(40, 3, 3, 0))  # compiles, or loads, the kernels
    seconds: dict[str, list[float]] = {name: [] for name in settings}
    with open(arguments.out, "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, FIELDS)
        table.writeheader()
        for key in INSTANCES:
            rows = [solved(key, name) for name in settings]
            table.writerows(rows)
            file.flush()
            if rows[0]["nodes"] < arguments.nodes:
                continue
            for row in rows:
                seconds[row["setting"]].append(row["seconds"])
                print(*(row[field] for field in FIELDS), flush=True)
    base = seconds[settings[0]]
    print(f"{len(base)} trees of {arguments.nodes} nodes or more; times faster than {settings[0]}:")
    for name in settings[1:]:
        ratios = [math.log(a / b) for a, b in zip(base, seconds[name], strict=True)]
        print(f"  {name}: {math.exp(fmean(ratios)):.2f}")
    return 0


def instance(n: int, d: int, k: int, seed: int) -> sdpbb.Instance:
    return sdpbb.Instance(np.random.default_rng(seed).normal(size=(n, d)), k)


def solved(key: tuple[int, int, int, int], setting: str) -> dict:
    result = sdpbb.solve(instance(*key), SETTINGS[setting])
    values = dict(zip(FIELDS[:4], key, strict=True))
    return values | {
        "setting": setting,
        "status": result.status.value,
        "objective": result.objective,
        "gap": result.gap,
        "nodes": result.statistics.n_nodes,
        "seconds": round(result.statistics.wall_seconds, 3),
    }


if __name__ == "__main__":
    sys.exit(main())
