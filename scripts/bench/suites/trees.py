"""Workers and fixing in runs with trees: points without structure, which few roots close on.

Every instance is solved with one worker and with two, and without fixing. Two workers begin beside
the root, so their ratio is that of whole runs. Trees of fewer than 20 nodes do not count.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import sdpbb
from scripts.bench import rows
from scripts.bench.measuring import solved, warm_up
from scripts.bench.suite import Case, Options
from scripts.bench.tables import geometric_mean, markdown
from sdpbb.search.parameters import SearchParameters

KEY = "n d k seed setting"
COLUMNS = "status objective gap nodes seconds"
FILE = "benchmark_trees"
# n, d, k, seed: trees of up to 1,600 nodes.
CLOUDS = [
    *((80, 10, 8, seed) for seed in range(1, 5)),
    *((90, 9, 7, seed) for seed in range(1, 3)),
    *((100, 12, 6, seed) for seed in range(1, 4)),
    (110, 12, 6, 1),
    (100, 10, 6, 1),
]
# The bound that leaves the largest trees.
SDP = sdpbb.SolverParameters(bounding="sdp")
ONE = "one worker"
SETTINGS = {
    ONE: SDP,
    "two workers": replace(SDP, workers=2),
    "no fixing": replace(SDP, search=SearchParameters(fixing=False)),
}
FEWEST_NODES = 20


def cases(options: Options) -> list[Case]:
    return [
        dict(zip(("n", "d", "k", "seed", "setting"), (*one, name), strict=True))
        for one in CLOUDS
        for name in SETTINGS
    ]


def cloud(n: int, d: int, k: int, seed: int) -> sdpbb.Instance:
    """Return normal points (n, d)."""
    return sdpbb.Instance(np.random.default_rng(seed).normal(size=(n, d)), k)


def measure(options: Options, setting: str, **key: int) -> dict[str, Any]:
    warm_up("sdp")
    result, row = solved(cloud(**key), SETTINGS[setting])
    return row | {"seconds": round(result.statistics.wall_seconds, 3)}


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return the seconds of one worker over those of the other settings."""
    groups = rows.grouped(known, "n", "d", "k", "seed").values()
    found = [{row["setting"]: row for row in own} for own in groups]
    trees = [one for one in found if int(one[ONE]["nodes"]) >= FEWEST_NODES]
    lines = []
    for setting in list(SETTINGS)[1:]:
        ratios = [
            float(one[ONE]["seconds"]) / float(one[setting]["seconds"])
            for one in trees
            if setting in one
        ]
        if not ratios:
            continue
        each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        lines.append((setting, len(ratios), f"{geometric_mean(ratios):.2f}", each))
    return markdown(("setting", "trees", "times as fast as one worker", "each"), lines)


TABLES = {"trees": table}
