"""Strategies of choosing pairs to ask about, compared by what their answers are worth.

    python scripts/benchmark_queries.py run docs/queries.csv --data FOLDER
    python scripts/benchmark_queries.py table docs/queries.csv
    python scripts/benchmark_queries.py picture docs/queries.csv --out docs/queries.png

Answers are those of the true classes. After 10, 20, 50 and 100 of them the points, standardised by
column, are clustered with all answers as hard constraints, by the engine's first search with a
fixed seed, and the adjusted Rand index with the classes is noted. A draw whose row is there is not
run again.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import rows
from numpy.typing import NDArray
from query_strategies import PUBLISHED, Pair, Questions, Strategy
from sklearn.metrics import adjusted_rand_score

import sdpbb
from heuristics.multi_start import MultiStart
from heuristics.parameters import MultiStartParameters
from sdpbb.problem import Contraction, contract
from sdpbb.questions.queries.suggest import suggest_queries

# Points of each class; the rows of the sets are sorted by class.
CLASSES = {
    "iris": (50, 50, 50),
    "wine": (59, 71, 48),
    "seeds": (70, 70, 70),
    "ecoli": (143, 77, 2, 2, 35, 20, 5, 52),
    "glass": (70, 76, 17, 13, 9, 29),
}
ANSWERS = (10, 20, 50, 100)
DRAWS = 20
# Colours that are told apart by people who do not see all (Okabe and Ito), and marks.
STYLES: dict[str, dict[str, Any]] = {
    "random pairs": {"color": "#999999", "marker": "x"},
    "explore-consolidate": {"color": "#56b4e9", "marker": "^"},
    "min-max": {"color": "#009e73", "marker": "v"},
    "NPU": {"color": "#e69f00", "marker": "s"},
    "sdpbb, by cost": {"color": "#cc79a7", "marker": "d"},
    "sdpbb, one at a time": {"color": "#0072b2", "marker": "o", "linestyle": ":"},
    "sdpbb": {"color": "#0072b2", "marker": "o", "linewidth": 2.0},
}
SAME = ("name", "strategy", "draw")
FIELDS = (*SAME, *(f"ari_{number}" for number in ANSWERS), "asked", "seconds")
# The search for a clustering that answers are judged by, and the one that strategies look at.
JUDGE = MultiStartParameters(n_starts=5, n_relocations=4)
GLANCE = MultiStartParameters(n_starts=2, n_relocations=0, swap_effort=0.2)


class Answers:
    """Points, and the answers that are known: an oracle of true classes."""

    def __init__(self, points: NDArray[np.float64], classes: NDArray[np.intp]) -> None:
        self.points = points
        self.classes = classes
        self.k = len(np.unique(classes))
        self.must_link: list[Pair] = []
        self.cannot_link: list[Pair] = []

    def __len__(self) -> int:
        return len(self.must_link) + len(self.cannot_link)

    def ask(self, pair: Pair) -> bool:
        """Return, and keep, whether two points are of one class."""
        i, j = pair
        is_same = bool(self.classes[i] == self.classes[j])
        (self.must_link if is_same else self.cannot_link).append((i, j))
        return is_same

    def instance(self) -> sdpbb.Instance:
        """Return the points with all answers."""
        return sdpbb.Instance(self.points, self.k, self.must_link, self.cannot_link)

    def clustering(self, search: MultiStartParameters = GLANCE) -> NDArray[np.intp]:
        """Return the labels of a clustering that keeps all answers."""
        contraction = contract(self.instance())
        assert isinstance(contraction, Contraction)
        found = MultiStart(search).run(contraction, np.random.default_rng(0))
        return contraction.lift(found.labels)

    def agreement(self) -> float:
        """Return the adjusted Rand index of the best clustering found with the classes."""
        return float(adjusted_rand_score(self.classes, self.clustering(JUDGE)))


def standardised(folder: Path, name: str) -> NDArray[np.float64]:
    """Return the points of a set, each column of mean 0 and variance 1, or constant."""
    points = np.loadtxt(folder / f"{name}.txt", skiprows=1)
    deviation = points.std(axis=0)
    centred: NDArray[np.float64] = points - points.mean(axis=0)
    return centred / np.where(deviation > 0.0, deviation, 1.0)


def measured(folder: Path, name: str, strategy: str, draw: int) -> dict[str, Any]:
    """Ask until there are as many answers as wanted, or nothing is left to ask."""
    classes = np.repeat(np.arange(len(CLASSES[name])), CLASSES[name])
    known = Answers(standardised(folder, name), classes)
    started = time.process_time()
    row: dict[str, Any] = {}
    asking = STRATEGIES[strategy](known, np.random.default_rng(draw))
    answer: bool | None = None
    for number in ANSWERS:
        with contextlib.suppress(StopIteration):
            while len(known) < number:
                answer = known.ask(asking.send(answer))  # type: ignore[arg-type]
        row[f"ari_{number}"] = round(known.agreement(), 6)
    return row | {"asked": len(known), "seconds": round(time.process_time() - started, 2)}


def _published(strategy: Strategy) -> Asking:
    def asking(known: Answers, rng: np.random.Generator) -> Questions:
        return strategy(known.points, known.k, rng, known.clustering)

    return asking


def _suggested(q: int, memberships: str) -> Asking:
    """Return this package's strategy, in batches of q; the first pair of a draw is any pair."""

    def asking(known: Answers, rng: np.random.Generator) -> Questions:
        first, second = rng.choice(len(known.points), 2, replace=False).tolist()
        yield first, second
        while True:
            report = suggest_queries(
                known.instance(),
                q,
                memberships=memberships,
                clustering=known.clustering(),
                seed=int(rng.integers(2**31)),
            )
            if not report.queries:
                return
            for pair in report.pairs:  # noqa: UP028 (answers are sent)
                yield pair

    return asking


Asking = Callable[[Answers, np.random.Generator], Questions]
STRATEGIES: dict[str, Asking] = {
    **{name: _published(one) for name, one in PUBLISHED.items()},
    "sdpbb": _suggested(5, "covariance"),
    "sdpbb, one at a time": _suggested(1, "covariance"),
    "sdpbb, by cost": _suggested(5, "cost"),
    "sdpbb, by relaxation": _suggested(10, "relaxation"),
}


def means(measurements: Sequence[rows.Row], name: str, strategy: str) -> NDArray[np.float64] | None:
    """Return the mean adjusted Rand index after each number of answers; None without a draw."""
    some = [row for row in measurements if (row["name"], row["strategy"]) == (name, strategy)]
    if not some:
        return None
    values = [[float(row[f"ari_{number}"]) for number in ANSWERS] for row in some]
    mean: NDArray[np.float64] = np.array(values).mean(axis=0)
    return mean


def table(measurements: Sequence[rows.Row]) -> list[str]:
    """Return the table of the documentation: one line for each set and strategy."""
    lines = []
    for name in CLASSES:
        found = {strategy: means(measurements, name, strategy) for strategy in STRATEGIES}
        known = {strategy: mean for strategy, mean in found.items() if mean is not None}
        best = np.max([mean.round(3) for mean in known.values()], axis=0)
        for strategy, mean in known.items():
            some = [r for r in measurements if (r["name"], r["strategy"]) == (name, strategy)]
            seconds = np.mean([float(row["seconds"]) for row in some])
            cells = [
                f"**{value:.3f}**" if value >= top else f"{value:.3f}"
                for value, top in zip(mean.round(3), best, strict=True)
            ]
            lines.append([name, strategy, str(len(some)), *cells, f"{seconds:.1f}"])
    head = ["set", "strategy", "draws", *(f"{number} answers" for number in ANSWERS)]
    return rows.markdown([*head, "seconds"], lines, n_text=2)


def picture(measurements: Sequence[rows.Row], path: Path) -> None:
    """Draw a curve for each strategy, and a panel for each set."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 3.4), layout="constrained")
    panels = figure.subplots(1, len(CLASSES))
    for panel, name in zip(panels, CLASSES, strict=True):
        for strategy, style in STYLES.items():
            mean = means(measurements, name, strategy)
            if mean is not None:
                panel.plot(ANSWERS, mean, label=strategy, **style)
        panel.set(title=name, xlabel="answers", xscale="log")
        panel.set_xticks(ANSWERS, map(str, ANSWERS))
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("adjusted Rand index")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=7)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "table", "picture"))
    parser.add_argument("rows", type=Path, help="file of rows, which are added by 'run'")
    parser.add_argument("names", nargs="*", default=list(CLASSES), help=f"of {', '.join(CLASSES)}")
    parser.add_argument("--data", type=Path, help="folder of NAME.txt, lines n d k and rows")
    parser.add_argument("--out", type=Path, help="the picture")
    parser.add_argument("--strategies", nargs="*", default=list(STRATEGIES), metavar="NAME")
    parser.add_argument("--draws", type=int, default=DRAWS, help="for each set and strategy")
    arguments = parser.parse_args()
    if arguments.command == "table":
        print("\n".join(table(rows.read(arguments.rows))))
    elif arguments.command == "picture":
        if arguments.out is None:
            parser.error("expected --out")
        picture(rows.read(arguments.rows), arguments.out)
    elif arguments.data is None:
        parser.error("expected --data")
    else:
        run(arguments)


def run(arguments: argparse.Namespace) -> None:
    """Measure what is not known yet."""
    known = {tuple(row[field] for field in SAME) for row in rows.read(arguments.rows)}
    # Draw after draw, so that what there is at any time is of all sets and strategies.
    for draw in range(arguments.draws):
        for name, strategy in itertools.product(arguments.names, arguments.strategies):
            same = dict(zip(SAME, (name, strategy, str(draw)), strict=True))
            if tuple(same.values()) in known:
                continue
            row = same | measured(arguments.data, name, strategy, draw)
            rows.append(arguments.rows, FIELDS, row)
            print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
