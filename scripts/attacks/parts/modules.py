"""One bound against another: semidefinite, column generation, and both, up to 40 points."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from attacks.judging import BOUND, check_labels
from attacks.outcome import Found, Kind, Outcome
from attacks.parts import enumeration
from attacks.shapes import Case, random_case

if TYPE_CHECKING:
    from sdpbb import Result

PATIENCE = 90.0
N_MIN, N_MAX = 8, 40
TIME_LIMIT = 4.0
ENGINES = ("sdp", "colgen", "hybrid")

prepare = enumeration.prepare


def case(rng: np.random.Generator, _folder: Path) -> Outcome:
    """One instance, by all engines."""
    import sdpbb

    given = random_case(rng, N_MAX, N_MIN, d_max=20)
    if rng.random() < 0.6:  # most random links contradict each other in larger instances
        given = _with_few_links(rng, given)
    gap = float(10.0 ** -rng.integers(2, 10))
    results = {
        engine: sdpbb.solve(
            given.instance(),
            sdpbb.SolverParameters(bounding=engine, gap=gap, time_limit=TIME_LIMIT),
        )
        for engine in ENGINES
    }
    try:
        return Outcome(agreed(given, results))
    except Found as found:
        shown = "\n".join(f"# {engine}: {result!r}" for engine, result in results.items())
        code = given.code(f"sdpbb.SolverParameters(bounding='sdp', gap={gap!r})")
        raise Found(found.signature, f"{code}\n{shown}\n{found.text}") from None


def _with_few_links(rng: np.random.Generator, given: Case) -> Case:
    labels = rng.integers(0, given.k, given.n)
    pairs = np.array([p for p in combinations(range(given.n), 2) if rng.random() < 0.05], np.intp)
    pairs = pairs.reshape(-1, 2)
    together = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    return Case(given.points, given.k, pairs[together], pairs[~together])


def agreed(given: Case, results: dict[str, Result]) -> Kind:
    """What they say together, if no two contradict each other."""
    kinds = {Kind(result.status.value) for result in results.values()}
    if Kind.INFEASIBLE in kinds and kinds & {Kind.OPTIMAL, Kind.FEASIBLE}:
        raise Found("infeasible to one engine, and not to another")
    for result in results.values():
        if result.partition is not None:
            check_labels(given, result)
    for one, other in combinations(results, 2):
        _compare(one, results[one], other, results[other])
        _compare(other, results[other], one, results[one])
    for kind in (Kind.OPTIMAL, Kind.INFEASIBLE, Kind.FEASIBLE):
        if kind in kinds:
            return kind
    return Kind.UNKNOWN


def _compare(one: str, result: Result, other: str, against: Result) -> None:
    """Whether the bound of one is at most the clustering of the other."""
    if result.lower_bound is None or against.objective is None:
        return
    if result.lower_bound > against.objective * (1.0 + BOUND):
        raise Found(
            f"the bound of {one} is above a clustering of {other}",
            f"# {result.lower_bound!r} > {against.objective!r}",
        )
