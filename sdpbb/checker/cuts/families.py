"""Cuts on rows and lists of blocks, by templates: stars, cliques, complements, limits on weights.

In a *star* the first block i is the centre, and the others are the leaves T:

    Z_ii + sum of Z_jl over j < l in T - sum of Z_ij over j in T >= 0,

half of the inequality of the integer vector with -1 at the centre and 1 at the leaves. Pairs and
triangles are stars with one and two leaves. Blocks may occur more than once.

The other templates are judged by enumeration, but for *cliques*, which are long.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..arithmetic import down, up
from ..rejection import Rejected
from .inequalities import Inequalities, NodeFacts, Numbers, Terms, require_blocks, require_lists
from .templates import Template

_LONGEST = 2**12


def stars(node: NodeFacts, start: Numbers, blocks: Numbers) -> Inequalities:
    """Z_ii + sum of Z_jl - sum of Z_ij >= 0, i being the first block of a list."""
    require_lists(start, blocks.shape, "stars")
    lengths = np.diff(start)
    if (lengths < 2).any():
        raise Rejected("a star has no leaves")
    if lengths.max(initial=0) > _LONGEST:
        raise Rejected(f"a star of more than {_LONGEST} blocks")
    require_blocks(blocks, node.m)

    def terms() -> Iterator[Terms]:
        for length in np.unique(lengths).tolist():
            y = np.ones(length, np.int64)
            y[0] = -1
            chosen = np.flatnonzero(lengths == length)
            rows = blocks[start[chosen, None] + np.arange(length)]
            yield from Template.of_vector(y).terms(rows, chosen)

    products = int(np.square(lengths).sum())
    return Inequalities(np.zeros(len(lengths)), terms(), n_products=products)


def cliques(node: NodeFacts, blocks: Numbers) -> Inequalities:
    """Sum of Z_ij over i < j in a list of k + 1 blocks >= 1 / b, b the most that clusters weigh."""
    require_blocks(blocks, node.m)
    ones = np.ones((node.k + 1,) * 2, np.int64)
    return Template.symmetric(ones, np.zeros(node.k + 1), down(1.0 / node.heaviest)).on(blocks)


def complements(node: NodeFacts, blocks: Numbers) -> Inequalities:
    """Z_ij + Z_ih - Z_ii >= 0 for rows i, j, h: one of j and h shares the cluster of i.

    That is so for k = 2 and cannot-linked j and h.
    """
    require_blocks(blocks, node.m)
    template = Template.of([(0, 0, -1.0), (0, 1, 1.0), (0, 2, 1.0)])
    return template.enumerated_on(blocks, node)


def most_points(node: NodeFacts, blocks: Numbers) -> Inequalities:
    """Z_ii >= 1 / b where clusters weigh at most b."""
    require_blocks(blocks, node.m)
    side = down(1.0 / node.limits_for("cuts on most points").most) if len(blocks) else 0.0
    return Template.of([(0, 0, 1.0)], side).enumerated_on(blocks[:, None], node)


def least_points(node: NodeFacts, blocks: Numbers) -> Inequalities:
    """- Z_ii >= - 1 / a where clusters weigh at least a."""
    require_blocks(blocks, node.m)
    least = node.limits_for("cuts on least points").least if len(blocks) else 1
    if not least > 0:
        raise Rejected("cuts on least points; expected none where clusters may weigh nothing")
    return Template.of([(0, 0, -1.0)], -up(1.0 / least)).enumerated_on(blocks[:, None], node)


def size_pairs(node: NodeFacts, blocks: Numbers) -> Inequalities:
    """b Z_ii - a Z_jj - (b - a) Z_ij >= 0 for rows i, j, where clusters weigh a to b.

    Any smaller number instead of b - a does as well.
    """
    require_blocks(blocks, node.m)
    if not len(blocks):
        return Inequalities(np.empty(0))
    limits = node.limits_for("cuts on pairs and sizes")
    least, most = limits.least, limits.most
    entries = [(0, 0, most), (1, 1, -least), (0, 1, -difference_down(most, least))]
    return Template.of(entries).enumerated_on(blocks, node)


def difference_down(most: float, least: float) -> float:
    """Return at most most - least; the difference itself of whole numbers."""
    # Those of a `SizeLimits` are below 2^53, where differences are exact; weights may be beyond.
    is_exact = most < 2**53 and float(most).is_integer() and float(least).is_integer()
    return most - least if is_exact else down(most - least)
