"""Groups of points that are up to 10^16 times farther apart than they are wide, in groups of groups
and by themselves, against rational arithmetic; and certificates about them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attacks.exact import Exact
from attacks.judging import judge
from attacks.outcome import Found, Kind, Outcome
from attacks.random_parameters import code_of
from attacks.shapes import Case, Pairs, Points
from attacks.subsets import least_cost
from attacks.worker import where

PATIENCE = 120.0
TIME_LIMIT = 20.0
N_MAX = 16
# Of a level, so that a hundred sets are looked at in a second.
LARGEST_GROUP = 7
# What is solved to the gap asked for, without exception: the largest ratio, and the gap.
SOLVED, GAP = 1e12, 1e-6
# Of what is certified.
BOUND = Fraction(1, 10**12)


class Ratios(NamedTuple):
    """ratio : of the largest distance and the least, all levels together, about"""

    case: Case
    ratio: float


def prepare(folder: Path) -> None:
    """Load the engine and compile."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        case(rng, folder)


def case(rng: np.random.Generator, folder: Path) -> Outcome:
    """One instance: solved, certified or begun from a clustering that is not the best."""
    given, ratio = random_ratios(rng)
    parameters = _parameters(rng)
    labels = _random_labels(rng, given) if rng.random() < 0.4 else None
    certified = rng.random() < 0.5
    about = given.code(f"{code_of(parameters)}, start={None if labels is None else labels!r}")
    try:
        kind = _judged(given, ratio, parameters, labels, folder if certified else None)
        if certified:
            _forge(rng, given, folder / "run.cert")
    except Found as found:
        raise Found(found.signature, f"{about}\n{found.text}") from None
    return Outcome(kind)


def random_ratios(rng: np.random.Generator) -> Ratios:
    """Levels of groups, each many times farther apart than what is inside of it."""
    d = int(rng.choice([1, 1, 2, 3]))
    integer = bool(rng.random() < 0.5)
    points, exponent = _spread(rng, 1, d, integer), 0
    n_levels = int(rng.choice([1, 1, 1, 2, 3]))
    left = float(rng.uniform(3, 16))
    for level in range(n_levels):
        step = left if level == n_levels - 1 else float(rng.uniform(1, left - 1)) if left > 2 else 0
        left -= step
        exponent += step
        size = 10.0**exponent
        if rng.random() < 0.3:
            size = 2.0 ** round(np.log2(size))
        points = _far(rng, points, size, d, integer)
    points = points[rng.permutation(len(points))]
    if not integer and rng.random() < 0.5:
        points = points * 10.0 ** float(rng.uniform(-9, 9))
    k = int(rng.integers(1, len(points) + 1))
    return Ratios(Case(points, k, *_links(rng, points)), 10.0**exponent)


def _spread(rng: np.random.Generator, level: int, d: int, integer: bool) -> Points:
    """A group about as wide as 1, or 10 for whole numbers, with some points twice."""
    n = int(rng.integers(1, LARGEST_GROUP + 1 if level else 3))
    points = rng.integers(0, 10, (n, d)).astype(float) if integer else rng.normal(size=(n, d))
    if n > 1 and rng.random() < 0.3:
        points[rng.integers(n)] = points[rng.integers(n)]
    return points


def _far(rng: np.random.Generator, points: Points, size: float, d: int, integer: bool) -> Points:
    """With more groups or single points so far away: of ordinary width, or as wide as that."""
    parts = [points]
    for _ in range(int(rng.integers(1, 4))):
        room = N_MAX - sum(map(len, parts))
        if room <= 0:
            break
        group = _spread(rng, int(rng.random() < 0.5), d, integer)[:room]
        if rng.random() < 0.2:
            group = group * size
        away = size * rng.normal(size=(1, d))
        if rng.random() < 0.5:
            away = size * rng.integers(1, 4, (1, d)).astype(float)
        parts.append(np.round(group + away) if integer else group + away)
    return np.concatenate(parts)


def _links(rng: np.random.Generator, points: Points) -> tuple[Pairs, Pairs]:
    """None, or a few, most of which the best clusterings would keep anyway."""
    n = len(points)
    none = np.empty((0, 2), np.intp)
    if n < 3 or rng.random() < 0.4:
        return none, none
    i, j = np.triu_indices(n, 1)
    pairs = np.column_stack([i, j])
    lengths = np.linalg.norm(points[i] - points[j], axis=1)
    chosen = rng.permutation(len(pairs))[: int(rng.integers(1, n))]
    if rng.random() < 0.3:
        return pairs[chosen[:1]], pairs[chosen[1:]]
    near = lengths[chosen] <= np.quantile(lengths, 0.3)
    return pairs[chosen[near]], pairs[chosen[~near]]


def _parameters(rng: np.random.Generator) -> Any:
    from sdpbb import SolverParameters

    return SolverParameters(
        gap=float(rng.choice([GAP, GAP, 1e-9])),
        time_limit=TIME_LIMIT,
        bounding=str(rng.choice(["sdp", "colgen", "hybrid", "hybrid"])),
    )


def _random_labels(rng: np.random.Generator, given: Case) -> list[int] | None:
    """Labels that keep the links, and are good only by accident; None if none were found."""
    ml, cl = given.must_link, given.cannot_link
    for _ in range(30):
        labels = rng.integers(0, given.k, given.n)
        for i, j in [*ml.tolist(), *ml[::-1].tolist()]:
            labels[labels == labels[j]] = labels[i]
        broken = (labels[ml[:, 0]] != labels[ml[:, 1]]).any()
        broken |= (labels[cl[:, 0]] == labels[cl[:, 1]]).any()
        if not broken and len(np.unique(labels)) == given.k:
            return [int(label) for label in labels]
    return None


def _judged(
    given: Case, ratio: float, parameters: Any, labels: list[int] | None, folder: Path | None
) -> Kind:
    import sdpbb

    path = None if folder is None else folder / "run.cert"
    try:
        result = sdpbb.solve(given.instance(), parameters, start=labels, certificate=path)
    except Exception as error:
        raise Found(where(error), f"# {type(error).__name__}: {error}") from None
    exact = Exact.of(given.points)
    cost = None if result.partition is None else exact.cost_of(result.partition.labels)
    least = least_cost(exact, given.k, given.must_link, given.cannot_link, cost)
    try:
        kind = judge(given, result, least, cost)
    except Found as found:
        raise Found(found.signature, f"{found.text}\n# {result!r}") from None
    if kind is Kind.FEASIBLE and ratio <= SOLVED and not result.gap <= GAP:
        raise Found("not solved to 1e-6", f"# {result!r} ratio {ratio:.1e}")
    if kind is Kind.UNKNOWN:
        raise Found("unknown", f"# {result!r}")
    if path is not None:
        verdict = _verdict(path.read_bytes(), given)
        if isinstance(verdict, str):
            raise Found("a certificate of the engine is rejected", f"# {verdict}")
        if verdict.status != result.status.value:
            raise Found("a certificate says less than the result", f"# {verdict.status}")
        _check(given, exact, verdict, least)
    return kind


def _check(given: Case, exact: Exact, verdict: Any, least: Fraction | None) -> None:
    """Whether what was verified is true, to the last digits."""
    if least is None:
        if verdict.status in ("optimal", "feasible"):
            raise Found("a clustering of an instance that has none is verified")
        return
    if verdict.status == "infeasible":
        raise Found("verified as infeasible, but a clustering keeps the links")
    if Fraction(verdict.lower_bound) > least:
        raise Found("a bound above the optimum is verified", f"# {verdict!r}, {float(least)!r}")
    if verdict.cost is not None and Fraction(verdict.cost) < least:
        raise Found("a cost below the optimum is verified", f"# {verdict!r}, {float(least)!r}")
    if verdict.status == "optimal":
        allowed = Fraction(verdict.cost) * (Fraction(verdict.tolerance) + 2 * BOUND)
        if Fraction(verdict.cost) - least > allowed:
            raise Found("verified as optimal", f"# {verdict!r}, {float(least)!r}")


def _forge(rng: np.random.Generator, given: Case, path: Path) -> None:
    """The certificate of another clustering, with the same proof, that says it is optimal."""
    from sdpbb.checker.container import pack, unpack

    document, stored = unpack(path.read_bytes())
    labels = _random_labels(rng, given)
    if labels is None or document["labels"] is None:
        return
    arrays = list(stored)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))[inverse.reshape(-1)]
    arrays[document["labels"]] = number.astype(np.int32)
    exact = Exact.of(given.points)
    cost = exact.cost_of(number)
    forged = document | {"cost": float(cost), "status": "optimal"}
    verdict = _verdict(pack(forged, arrays), given)
    if isinstance(verdict, str):
        return
    least = least_cost(exact, given.k, given.must_link, given.cannot_link, cost)
    try:
        _check(given, exact, verdict, least)
    except Found as found:
        raise Found(f"forged: {found.signature}", found.text) from None


def _verdict(content: bytes, given: Case) -> Any:
    """The verdict, or why there is none."""
    from sdpbb.checker.certificate import Certificate
    from sdpbb.checker.rejection import Rejected
    from sdpbb.checker.verify import verify

    pairs = given.must_link, given.cannot_link
    try:
        return verify(Certificate.read(content), given.points, given.k, *pairs)
    except Rejected as rejected:
        return str(rejected)
