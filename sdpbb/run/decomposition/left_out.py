"""Constraints that the bounds of subsets leave out, in words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sdpbb.problem import Contraction, Instance, contract
from sdpbb.run.decomposition.bounds import SubsetBounds
from sdpbb.run.decomposition.restriction import Restriction
from sdpbb.runtime.values import counted


def left_out(instance: Instance, bounds: SubsetBounds) -> tuple[str, ...]:
    """Return a line for each kind of constraints of which the bounds of subsets know nothing.

    instance : as it was dealt out to the subsets
    bounds : whose best sum is the bound
    """
    told = []
    has_least = (instance.min_size or 1) > 1 or instance.min_weight is not None
    if has_least or instance.sizes is not None:
        told.append("bounds of subsets ignore minimum sizes, minimum weights and listed sizes")
    # Certificates state greatest weights in the units of the whole.
    is_certified = bounds.proofs is not None and instance.max_weight is not None
    if is_certified and any(part.max_weight is not None for part in _parts(instance, bounds)):
        told.append("certified bounds of subsets ignore maximum weights")
    n_across = _cannot_links_across(instance, bounds)
    if n_across:
        told.append(f"bounds of subsets ignore {counted(n_across, 'cannot-link')} between subsets")
    n_soft = _soft_left_out(instance, bounds)
    if n_soft:
        told.append(f"bounds of subsets ignore {counted(n_soft, 'soft constraint')}")
    return tuple(told)


def _soft_left_out(instance: Instance, bounds: SubsetBounds) -> int:
    """Return how many soft constraints are inside of no subset of the best sum that counts them."""
    n_soft = len(instance.soft_must_link) + len(instance.soft_cannot_link)
    if not n_soft:
        return 0
    for part in _parts(instance, bounds):
        n_soft -= len(part.soft_must_link) + len(part.soft_cannot_link)
    return n_soft


def _parts(instance: Instance, bounds: SubsetBounds) -> Iterator[Instance]:
    """Yield the instances of the subsets of the best sum."""
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)  # it has been dealt out
    restriction = Restriction(instance, contraction)
    for subset in bounds.best_partition():
        blocks = bounds.tree.blocks(subset)
        if len(blocks) >= instance.k:
            yield restriction.instance(blocks, restriction.rows(blocks))


def _cannot_links_across(instance: Instance, bounds: SubsetBounds) -> int:
    """Return how many cannot-links of blocks are across the subsets of the best sum."""
    if not len(instance.cannot_link):
        return 0
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)  # it has been dealt out
    subset_of = np.empty(contraction.n_blocks, np.intp)
    for subset in bounds.best_partition():
        subset_of[bounds.tree.blocks(subset)] = subset
    i, j = contraction.cannot_link.T
    return int((subset_of[i] != subset_of[j]).sum())
