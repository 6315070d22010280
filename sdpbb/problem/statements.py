"""Single constraints in the user's words, and contradictory sets of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem import (
    InfeasibilityKind,
    Instance,
    MaximumDiameter,
    Origin,
    SoftPairs,
)
from sdpbb.problem.checks import ClassSizes
from sdpbb.problem.cluster_constraints import BuiltInConstraint
from sdpbb.problem.files.constraints import PAIRS, line_of
from sdpbb.problem.instance import check_instance
from sdpbb.problem.origin import DISTANCE_OF, PairLines
from sdpbb.problem.rules import LIMITS
from sdpbb.problem.textfile import name_in_file
from sdpbb.runtime.files import shown_path

# Number of rows that the text of one constraint shows.
SHOWN_ROWS = 8


class StatementKind(Enum):
    """Kind of a constraint; values are keywords of files."""

    MUST_LINK = "ML"
    CANNOT_LINK = "CL"
    MAXIMUM_DIAMETER = "GAMMA"
    """Cannot-link of two points that are too far apart."""
    MINIMUM_SEPARATION = "DELTA"
    """Must-link of two points that are too close to each other."""
    SOFT_MUST_LINK = "SML"
    SOFT_CANNOT_LINK = "SCL"
    ON_CLUSTERS = "clusters"
    """Constraint on single clusters, other than a maximum diameter."""


@dataclass(frozen=True)
class Statement:
    """One constraint, or one pair that a distance implies.

    Attributes
    ----------
    kind : kind of the constraint
    rows : the row numbers of the pair, i < j, from 0; () for a constraint on clusters
    names : the user's names of these rows
    argument, position : its list in the instance ("must_link", "cannot_link", "soft_must_link",
        "soft_cannot_link" or "cluster_constraints") and its position there; or "min_size",
        "max_size", "sizes", "min_weight" or "max_weight", and 0
    place : where the user stated it: a file and a line, or the argument and the position
    text : the constraint as a line of a file of constraints
    weight : weight of a soft pair; None: not a soft pair
    """

    kind: StatementKind
    rows: tuple[int, ...]
    names: tuple[str, ...]
    argument: str
    position: int
    place: str
    text: str
    weight: float | None = None

    def to_dict(self) -> dict[str, object]:
        """Return plain values; rows have the user's names."""
        values: dict[str, object] = {
            "kind": self.kind.name.lower(),
            "rows": list(self.names),
            "place": self.place,
            "argument": self.argument,
            "position": self.position,
            "text": self.text,
        }
        if self.weight is not None:
            values["weight"] = self.weight
        return values

    def __str__(self) -> str:
        return f"{self.place}  {self.text}"


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Hard constraints of an instance, numbered.

    Must-links come first. Then come cannot-links, the pairs of `MaximumDiameter` constraints, other
    constraints on clusters, and limits on sizes and weights. The pairs of a distance in a file
    (GAMMA, DELTA) are among the must-links and cannot-links of the instance already.
    """

    instance: Instance

    @property
    def must_link(self) -> NDArray[np.intp]:
        """Must-links (p, 2)."""
        return self.instance.must_link

    @cached_property
    def cannot_link(self) -> NDArray[np.intp]:
        """Cannot-links (q, 2): given pairs first, then pairs that a `MaximumDiameter` forbids."""
        return np.concatenate([self.instance.cannot_link, *(f for _, f in self._far)])

    @cached_property
    def on_clusters(self) -> list[tuple[str, int, Any]]:
        """Argument, position and value of each constraint on clusters, except maximum diameters."""
        stated = enumerate(self.instance.cluster_constraints)
        others = [(at, each) for at, each in stated if type(each) is not MaximumDiameter]
        return [
            *(("cluster_constraints", at, each) for at, each in others),
            *((name, 0, value) for name, value in self.instance.limits.items()),
        ]

    def __len__(self) -> int:
        return len(self.must_link) + len(self.cannot_link) + len(self.on_clusters)

    @cached_property
    def _far(self) -> list[tuple[int, NDArray[np.intp]]]:
        """Pairs of each maximum diameter, with its position."""
        return [
            (at, constraint.forbidden_pairs(self.instance.points))
            for at, constraint in enumerate(self.instance.cluster_constraints)
            if type(constraint) is MaximumDiameter
        ]

    @property
    def stated_pairs(self) -> list[int]:
        """Numbers of the pairs that the user stated one by one, not by a distance."""
        return np.flatnonzero(self._stated).tolist()

    @cached_property
    def stated_and_implied(self) -> frozenset[int]:
        """Numbers of the pairs stated one by one that a distance implies, too."""
        derived = [of_distance(self.instance, name) for name in DISTANCE_OF]
        return frozenset(np.flatnonzero(self._stated & np.concatenate(derived)).tolist())

    @cached_property
    def _stated(self) -> NDArray[np.bool_]:
        """Marks of the instance's must-links and cannot-links that were stated one by one."""
        return np.concatenate([stated_one_by_one(self.instance, name) for name in DISTANCE_OF])

    def restricted(self, numbers: Sequence[int]) -> Instance:
        """Return the instance with only the constraints of these numbers."""
        chosen, p = np.asarray(numbers, np.intp), len(self.must_link)
        others, q = chosen[chosen >= p] - p, len(self.cannot_link)
        on_clusters = [self.on_clusters[number - q] for number in others[others >= q].tolist()]
        limits: dict[str, Any] = dict.fromkeys(LIMITS)
        limits |= {name: value for name, _, value in on_clusters if name in LIMITS}
        return replace(
            self.instance,
            must_link=self.must_link[chosen[chosen < p]],
            cannot_link=self.cannot_link[others[others < q]],
            cluster_constraints=tuple(each for name, _, each in on_clusters if name not in LIMITS),
            **limits,
        )

    def statement(self, number: int) -> Statement:
        """Return the constraint of this number, in the user's words."""
        instance, origin = self.instance, self.instance.origin
        p, q = len(self.must_link), len(self.cannot_link)
        if number >= p + q:
            argument, position, value = self.on_clusters[number - p - q]
            text = _text(argument, value, origin)
            return _statement(instance, StatementKind.ON_CLUSTERS, argument, position, text)
        argument, position, pairs = "must_link", number, self.must_link
        kind, of_a_distance = StatementKind.MUST_LINK, StatementKind.MINIMUM_SEPARATION
        if number >= p:
            argument, position, pairs = "cannot_link", number - p, self.cannot_link
            kind, of_a_distance = StatementKind.CANNOT_LINK, StatementKind.MAXIMUM_DIAMETER
        i, j = pairs[position].tolist()
        n_pairs = len(self._stated)
        if number < n_pairs and self._stated[number]:
            text = _pair_text(instance, kind, (i, j))
            return _statement(instance, kind, argument, position, text, (i, j))
        says = of_a_distance.value
        if number >= n_pairs:
            ends = np.cumsum([len(pairs) for _, pairs in self._far])
            position = self._far[int(np.searchsorted(ends, number - n_pairs, "right"))][0]
            argument = "cluster_constraints"
            says = _text(argument, instance.cluster_constraints[position], origin)
        distance = float(np.linalg.norm(instance.points[i] - instance.points[j]))
        one, other = map(name_in_file, origin.rows((i, j)))
        text = f"{says}: {one} and {other} are {distance:.6g} apart"
        return _statement(instance, of_a_distance, argument, position, text, (i, j))


def stated_constraints(instance: Instance) -> tuple[Statement, ...]:
    """Return the must-links and the cannot-links of an instance, in the user's words.

    Soft pairs come last. Pairs that only a distance (GAMMA, DELTA) implies are left out.

    Raises
    ------
    InstanceError
        If the argument is not an `Instance`, or has sizes of known classes.
    """
    check_instance(instance)
    if isinstance(instance.sizes, ClassSizes):
        raise InstanceError(
            "sizes: of classes, which all their pairs define; prices take sizes in any order"
        )
    catalogue = Catalogue(instance)
    statements = [catalogue.statement(number) for number in catalogue.stated_pairs]
    for kind in (StatementKind.SOFT_MUST_LINK, StatementKind.SOFT_CANNOT_LINK):
        argument = kind.name.lower()
        soft: SoftPairs = getattr(instance, argument)
        triples = zip(soft.pairs.tolist(), soft.weights.tolist(), strict=True)
        for position, ((i, j), weight) in enumerate(triples):
            text = f"{_pair_text(instance, kind, (i, j))} {weight:.10g}"
            stated = _statement(instance, kind, argument, position, text, (i, j), weight)
            statements.append(stated)
    return tuple(statements)


def without(instance: Instance, statement: Statement) -> Instance:
    """Return the instance without a must-link or a cannot-link, hard or soft.

    A hard pair stays if it is stated twice, or if a distance (GAMMA, DELTA) implies it, too.
    """
    argument, position = statement.argument, statement.position
    stated: Any = getattr(instance, argument)
    if statement.weight is not None:
        pairs = np.delete(stated.pairs, position, axis=0)
        stated = SoftPairs(pairs, np.delete(stated.weights, position))
        return replace(instance, **{argument: stated})
    offset = 0 if argument == "must_link" else len(instance.must_link)
    if offset + position in Catalogue(instance).stated_and_implied:
        return instance
    return replace(instance, **{argument: np.delete(stated, position, axis=0)})


def _statement(
    instance: Instance,
    kind: StatementKind,
    argument: str,
    position: int,
    text: str,
    rows: tuple[int, ...] = (),
    weight: float | None = None,
) -> Statement:
    """Return a statement with the names of its rows, and its place."""
    value, origin = getattr(instance, argument), instance.origin
    if argument in PAIRS.values():
        place = place_of_pair(instance, argument, position)
    elif argument == "cluster_constraints":
        place = origin.place_on_clusters(argument, value[position]) or f"{argument}[{position}]"
    else:
        place = origin.place_on_clusters(argument, value) or argument
    names = tuple(origin.rows(rows))
    return Statement(kind, rows, names, argument, position, place, text, weight)


def _pair_text(instance: Instance, kind: StatementKind, rows: tuple[int, int]) -> str:
    return " ".join([kind.value, *map(name_in_file, instance.origin.rows(rows))])


def _text(argument: str, value: Any, origin: Origin) -> str:
    """Return the text of a constraint or limit on clusters, as a line of a file if possible."""
    if isinstance(value, MaximumDiameter):
        argument, value = "max_diameter", value.distance
    numbers = list(value.rows()) if isinstance(value, BuiltInConstraint) else []
    dots = ["..."] if len(numbers) > SHOWN_ROWS else []
    names = map(name_in_file, origin.rows(numbers[:SHOWN_ROWS]))
    return line_of(value, [*names, *dots], argument) or repr(value)


def place_of_pair(instance: Instance, argument: str, position: int) -> str:
    """Return where the user stated the pair at a position of a list, hard or soft.

    That is a place in a file, or else the argument and the position.
    """
    origin = instance.origin
    listed, stated = getattr(instance, argument), getattr(origin, argument)
    pair = (listed.pairs if isinstance(listed, SoftPairs) else listed)[position]
    if position < len(stated.pairs) and (stated.pairs[position] == pair).all():
        # Several lines may state a pair. Without this, all would have the place of the first.
        return f"{shown_path(origin.constraints_path)}{stated.place_at(position)}"
    return origin.place(argument, *pair.tolist()) or f"{argument}[{position}]"


def stated_one_by_one(instance: Instance, argument: str) -> NDArray[np.bool_]:
    """Return which pairs of a list the user stated one by one, (p,)."""
    return ~of_distance(instance, argument) | _are_placed(instance, argument, argument)


def of_distance(instance: Instance, argument: str) -> NDArray[np.bool_]:
    """Return which pairs of a list a distance (GAMMA, DELTA) implies, (p,)."""
    return _are_placed(instance, argument, DISTANCE_OF[argument])


def _are_placed(instance: Instance, argument: str, places: str) -> NDArray[np.bool_]:
    """Return which pairs of a list are among these places of the origin, (p,)."""
    placed: PairLines = getattr(instance.origin, places)
    code = [instance.n_points, 1]
    return np.isin(getattr(instance, argument) @ code, placed.pairs.astype(np.intp) @ code)


# Numbers of members that the text and a single line show.
SHOWN_MEMBERS, SHOWN_IN_LINE = 20, 8


@dataclass(frozen=True)
class Conflict:
    """Constraints that no clustering into exactly k clusters satisfies.

    Attributes
    ----------
    kind : kind of the contradiction
    heading : the same in words
    members : the constraints; each pair that a distance (GAMMA, DELTA) implies is a member
    is_minimal : whether it is proven that without any one member the others are feasible. If not,
        the time ended before all members had been tried
    is_exact : False if the proof is the verdict of an integer programming solver in floating point
    """

    kind: InfeasibilityKind
    heading: str
    members: tuple[Statement, ...]
    is_minimal: bool
    is_exact: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, all members included."""
        return {
            "kind": self.kind.name.lower(),
            "heading": self.heading,
            "is_minimal": self.is_minimal,
            "is_exact": self.is_exact,
            "members": [member.to_dict() for member in self.members],
        }

    @property
    def line(self) -> str:
        """Heading and the first members on one line."""
        members = [f"{member.text} ({member.place})" for member in self.members[:SHOWN_IN_LINE]]
        if (more := len(self.members) - SHOWN_IN_LINE) > 0:
            members.append(f"and {more} more")
        return f"{self.heading}: {', '.join(members)}"

    def __str__(self) -> str:
        shown = self.members[:SHOWN_MEMBERS]
        width = max((len(member.place) for member in shown), default=0)
        lines = [f"{self.heading}:", *(f"  {one.place:<{width}}  {one.text}" for one in shown)]
        if (more := len(self.members) - SHOWN_MEMBERS) > 0:
            lines.append(f"  ... and {more} more")
        if not self.is_minimal:
            lines.append("(perhaps not all are needed; the time was too short to decide)")
        if not self.is_exact:
            lines.append("(by an integer programming solver in floating point)")
        return "\n".join(lines)
