"""Workers in runs with trees: points without structure, which few roots close on.

Every instance is solved with one worker and with two, by the bound that leaves the largest trees.
Two workers begin beside the root, so their ratio is that of whole runs. Trees of fewer than 20
nodes do not count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import sdpbb
from scripts.bench import rows
from scripts.bench.measuring import solved, warm_up
from scripts.bench.suite import Case, Options
from scripts.bench.tables import geometric_mean, markdown

KEY = "n d k seed setting"
COLUMNS = "status objective gap nodes seconds"
# n, d, k, seed: trees of up to 1,600 nodes.
CLOUDS = [
    *((80, 10, 8, seed) for seed in range(1, 5)),
    *((90, 9, 7, seed) for seed in range(1, 3)),
    *((100, 12, 6, seed) for seed in range(1, 4)),
    (110, 12, 6, 1),
    (100, 10, 6, 1),
]
SETTINGS = {"one worker": 1, "two workers": 2}
FEWEST_NODES = 20


def cases(options: Options) -> list[Case]:
    keys = [(*one, name) for one in CLOUDS for name in SETTINGS]
    return [dict(zip(KEY.split(), key, strict=True)) for key in keys]


def cloud(n: int, d: int, k: int, seed: int) -> sdpbb.Instance:
    """Return normal points (n, d)."""
    return sdpbb.Instance(np.random.default_rng(seed).normal(size=(n, d)), k)


def measure(options: Options, setting: str, **key: int) -> dict[str, Any]:
    warm_up("sdp")
    parameters = sdpbb.SolverParameters(bounding="sdp", workers=SETTINGS[setting])
    result, row = solved(cloud(**key), parameters)
    return row | {"seconds": round(result.statistics.wall_seconds, 3)}


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return how many times as fast two workers are, for each tree and on average."""
    groups = rows.grouped(known, "n", "d", "k", "seed").values()
    pairs = [own for own in groups if len(own) == 2 and int(own[0]["nodes"]) >= FEWEST_NODES]
    ratios = [float(one["seconds"]) / float(two["seconds"]) for one, two in pairs]
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    head = ("trees", "two workers, times as fast as one", "each")
    return markdown(head, [(len(ratios), f"{geometric_mean(ratios):.2f}", each)], text=(2,))


TABLES = {"trees": table}
