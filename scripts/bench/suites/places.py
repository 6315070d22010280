"""Gaps of the bound by prices and places over seconds, for the colours of a picture.

The clustering is the best of scikit-learn's ten starts, and its time is not counted. Seconds are
those of the processor.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from scripts.bench import rows
from scripts.bench.suite import Case, Options
from scripts.bench.tables import markdown
from sdpbb.bounds.lagrangian.places.run import PlaceRun, exercise
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import at_most, no_limit

KEY = "name"
COLUMNS = "blocks k seconds gap places boxes"
OPTIONS = {"time_limit": 300.0}
GAP = 1e-4


def colours() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the colours of china.jpg, and how many pixels have each."""
    pixels = load_sample_image("china.jpg").reshape(-1, 3)
    found, sizes = np.unique(pixels, axis=0, return_counts=True)
    return found.astype(np.float64), sizes.astype(np.float64)


DATA = {"china_8": 8, "china_16": 16}
"""Numbers of clusters."""


def cases(options: Options) -> list[Case]:
    return [{"name": name} for name in DATA]


def measure(options: Options, name: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each round."""
    exercise()
    points, sizes = colours()
    k = DATA[name]
    points -= sizes @ points / sizes.sum()
    found = KMeans(k, n_init=10, random_state=0, tol=1e-9, max_iter=1000)
    labels = found.fit(points, sample_weight=sizes).labels_.astype(np.intp)
    n = len(points)
    pairs = np.zeros((0, 2), np.intp)
    contraction = Contraction(
        k=k,
        block_of=np.arange(n),
        weights=sizes,
        means=points,
        scatter=np.zeros(n),
        cannot_link=pairs,
    )
    cost = contraction.cost(labels)
    of = PlaceRun.begin(contraction, labels)
    assert of is not None
    started, cutoff, is_open = time.process_time(), cost * (1.0 - GAP), True
    time_left = at_most(no_limit, options.time_limit)
    while is_open:
        progress = of.advance(cutoff, time_left)
        yield {
            "blocks": n,
            "k": k,
            "seconds": round(time.process_time() - started, 1),
            "gap": 1.0 - progress.bound.value / cost,
            "places": progress.n_cuts,
            "boxes": of.n_boxes,
        }
        is_open = not (progress.stalled or progress.is_cut or progress.bound.value >= cutoff)


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return a line for each of the data, with its gap after so many seconds."""
    lines = []
    for (name,), own in rows.grouped(known, "name").items():
        gaps = [f"{100 * float(row['gap']):.2g} % ({row['seconds']} s)" for row in own]
        lines.append((name, own[0]["blocks"], own[0]["k"], ", ".join(gaps)))
    return markdown(("data", "blocks", "k", "gap after so many seconds"), lines)


TABLES = {"places": table}
