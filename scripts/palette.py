"""Picture of the tutorial on palettes: a photograph, and the same in 16 colours, twice.

The photograph is scikit-learn's china.jpg, made smaller. Its colours are chosen by median cut, as
Pillow does, and by sdpbb, whose bound on the error of all choices is printed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import sdpbb
from sdpbb.run.report import ProgressTable

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    from PIL import Image
    from sklearn.datasets import load_sample_image

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times-smaller", type=int, default=4, help="in width and in height")
    parser.add_argument("--colours", type=int, default=16)
    parser.add_argument("--gap", type=float, default=0.02)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "tutorials" / "palette.png")
    arguments = parser.parse_args()

    photograph = Image.fromarray(load_sample_image("china.jpg"))
    width, height = (side // arguments.times_smaller for side in photograph.size)
    picture = photograph.resize((width, height), Image.Resampling.BOX)
    pixels = np.asarray(picture).reshape(-1, 3)
    labels = np.asarray(picture.quantize(arguments.colours)).ravel()
    parameters = sdpbb.SolverParameters(
        gap=arguments.gap, time_limit=60 * arguments.minutes, workers=arguments.workers
    )
    report = sdpbb.optimality_gap(
        pixels, labels, parameters=parameters, observer=ProgressTable(summarise=False)
    )
    print(report)
    assert report.result.partition is not None
    shape = (height, width, 3)
    shown = {
        f"{width} x {height} pixels": pixels.reshape(shape),
        "Median cut": in_few_colours(pixels, labels).reshape(shape),
        "Best found": in_few_colours(pixels, report.result.partition.labels).reshape(shape),
    }
    draw(shown, arguments.picture)
    return 0


def in_few_colours(pixels: NDArray[np.uint8], labels: NDArray[np.intp]) -> NDArray[np.uint8]:
    """Return pixels (n, 3) with each in the mean colour of those with the same label."""
    clusters = np.unique(labels, return_inverse=True)[1]
    means = np.array([pixels[clusters == c].mean(axis=0) for c in range(clusters.max() + 1)])
    return means[clusters].round().astype(np.uint8)


def draw(pictures: dict[str, NDArray[np.uint8]], path: Path) -> None:
    """Draw pictures (height, width, 3) side by side, the colours of all but the first below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 2.1), layout="constrained")
    axes = figure.subplots(2, len(pictures), height_ratios=[9, 1])
    for (above, below), (title, picture) in zip(axes.T, pictures.items(), strict=True):
        above.imshow(picture, interpolation="nearest")
        above.set_title(title, fontsize="small")
        above.axis("off")
        below.axis("off")
        colours, counts = np.unique(picture.reshape(-1, 3), axis=0, return_counts=True)
        if len(colours) <= 64:
            by_brightness = np.argsort(colours.sum(axis=1))
            left = np.concatenate([[0], np.cumsum(counts[by_brightness])])
            for place, colour in enumerate(colours[by_brightness]):
                below.axvspan(left[place], left[place + 1], color=colour / 255)
            below.set_xlim(0, left[-1])
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
