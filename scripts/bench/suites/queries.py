"""Strategies of choosing pairs to ask about, compared by what their answers are worth.

Answers are those of the true classes. After 10, 20, 50 and 100 of them the points, standardised by
column, are clustered with all answers as hard constraints, by the engine's first search with a
fixed seed, and the adjusted Rand index with the classes is noted.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

import sdpbb
from heuristics.incumbents import MultiStart
from heuristics.parameters import MultiStartParameters
from scripts.bench import rows
from scripts.bench.data import standardised
from scripts.bench.measuring import warm_up
from scripts.bench.query_strategies import PUBLISHED, Pair, Questions, Strategy
from scripts.bench.suite import Case, Options
from scripts.bench.tables import Cell, draw, over, value
from scripts.bench.tables import table as table_of
from sdpbb.problem import Contraction, contract
from sdpbb.questions.suggest import suggest_queries

KEY = "name strategy draw"
COLUMNS = "ari_10 ari_20 ari_50 ari_100 asked seconds"
OPTIONS = {"draws": 20}
# Points of each class; the rows of the sets are sorted by class.
CLASSES = {
    "iris": (50, 50, 50),
    "wine": (59, 71, 48),
    "seeds": (70, 70, 70),
    "ecoli": (143, 77, 2, 2, 35, 20, 5, 52),
    "glass": (70, 76, 17, 13, 9, 29),
}
ANSWERS = (10, 20, 50, 100)
# Colours that are told apart by people who do not see all (Okabe and Ito), and marks.
STYLES: dict[str, dict[str, Any]] = {
    "random pairs": {"color": "#999999", "marker": "x"},
    "explore-consolidate": {"color": "#56b4e9", "marker": "^"},
    "min-max": {"color": "#009e73", "marker": "v"},
    "NPU": {"color": "#e69f00", "marker": "s"},
    "sdpbb, one at a time": {"color": "#0072b2", "marker": "o", "linestyle": ":"},
    "sdpbb": {"color": "#0072b2", "marker": "o", "linewidth": 2.0},
}
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


def cases(options: Options) -> list[Case]:
    """Return draw after draw, so that what there is at any time is of all sets and strategies."""
    has_data = (options.data / "pc-sos-sdp").is_dir()
    chosen = product(range(options.draws if has_data else 0), CLASSES, STRATEGIES)
    return [{"name": name, "strategy": strategy, "draw": draw} for draw, name, strategy in chosen]


def measure(options: Options, name: str, strategy: str, draw: int) -> dict[str, Any]:
    """Ask until there are as many answers as wanted, or nothing is left to ask."""
    warm_up()
    classes = np.repeat(np.arange(len(CLASSES[name])), CLASSES[name])
    file = options.data / "pc-sos-sdp" / "datasets" / f"{name}.txt"
    known = Answers(standardised(np.loadtxt(file, skiprows=1)), classes)
    known.agreement()  # loads what searches need
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


def _suggested(q: int) -> Asking:
    """Return this package's strategy, in batches of q; the first pair of a draw is any pair."""

    def asking(known: Answers, rng: np.random.Generator) -> Questions:
        first, second = rng.choice(len(known.points), 2, replace=False).tolist()
        yield first, second
        while True:
            report = suggest_queries(
                known.instance(),
                q,
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
    "sdpbb": _suggested(5),
    "sdpbb, one at a time": _suggested(1),
}


def means(own: list[rows.Row]) -> list[float]:
    """Return the mean adjusted Rand index after each number of answers."""
    return [fmean(rows.numbers(own, f"ari_{number}")) for number in ANSWERS]


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return a line for each set and strategy, the best figures in bold."""
    best: dict[str, NDArray[np.float64]] = {}
    groups = []
    for name, strategy in product(CLASSES, STRATEGIES):
        own = rows.chosen(known, name=name, strategy=strategy)
        if own:
            groups.append(own)
            best[name] = np.maximum(best.get(name, -1.0), np.round(means(own), 3))

    def index(position: int) -> Cell:
        def cell(own: list[rows.Row]) -> str:
            found = round(means(own)[position], 3)
            is_best = found >= best[own[0]["name"]][position]
            return f"**{found:.3f}**" if is_best else f"{found:.3f}"

        return cell

    columns: dict[str, Cell] = {
        "set": value("name"),
        "strategy": value("strategy"),
        "draws": len,
        **{f"{number} answers": index(i) for i, number in enumerate(ANSWERS)},
        "seconds": over("seconds", fmean, ".1f"),
    }
    return table_of(groups, columns, text=(0, 1))


TABLES = {"queries": table}


def picture(known: list[rows.Row], path: Path, options: Options) -> None:
    """Draw a curve for each strategy, and a panel for each set."""
    panels = []
    for name in CLASSES:
        curves = {
            strategy: (ANSWERS, means(own), style)
            for strategy, style in STYLES.items()
            if (own := rows.chosen(known, name=name, strategy=strategy))
        }
        axes = {"title": name, "xlabel": "answers", "xscale": "log", "xticks": ANSWERS}
        axes |= {"xticklabels": ANSWERS} | ({} if panels else {"ylabel": "adjusted Rand index"})
        panels.append((curves, axes))
    draw(path, panels, (13.0, 3.4), columns=7)
