"""Bounding methods in stages: the order of stages, and when each begins, ends and is skipped."""

from __future__ import annotations

import math

import numpy as np

from sdpbb.bounds.bound import matrices_mebibytes
from sdpbb.bounds.lagrangian.reach import (
    has_columns_after_places,
    has_easy_columns,
    is_easy_to_price,
    is_enumerated_at_places,
    is_for_places,
    pricing_mebibytes,
)
from sdpbb.bounds.staged.run import Stage, StagedBounding, StagedRun
from sdpbb.problem import Contraction

# Maximum steps of easy columns; then the relaxation begins. Instances in 2 and 4 dimensions take 27
# to 206.
MAX_EASY_STEPS = 250
# Maximum steps of columns in other nodes, after the semidefinite bound has stalled. If columns or
# exact pricing take more, the rest of the tree skips columns. Wine with k = 5 and 340 constraints
# (68 blocks) ends after 100, and takes 8 seconds instead of 23.
MAX_TRIED_STEPS = 120
# Maximum of these steps while the bound of columns is far below the best bound. With soft
# constraints on iris and glass, and size limits on wine, 90 more steps did not help. Wine with k =
# 5 is within 0.3 percent after 20.
MAX_FAR_STEPS = 30
# Maximum iterations of the semidefinite bound for the first prices of columns.
CENTRE_ITERATIONS = 100
# Maximum slices of enumeration at the prices of places. Successful enumerations take 11 to 291.
# 1,000 points with 100 constraints in 100 clusters take 8.4 s; 13.7 s with columns after 150
# slices.
MAX_PLACE_SLICES = 300
# Matrices over the blocks in branching after places.
PLACE_MATRICES = 6


def _places(run: StagedRun, cutoff: float) -> bool:
    if "places" not in run.skipped and is_for_places(run.contraction):
        from sdpbb.bounds.lagrangian.places.run import PlaceRun

        if run.inherited.places is not None:
            run.places = PlaceRun.inherit(run.contraction, run.inherited.places)
        elif run.known is not None:
            run.places = PlaceRun.begin(run.contraction, run.known)
    if run.places is None:
        run.skip("places")
    return run.places is not None


def _are_places_last(run: StagedRun, cutoff: float) -> bool:
    node = run.contraction
    follows = is_enumerated_at_places(node) or has_columns_after_places(node)
    return not (run.are_places_far(cutoff) or follows)


def _enumeration_at_places(run: StagedRun, cutoff: float) -> bool:
    proof = None if run.places is None else run.places.proof
    if proof is None or cutoff == math.inf or not is_enumerated_at_places(run.contraction):
        return False
    from sdpbb.bounds.lagrangian.duals import DualValues

    duals = DualValues(proof.prices, -proof.least)
    return run.begin_enumeration(duals, cutoff, proof.least, MAX_PLACE_SLICES)


def _easy_columns(run: StagedRun, cutoff: float) -> bool:
    is_easy = "easy columns" not in run.skipped and has_easy_columns(run.contraction)
    are_far = run.are_places_far(cutoff)  # columns would give the same bound
    if are_far or is_easy:  # children begin with the relaxation, or with columns
        run.skip("places")
    if is_easy and not are_far:
        return run.begin_columns(None)
    run.skip("easy columns")
    return False


def _leave_no_enumeration(run: StagedRun, cutoff: float) -> bool:
    assert run.columns is not None
    return cutoff == math.inf or run.columns.duals is None


def _enumeration_at_columns(run: StagedRun, cutoff: float) -> bool:
    columns = run.columns
    if columns is None or columns.duals is None:  # columns were given up
        return False
    return run.begin_enumeration(columns.duals, cutoff, columns.least)


def _relaxation(run: StagedRun, cutoff: float) -> bool:
    inherited = run.inherited.relaxation
    known = run.known if inherited is None else None
    run.relaxed = run.method.sdp.start(run.contraction, inherited, known)
    return True


def _enumeration(run: StagedRun, cutoff: float) -> bool:
    # Without a cutoff nothing limits the clusters. With soft pairs finding all clusters of low
    # value takes long, and columns are faster.
    if cutoff == math.inf or run.contraction.soft or "enumeration" in run.skipped:
        return False
    duals = run.semidefinite_duals()
    if run.are_far(duals):
        return False
    return run.begin_enumeration(duals, cutoff)


def _late_columns(run: StagedRun, cutoff: float) -> bool:
    # If exact pricing did not end at these prices, it hardly ends at others.
    if not run.is_small and {"columns", "enumeration"} & set(run.skipped):
        return False
    duals = run.semidefinite_duals()
    return (run.is_small or not run.are_far(duals)) and run.begin_columns(duals)


def _max_late_steps(run: StagedRun) -> float:
    assert run.columns is not None
    if run.is_small:
        return math.inf
    is_far = run.is_far(run.columns.bound.value)
    return min(MAX_TRIED_STEPS, MAX_FAR_STEPS) if is_far else MAX_TRIED_STEPS


def _centre(run: StagedRun, cutoff: float) -> bool:
    if run.inherited.columns is not None or is_easy_to_price(run.contraction):
        return False
    run.relaxed = run.method.sdp.start(run.contraction, None)
    return True


def _columns(run: StagedRun, cutoff: float) -> bool:
    if run.relaxed is None:
        return run.begin_columns(None)
    centre, run.n_dropped = run.semidefinite_duals(), run.relaxed.n_iterations
    run.relaxed = None
    return run.begin_columns(centre)


def _always(run: StagedRun, cutoff: float) -> bool:
    return True


HYBRID_STAGES = (
    Stage("places", "places", _places, _are_places_last),
    Stage(
        "enumeration at places",
        "enumeration",
        _enumeration_at_places,
        lambda run, cutoff: not has_columns_after_places(run.contraction),
    ),
    Stage(
        "easy columns",
        "columns",
        _easy_columns,
        _leave_no_enumeration,
        lambda run: MAX_EASY_STEPS,
    ),
    Stage("easy columns", "enumeration", _enumeration_at_columns, _always),
    Stage("relaxation", "relaxed", _relaxation, can_fail=False),
    Stage("enumeration", "enumeration", _enumeration),
    Stage("columns", "columns", _late_columns, _leave_no_enumeration, _max_late_steps),
    Stage("columns", "enumeration", _enumeration_at_columns, _always),
)
COLUMN_STAGES = (
    Stage("centre", "relaxed", _centre, max_steps=lambda run: CENTRE_ITERATIONS, can_fail=False),
    Stage("columns", "columns", _columns, _leave_no_enumeration, can_fail=False),
    Stage("columns", "enumeration", _enumeration_at_columns, _always, can_fail=False),
)


class ColgenBounding(StagedBounding):
    """Bounding method that generates columns, and enumerates clusters if a small gap remains.

    The first prices come from the parent, or from a few iterations of the semidefinite bound if
    pricing is not easy.

    Source: Babaki, Guns and Nijssen (2014), with pricing, stabilisation and bounds of this project.
    Must-links and cannot-links are decisions of the tree: Ryan and Foster's branching (1981).
    """

    stages = COLUMN_STAGES

    @staticmethod
    def exercise(contraction: Contraction) -> None:
        from sdpbb.bounds.lagrangian import exact_cover
        from sdpbb.bounds.lagrangian.columns import Columns
        from sdpbb.bounds.lagrangian.masters import interior
        from sdpbb.bounds.lagrangian.partitioning import cheapest_partition

        run = ColgenBounding().start(contraction, None)
        while not run.advance(contraction.total).stalled:
            pass
        m = contraction.n_blocks
        members = np.tri(m, dtype=bool) & ~np.tri(m, k=-3, dtype=bool)
        cheapest_partition(contraction, Columns.of(contraction, members), contraction.total)
        exact_cover.exercise()
        interior.exercise()

    def mebibytes(self, contraction: Contraction) -> float:
        """Estimate the memory that bounding a node takes at its peak, in MiB.

        It is the larger one of pricing and of the semidefinite bound for the first prices.
        """
        pricing = pricing_mebibytes(contraction)
        if is_easy_to_price(contraction):
            return pricing
        return max(pricing, self.sdp.mebibytes(contraction))


class HybridBounding(StagedBounding):
    """Bounding method in stages: places, columns, and the semidefinite relaxation.

    The stages, and the nodes of each, are in the table of `sdpbb.bounds.lagrangian.reach`. If
    column generation leaves a gap, clusters are enumerated at its prices.
    """

    stages = HYBRID_STAGES

    def is_quick(self, contraction: Contraction) -> bool:
        """Return whether places or columns come first."""
        return is_for_places(contraction) or has_easy_columns(contraction)

    def lighter(self, contraction: Contraction) -> str | None:
        """Return bounding by columns if pricing is easy."""
        return "colgen" if is_easy_to_price(contraction) else None

    def mebibytes(self, contraction: Contraction) -> float:
        """Estimate the memory that bounding a node takes at its peak, in MiB.

        A node that ends with places takes the memory of branching, over all pairs of blocks. Others
        may take the memory of the relaxation and of pricing.
        """
        if is_for_places(contraction) and not has_columns_after_places(contraction):
            enumerates = is_enumerated_at_places(contraction)
            pricing = pricing_mebibytes(contraction) if enumerates else 0.0
            return pricing + matrices_mebibytes(PLACE_MATRICES, contraction.n_blocks)
        return self.sdp.mebibytes(contraction) + pricing_mebibytes(contraction)
