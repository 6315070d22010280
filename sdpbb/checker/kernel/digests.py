"""SHA-256 digests of an instance, by which a certificate names the one it is about."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .rules import Either, Limit, Rule, Rules, without_idle
from .sizes import StatedMeasure
from .soft import PricedPairs


def of_points(points: ArrayLike) -> str:
    """Return the digest of points (n, d), as little-endian float64 in C order; hexadecimal.

    -0.0 counts as 0.0: equal points have equal digests.
    """
    coordinates = np.ascontiguousarray(points, dtype="<f8") + 0.0
    return hashlib.sha256(np.ascontiguousarray(coordinates, dtype="<f8").tobytes()).hexdigest()


def of_weights(weights: ArrayLike | None) -> str | None:
    """Return the digest of weights (n,), as little-endian float64, or None."""
    if weights is None:
        return None
    return hashlib.sha256(np.ascontiguousarray(weights, dtype="<f8").tobytes()).hexdigest()


def of_pairs(pairs: ArrayLike) -> str:
    """Return the digest of pairs (p, 2) of row numbers, as normalised.

    They are little-endian int64 in C order.

    Neither the order of the pairs matters, nor that within each, nor how often it occurs.
    """
    return hashlib.sha256(normalised(pairs).astype("<i8").tobytes()).hexdigest()


def normalised(pairs: ArrayLike) -> NDArray[np.int64]:
    """Return the distinct pairs (p, 2), each as i < j, in ascending order."""
    numbers = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    return np.unique(np.sort(numbers, axis=1), axis=0)


def of_soft_pairs(soft: PricedPairs) -> str | None:
    """Return the digest of pairs with their weights, or None.

    It is that of the pairs, little-endian int64, and then of the weights, little-endian float64,
    each i < j, in ascending order of i, j and weight. The same pair may occur several times.
    """
    if not len(soft):
        return None
    order = np.lexsort([soft.weights, soft.pairs[:, 1], soft.pairs[:, 0]])
    pairs, weights = soft.pairs[order].astype("<i8"), soft.weights[order].astype("<f8")
    return hashlib.sha256(pairs.tobytes() + weights.tobytes()).hexdigest()


def of_rules(rules: Rules) -> str:
    """Return the digest of rules on clusters.

    It is that of b"rules" and the distinct digests of each that says anything, in ascending order.
    A limit that all points together are within says nothing.

    That of a statement about sizes is of b"sizes", the least size and the listed ones, or where one
    of them is a range of b"ranges", the least size and the ends of each range; that of one about
    weights of b"weights", the least and the most units, and those of the points. That of a
    limit is of b"limit" and `most`, weights and pairs as little-endian int64; that of alternatives
    of b"either" and their distinct digests, in ascending order.
    """
    return _of_parts(b"rules", {_of_rule(rule) for rule in without_idle(rules)})


def _of_rule(rule: Rule) -> str:
    if isinstance(rule, Either):
        return _of_parts(b"either", {of_rules(part) for part in rule.alternatives})
    if isinstance(rule, StatedMeasure):
        kind, stated = b"sizes", [rule.least, *(size for size, _ in rule.listed)]
        if any(low != high for low, high in rule.listed):
            kind, stated = b"ranges", [rule.least, *(end for each in rule.listed for end in each)]
        if rule.units is not None:
            kind, stated = b"weights", [rule.least, rule.most, *rule.units.tolist()]
        return hashlib.sha256(kind + np.array(stated).astype("<i8").tobytes()).hexdigest()
    if not isinstance(rule, Limit):
        raise ValueError("rules: only what is stated has a digest")
    numbers = [np.array([rule.most]), rule.weights, normalised(rule.pairs).reshape(-1)]
    content = np.concatenate(numbers).astype("<i8").tobytes()
    return hashlib.sha256(b"limit" + content).hexdigest()


def _of_parts(kind: bytes, digests: set[str]) -> str:
    return hashlib.sha256(kind + "".join(sorted(digests)).encode()).hexdigest()
