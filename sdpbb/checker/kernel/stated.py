"""Instance as given to the checker: its digests, which name it in a certificate, and its parts.

*Parts.* Let S_1, ..., S_T be disjoint sets of points. Restricted to S_t, a clustering of the whole
has k clusters or fewer, keeps the links with both ends in S_t, and its clusters keep the rules, as
these allow each part of what they allow. Around its own mean the part of a cluster in S_t has no
larger sum of squares than around the mean of the cluster, so that with OPT(S) for the least cost of
such clusterings of S

    OPT >= OPT(S_1) + ... + OPT(S_T).

So it does for costs with what is paid for the soft pairs with both ends in S_t: these are some of
all, and none is paid less than nothing. Points of no subset add nothing. If there is no clustering
of S_t, there is none of the whole.

Proofs are about exactly k clusters. Where the must-links inside of S_t leave k blocks or more, a
clustering of S_t into fewer than k clusters has one with two blocks or more, which can be divided
into two: this costs nothing, and breaks no link and no rule. It violates no soft cannot-link, and
no soft must-link if the two are unions of components of must-links and soft must-links: there are
such two if S_t has k components or more, and if not, its soft must-links are left out. So the bound
for exactly k clusters is one of OPT(S_t), too. A subset of fewer blocks is refused.
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
    """Points, clusters and constraints, which whoever verifies a certificate states.

    points : (n, d)
    k : number of clusters
    must_link, cannot_link : (p, 2) numbers of different points, from 0
    rules : that every cluster has to keep besides
    weights : (n,) > 0 of the points, by which squares are weighted; None for 1 each
    soft : pairs that cost their weights where they are violated
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
        """Points, weights and soft pairs; `Rejected` if there is no calculating with them."""
        return Geometry.of(self.points, self.weights, self.soft)

    @property
    def root(self) -> Blocks:
        """Blocks of all clusterings, of which every proof begins."""
        return Blocks.of(self.n, self.k, self.must_link, self.cannot_link, self.rules)

    @cached_property
    def digests(self) -> dict[str, str]:
        """SHA-256 digests in hexadecimal, by their names in a claim.

        They are of little-endian float64 and int64, in C order; -0.0 of a point counts as 0.0.
        Neither the order of pairs matters, nor that within each, nor how often a hard one occurs.
        Those of what is not stated are left out: weights and soft pairs.
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
        """Return the instances that disjoint subsets are, with the constraints inside of each.

        rows : the points of each subset, increasing numbers

        Raises
        ------
        Rejected
            If the rows are not such, or the must-links leave a subset fewer than k blocks.
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

    It is that of b"rules" and the distinct digests of each that says anything, in ascending order.
    A limit that all points together are within says nothing.

    That of a statement about sizes is of b"sizes", the least size and the listed ones, or where one
    of them is a range of b"ranges", the least size and the ends of each range; that of one about
    weights of b"weights", the least and the most units, and those of the points. That of a
    limit is of b"limit" and `most`, weights and pairs as little-endian int64; that of alternatives
    of b"either" and their distinct digests, in ascending order.
    """
    return _of_all(b"rules", {_of_rule(rule) for rule in without_idle(rules)})


def _of_rule(rule: Rule) -> str:
    match rule:
        case Either():
            return _of_all(b"either", {_of_rules(part) for part in rule.alternatives})
        case Limit():
            numbers = np.array([rule.most]), rule.weights, normalised(rule.pairs)
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
    return hashlib.sha256(kind + "".join(sorted(digests)).encode()).hexdigest()
