"""Small instances with constraints on clusters, and the least cost of a clustering that keeps them,
found by looking at all sets of points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attacks.exhaustive import relations, squared_distances
from attacks.shapes import Case, random_case

if TYPE_CHECKING:
    from sdpbb import Instance
    from sdpbb.problem.cluster_constraints import ClusterConstraint

Points = Sequence[int]


class Rule(NamedTuple):
    """A constraint on clusters: as Python code that makes the package's own, and as what it says.

    allows : whether a cluster of these points keeps it
    """

    code: str
    allows: Callable[[Points], bool]


@dataclass(frozen=True, eq=False)
class RuledCase(Case):
    """With rules that every cluster keeps."""

    rules: tuple[Rule, ...] = ()

    @property
    def _constraints(self) -> str:
        return f"[{', '.join(rule.code for rule in self.rules)}]"

    def instance(self) -> Instance:
        import sdpbb

        names = {name: getattr(sdpbb, name) for name in sdpbb.__all__}
        constraints: list[ClusterConstraint] = eval(self._constraints, names)
        return sdpbb.Instance(
            self.points, self.k, self.must_link, self.cannot_link, cluster_constraints=constraints
        )

    def code(self, parameters: str = "", check: str = "print(repr(result))") -> str:
        lines = super().code(parameters, check).splitlines()
        lines[0] = "import sdpbb; from sdpbb import *"
        end = next(i for i, line in enumerate(lines) if line.startswith("result"))
        lines[end - 1] = lines[end - 1][:-1] + f", cluster_constraints={self._constraints})"
        return "\n".join(lines)


def random_ruled_case(rng: np.random.Generator, n_max: int) -> RuledCase:
    """One to three rules, of every kind and inside of one another."""
    case = random_case(rng, n_max, n_min=2, d_max=5)
    rules = [_random_rule(rng, case) for _ in range(int(rng.integers(1, 4)))]
    return RuledCase(case.points, case.k, case.must_link, case.cannot_link, tuple(rules))


def _random_rule(rng: np.random.Generator, case: Case, depth: int = 0) -> Rule:
    n = case.n
    some = frozenset(rng.permutation(n)[: int(rng.integers(1, n + 1))].tolist())
    match int(rng.integers(5 if depth == 2 else 7)):
        case 0:
            most = max(1, int(rng.integers(n // case.k, n + 1)))
            return Rule(f"MaximumSize({most})", lambda cluster: len(cluster) <= most)
        case 1:
            # Half-way between two distances, so that rounding is not what decides.
            lengths = np.unique(np.sqrt(squared_distances(case.points)))
            at = int(rng.integers(len(lengths)))
            next_one = lengths[at + 1] if at + 1 < len(lengths) else lengths[at] + 1.0
            longest = float(lengths[at] + next_one) / 2.0
            return Rule(
                f"MaximumDiameter({longest!r})",
                lambda cluster: all(
                    np.linalg.norm(case.points[i] - case.points[j]) <= longest
                    for i, j in combinations(cluster, 2)
                ),
            )
        case 2:
            most = int(rng.integers(1, len(some) + 1))
            code = f"MaximumOverlap({tuple(sorted(some))}, {most})"
            return Rule(code, lambda cluster: len(some & set(cluster)) <= most)
        case 3:
            most = int(rng.integers(0, n - len(some) + 1))
            code = f"MinimumDifference({tuple(sorted(some))}, {most})"
            return Rule(code, lambda cluster: len(set(cluster) - some) <= most)
        case 4:
            every = list(combinations(range(n), 2))
            chosen = rng.permutation(len(every))[: int(rng.integers(1, len(every) + 1))]
            pairs = [every[i] for i in chosen]
            most = int(rng.integers(0, len(pairs) + 1))
            return Rule(
                f"SoftCannotLinks({tuple(pairs)}, {most})",
                lambda cluster: sum(i in cluster and j in cluster for i, j in pairs) <= most,
            )
        case kind:
            parts = [_random_rule(rng, case, depth + 1) for _ in range(int(rng.integers(1, 3)))]
            name, holds = ("AllOf", all) if kind == 5 else ("AnyOf", any)
            code = f"{name}(({', '.join(part.code for part in parts)},))"
            return Rule(code, lambda cluster: holds(part.allows(cluster) for part in parts))


def least_ruled_cost(case: RuledCase) -> float | None:
    """The least cost of a clustering into exactly k clusters that keeps all; None without one."""
    distances = squared_distances(case.points)
    relation = relations(case.n, case.must_link, case.cannot_link)
    everything = 2**case.n - 1
    members = [[i for i in range(case.n) if mask >> i & 1] for mask in range(everything + 1)]

    def keeps(mask: int) -> bool:
        inside = members[mask]
        outside = members[everything ^ mask]
        if np.isin(relation[np.ix_(inside, inside)], (-1, 2)).any():
            return False
        if (relation[np.ix_(inside, outside)] > 0).any():
            return False
        return all(rule.allows(inside) for rule in case.rules)

    cost_of = {
        mask: float(distances[np.ix_(members[mask], members[mask])].sum()) / 2 / mask.bit_count()
        for mask in range(1, everything + 1)
        if keeps(mask)
    }

    @cache
    def least(left: int, count: int) -> float | None:
        if count == 0 or not left:
            return None if count or left else 0.0
        first, best = left & -left, None
        rest = left ^ first
        part = rest
        while True:  # all sets of the rest
            cost = cost_of.get(first | part)
            if cost is not None and (others := least(rest ^ part, count - 1)) is not None:
                best = cost + others if best is None else min(best, cost + others)
            if not part:
                return best
            part = (part - 1) & rest

    return least(everything, case.k)
