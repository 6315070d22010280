"""Numbers that are large, small, nearly equal or of many sizes: against rational arithmetic where
points are few, and against the same instance moved, scaled and in another order."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attacks.exact import Exact, best_cost
from attacks.judging import BOUND, COST, judge
from attacks.outcome import Found, Kind, Outcome
from attacks.parts import enumeration
from attacks.random_parameters import code_of
from attacks.reduction import smallest_case
from attacks.shapes import Case, Points, random_case, random_links, random_points
from attacks.worker import where

if TYPE_CHECKING:
    from sdpbb import Result

PATIENCE = 120.0
TIME_LIMIT = 5.0
# Beyond so many points not all clusterings are looked at.
N_EXACT, N_MAX = 7, 24
EPS = float(np.finfo(float).eps)

prepare = enumeration.prepare

Change = Callable[[np.random.Generator, Points], Points]


def _scaled(rng: np.random.Generator, points: Points) -> Points:
    return points * 10.0 ** rng.integers(-8, 9)


def _extreme(rng: np.random.Generator, points: Points) -> Points:
    return points * 10.0 ** (90.0 * rng.choice([-1, 1]))


def _offset(rng: np.random.Generator, points: Points) -> Points:
    return points + 10.0 ** rng.integers(3, 9) * rng.normal(size=(1, points.shape[1]))


def _last_digits(rng: np.random.Generator, points: Points) -> Points:
    """A large number and differences of a few units in its last place."""
    base = 10.0 ** rng.integers(0, 7)
    return base * (1.0 + EPS * np.round(points * rng.integers(1, 30)))


def _near_ties(rng: np.random.Generator, points: Points) -> Points:
    size = 10.0 ** -rng.integers(6, 16)
    return np.round(points * 2.0) + size * rng.normal(size=points.shape)


def _mixed(rng: np.random.Generator, points: Points) -> Points:
    """Each coordinate, or each point, of another size."""
    shape = (1, points.shape[1]) if rng.random() < 0.5 else (len(points), 1)
    return points * 10.0 ** rng.integers(-12, 13, shape)


def _far_group(rng: np.random.Generator, points: Points) -> Points:
    far = points.copy()
    far[rng.random(len(points)) < 0.5] += 10.0 ** rng.integers(3, 10)
    return far


def _many_columns(rng: np.random.Generator, points: Points) -> Points:
    return points @ rng.normal(size=(points.shape[1], 2000))


def _as_is(_rng: np.random.Generator, points: Points) -> Points:
    return points


CHANGES: tuple[Change, ...] = (
    *(_scaled, _extreme, _offset, _last_digits, _near_ties, _mixed, _far_group, _many_columns),
    _as_is,
)


def case(rng: np.random.Generator, _folder: Path) -> Outcome:
    """One instance, changed; in rational arithmetic, or against its copies."""
    from sdpbb import SolverParameters

    parameters = SolverParameters(
        gap=float(10.0 ** -rng.integers(4, 13)),
        time_limit=TIME_LIMIT,
        bounding=str(rng.choice(["sdp", "colgen", "hybrid"])),
    )
    small = rng.random() < 0.7
    given = random_case(rng, N_EXACT if small else N_MAX, d_max=8)
    if not small:
        must_link, cannot_link = random_links(rng, given.n)
        points = random_points(rng, given.n, given.points.shape[1])
        given = Case(points, given.k, must_link[:5], cannot_link[:5])
    for change in rng.permutation(len(CHANGES))[: rng.integers(1, 3)]:
        given = replace(given, points=CHANGES[change](rng, given.points))
    if not _is_within_limits(given.points):
        return _refused(given)
    if small:
        return _exact(given, parameters)
    return _against_copies(rng, given, parameters)


def _is_within_limits(points: Points) -> bool:
    """Of numbers, as docs/limits.md states them."""
    spread = float((points.max(axis=0) - points.min(axis=0)).max())
    return bool(np.abs(points).max() <= 1e100) and not 0.0 < spread < 1e-100


def _refused(given: Case) -> Outcome:
    from sdpbb import InstanceError

    try:
        given.instance()
    except InstanceError:
        return Outcome(Kind.REFUSED)
    raise Found("points outside of the limits are accepted", given.code())


def _exact(given: Case, parameters: Any) -> Outcome:
    try:
        return Outcome(_judged(given, parameters))
    except Found as found:
        wrong = found.signature

    def shows(other: Case) -> bool:
        try:
            _judged(other, parameters)
        except Found as found:
            return found.signature == wrong
        return False

    given = smallest_case(given, shows)
    try:
        _judged(given, parameters)
    except Found as found:
        raise Found(
            f"{wrong} (exact)", f"{given.code(code_of(parameters))}\n{found.text}"
        ) from None
    raise Found(f"{wrong} (not repeatable)", given.code(code_of(parameters)))


def _judged(given: Case, parameters: Any) -> Kind:
    result = _solved(given, parameters)
    exact = Exact.of(given.points)
    least = best_cost(exact, given.k, given.must_link, given.cannot_link)
    cost = None if result.partition is None else exact.cost_of(result.partition.labels)
    return judge(given, result, least, cost)


def _solved(given: Case, parameters: Any) -> Result:
    import sdpbb

    try:
        return sdpbb.solve(given.instance(), parameters)
    except Exception as error:
        raise Found(where(error), f"# {type(error).__name__}: {error}") from None


def _against_copies(rng: np.random.Generator, given: Case, parameters: Any) -> Outcome:
    order = rng.permutation(given.n)
    place = np.argsort(order)
    factor = float(10.0 ** rng.integers(-8, 9))
    shift = float(10.0 ** rng.integers(-2, 7)) * rng.normal(size=(1, given.points.shape[1]))
    copies = {
        "in another order": (
            replace(
                given,
                points=given.points[order],
                must_link=place[given.must_link],
                cannot_link=place[given.cannot_link],
            ),
            1.0,
        ),
        "scaled": (replace(given, points=given.points * factor), factor),
        "moved": (replace(given, points=given.points + shift), 1.0),
    }
    try:
        result = _solved(given, parameters)
        for name, (copy, scale) in copies.items():
            if _is_within_limits(copy.points):
                _compare(given, result, name, copy, _solved(copy, parameters), scale)
    except Found as found:
        text = f"{given.code(code_of(parameters))}\n{found.text}"
        raise Found(f"{found.signature} (copies)", text) from None
    return Outcome(Kind(result.status.value))


def _compare(
    given: Case, result: Result, name: str, copy: Case, other: Result, scale: float
) -> None:
    """Whether no bound of one is above a clustering of the other, up to what the points were
    rounded by: ||X' - X||_F = r makes sqrt(cost) differ by r at most."""
    detail = f"# {result!r}\n# {name}: {other!r}"
    infeasible = [Kind(r.status.value) is Kind.INFEASIBLE for r in (result, other)]
    solved = [r.objective is not None for r in (result, other)]
    if (infeasible[0] and solved[1]) or (infeasible[1] and solved[0]):
        raise Found(f"infeasible, but not {name}", detail)
    # Both copies are rounded to half a unit in the last place of their numbers, and their
    # difference to the points is at most one of these.
    size = np.maximum(np.abs(copy.points), np.abs(given.points) * scale)
    rounding = 2.0 * EPS * float(np.linalg.norm(size)) if name != "in another order" else 0.0

    def above(lower: float | None, upper: float | None) -> bool:
        if lower is None or upper is None:
            return False
        return lower > (math.sqrt(upper) + rounding) ** 2 * (1.0 + BOUND + COST)

    def times(value: float | None) -> float | None:
        return None if value is None else value * scale**2

    if above(times(result.lower_bound), other.objective) or above(
        other.lower_bound, times(result.objective)
    ):
        raise Found(f"a bound above a clustering {name}", detail)
