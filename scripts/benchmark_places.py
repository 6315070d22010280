"""Gaps of the bound by prices and places over seconds: the colours of a picture, and clouds.

    python scripts/benchmark_places.py china_8 china_16

The clustering is the best of scikit-learn's ten starts, and its time is not counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from sdpbb.bounds.places.run import PlaceRun, exercise
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import at_most, no_limit

Weighted = tuple[NDArray[np.float64], NDArray[np.float64]]


def colours() -> Weighted:
    """Return the colours of china.jpg, and how many pixels have each."""
    pixels = load_sample_image("china.jpg").reshape(-1, 3)
    found, sizes = np.unique(pixels, axis=0, return_counts=True)
    return found.astype(np.float64), sizes.astype(np.float64)


def clouds(n: int, d: int, k: int, spread: float) -> Weighted:
    """Return points of normal clouds around places in a box of side 10."""
    rng = np.random.default_rng(0)
    centres, labels = rng.uniform(0.0, 10.0, (k, d)), rng.integers(0, k, n)
    return centres[labels] + spread * rng.normal(size=(n, d)), np.ones(n)


CASES: dict[str, tuple[Callable[[], Weighted], int]] = {
    "china_8": (colours, 8),
    "china_16": (colours, 16),
    "clouds_2": (partial(clouds, 100_000, 2, 10, 1.0), 10),
    "clouds_3": (partial(clouds, 100_000, 3, 10, 2.0), 10),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(CASES), help=f"of {', '.join(CASES)}")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--gap", type=float, default=1e-4)
    arguments = parser.parse_args()
    exercise()
    for name in arguments.names:
        run(name, arguments.seconds, arguments.gap)


def run(name: str, seconds: float, gap: float) -> None:
    """Print the rounds of a case, with seconds of this process."""
    make, k = CASES[name]
    points, sizes = make()
    points -= sizes @ points / sizes.sum()
    found = KMeans(k, n_init=10, random_state=0, tol=1e-9, max_iter=1000)
    labels = found.fit(points, sample_weight=sizes).labels_.astype(np.intp)
    contraction = Contraction(
        k=k,
        block_of=np.arange(len(points)),
        weights=sizes,
        means=points,
        scatter=np.zeros(len(points)),
        cannot_link=np.zeros((0, 2), np.intp),
    )
    cost = sum(
        float(sizes[of] @ ((points[of] - np.average(points[of], 0, sizes[of])) ** 2).sum(axis=1))
        for of in (labels == label for label in range(k))
    )
    print(f"{name}: {len(points)} points, cost {cost:.10g}", flush=True)
    of = PlaceRun.begin(contraction, labels)
    assert of is not None
    started, cutoff, is_open = time.process_time(), cost * (1.0 - gap), True
    time_left = at_most(no_limit, seconds)
    while is_open:
        progress = of.advance(cutoff, time_left)
        print(
            f"  {time.process_time() - started:6.1f} s  gap {1.0 - progress.bound.value / cost:.3e}"
            f"  {progress.n_cuts} places, {of.n_boxes} boxes",
            flush=True,
        )
        is_open = not (progress.stalled or progress.is_cut or progress.bound.value >= cutoff)


if __name__ == "__main__":
    main()
