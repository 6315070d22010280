"""Instance as given to the checker: its digests, which name it in a certificate, and its parts.

*Parts.* Let S_1, ..., S_T be disjoint sets of points. Restricted to S_t, a clustering of the whole
has k clusters or fewer. It satisfies the links with both ends in S_t. Its clusters satisfy the
rules of parts (`rules.of_parts`), as each part of a cluster does. The sum of squares of such a part
around its own mean is at most that around the mean of the cluster. So with OPT(S) for the least
cost of such clusterings of S

    OPT >= OPT(S_1) + ... + OPT(S_T).

This holds with soft pairs, too: the pairs with both ends in S_t are some of all pairs, and no price
is negative. Points of no subset add nothing. If S_t has no clustering, the whole has none.

Proofs are about exactly k clusters. Let the must-links inside of S_t leave k blocks or more. In a
clustering of S_t into fewer than k clusters, some cluster has two blocks or more. It can be divided
into two at no cost, and no link or rule is broken. No soft cannot-link is violated. No soft
must-link is violated if both halves are unions of components of must-links and soft must-links.
Such halves exist if S_t has k components or more; otherwise its soft must-links are left out. So
the bound for exactly k clusters is one of OPT(S_t), too. A subset of fewer blocks is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .blocks import Blocks
from .geometry import Geometry
from .rejection import Rejected, at
from .rules import Either, Limit, Rule, Rules, of_parts, over_blocks, without_idle
from .sizes import StatedMeasure
from .soft import CheckedSoftPairs, PricedPairs


def pairs_of(stated: ArrayLike = ()) -> NDArray[np.int64]:
    """Return pairs (p, 2) of points as an array."""
    return np.asarray(stated, np.int64).reshape(-1, 2)


def normalised(pairs: ArrayLike) -> NDArray[np.int64]:
    """Return the distinct pairs (p, 2), each as i < j, in ascending order."""
    return np.unique(np.sort(pairs_of(pairs), axis=1), axis=0)


@dataclass(frozen=True, eq=False)
class StatedInstance:
    """Points, number of clusters and constraints, as stated by the user of the checker.

    points : (n, d)
    k : number of clusters
    must_link, cannot_link : (p, 2) numbers of different points, from 0
    rules : that every cluster has to satisfy
    weights : (n,) > 0, factors of the squares of points; None: 1 each
    soft : pairs whose weights are costs if they are violated
    """

    points: NDArray[np.float64]
    k: int
    must_link: NDArray[np.int64] = field(default_factory=pairs_of)
    cannot_link: NDArray[np.int64] = field(default_factory=pairs_of)
    rules: Rules = ()
    weights: NDArray[np.float64] | None = None
    soft: CheckedSoftPairs = field(default_factory=CheckedSoftPairs)

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.points)

    @property
    def geometry(self) -> Geometry:
        """Points, weights and soft pairs; `Rejected` if the numbers are too large or too small."""
        return Geometry.of(self.points, self.weights, self.soft)

    @property
    def root(self) -> Blocks:
        """State of the root, which stands for all clusterings."""
        return Blocks.of(self.n, self.k, self.must_link, self.cannot_link, self.rules)

    @cached_property
    def digests(self) -> dict[str, str]:
        """SHA-256 digests in hexadecimal, by their names in a claim.

        They are of little-endian float64 and int64, in C order; -0.0 of a point counts as 0.0. The
        order of pairs, the order within a pair and repeated hard pairs do not matter. Weights and
        soft pairs have digests only if they are stated.
        """
        found = {
            "points": _digest(np.asarray(self.points, np.float64) + 0.0),
            "must_link": _digest(normalised(self.must_link)),
            "cannot_link": _digest(normalised(self.cannot_link)),
            "rules": _of_rules(self.rules),
        }
        if self.weights is not None:
            found["weights"] = _digest(self.weights)
        soft = {"must": self.soft.must_link, "cannot": self.soft.cannot_link}
        for name, stated in soft.items():
            if len(stated):
                order = np.lexsort([stated.weights, *stated.pairs.T[::-1]])
                found[f"soft_{name}_link"] = _digest(stated.pairs[order], stated.weights[order])
        return found

    def parts(self, rows: Sequence[NDArray[np.int64]]) -> list[StatedInstance]:
        """Return the instances of disjoint subsets, with the constraints inside of each.

        rows : the points of each subset, increasing numbers

        Raises
        ------
        Rejected
            If the rows are not increasing or not disjoint, or must-links leave a subset fewer than
            k blocks.
        """
        rules = of_parts(self.rules, self.n, self.k)
        subset_of, found = np.full(self.n, -1), []
        for number, own in enumerate(rows):
            with at(f"subset {number}"):
                if not len(own) or own[0] < 0 or own[-1] >= self.n or (np.diff(own) <= 0).any():
                    raise Rejected(
                        f"rows: expected increasing numbers of points in 0..{self.n - 1}"
                    )
                if (subset_of[own] >= 0).any():
                    point = own[subset_of[own] >= 0][0]
                    raise Rejected(f"point {point} is in subset {subset_of[point]}, too")
                subset_of[own] = number
                found.append(self._part(own, rules))
        return found

    def _part(self, rows: NDArray[np.int64], rules: Rules) -> StatedInstance:
        """Return the instance of a subset; see the module.

        rows : (s,) its points
        rules : on parts of clusters
        """
        place = np.full(self.n, -1)
        place[rows] = np.arange(len(rows))

        def inside(pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
            return np.asarray((place[pairs] >= 0).all(axis=1))

        def priced(soft: PricedPairs) -> PricedPairs:
            kept = inside(soft.pairs)
            return PricedPairs(place[soft.pairs[kept]], soft.weights[kept])

        def n_blocks(linked: NDArray[np.int64]) -> int:
            return Blocks.of(len(rows), self.k, linked, pairs_of()).m

        must_link, cannot_link = (
            place[pairs[inside(pairs)]] for pairs in (self.must_link, self.cannot_link)
        )
        together = priced(self.soft.must_link)
        if n_blocks(must_link) < self.k:
            raise Rejected(f"{n_blocks(must_link)} blocks; expected k = {self.k} or more")
        if len(together) and n_blocks(np.concatenate([must_link, together.pairs])) < self.k:
            together = PricedPairs()
        return StatedInstance(
            self.points[rows],
            self.k,
            must_link,
            cannot_link,
            over_blocks(rules, place),
            None if self.weights is None else self.weights[rows],
            CheckedSoftPairs(together, priced(self.soft.cannot_link)),
        )


def _digest(*arrays: NDArray[np.generic], kind: bytes = b"") -> str:
    """Return the digest of a word and the bytes of arrays."""
    content = (np.asarray(each, each.dtype.newbyteorder("<")).tobytes() for each in arrays)
    return hashlib.sha256(kind + b"".join(content)).hexdigest()


def _of_rules(rules: Rules) -> str:
    """Return the digest of rules on clusters.

    The bytes are a word and numbers, as little-endian int64, or a word and digests: distinct ones
    in ascending order.

        rules            b"rules", the digest of each rule; without limits that say nothing
        limit            b"limit", most, values, pairs
        sizes            b"sizes", the least size, the listed sizes
        ranges of sizes  b"ranges", the least size, the ends of each listed range
        weights          b"weights", the least and the most units, the units of each point
        alternatives     b"either", the digest of each list of rules
    """
    return _of_all(b"rules", {_of_rule(rule) for rule in without_idle(rules)})


def _of_rule(rule: Rule) -> str:
    """Return the digest of a rule as stated; see `_of_rules`."""
    match rule:
        case Either():
            return _of_all(b"either", {_of_rules(part) for part in rule.alternatives})
        case Limit():
            numbers = np.array([rule.most]), rule.values, normalised(rule.pairs)
            return _digest(*(each.astype(np.int64) for each in numbers), kind=b"limit")
        case StatedMeasure():
            kind, stated = b"sizes", [rule.least, *(size for size, _ in rule.listed)]
            if any(low != high for low, high in rule.listed):
                kind, stated = b"ranges", [rule.least, *(end for x in rule.listed for end in x)]
            if rule.units is not None:
                kind, stated = b"weights", [rule.least, rule.most, *rule.units.tolist()]
            return _digest(np.array(stated, np.int64), kind=kind)
    raise ValueError("rules: only what is stated has a digest")


def _of_all(kind: bytes, digests: set[str]) -> str:
    """Return the digest of a word and digests in ascending order."""
    return hashlib.sha256(kind + "".join(sorted(digests)).encode()).hexdigest()
