"""Parameters of the hybrid bound. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.archive.stored import stored
from sdpbb.declaration import Parameters, parameter


@stored
@dataclass(frozen=True)
class HybridParameters(Parameters):
    """Parameters of the hybrid bound: the semidefinite bound and column generation combined.

    With at most `small` blocks per cluster, in at most `high` effective dimensions of all blocks
    and of neighbours, columns are generated to the end: where the semidefinite bound has stalled,
    or first where pricing looks easy besides (`CentreParameters`). Ratio of the semidefinite
    bound's seconds to those of column generation, 100 to 500 points, k = n / 8 to n / 4, median:
    6.5 in 2 dimensions, 2.5 in 4, 0.7 in 8 (docs/colgen_benchmark.md).
    """

    small: float = parameter(
        8.5,
        "Blocks per cluster up to which columns are generated to the end; inf for any.",
        ge=0,
        infinite=True,
    )
    small_limited: float = parameter(
        10.0,
        "The same where sizes or weights of clusters are limited.",
        reason="The semidefinite bound knows less of limits: of 60 points in the plane in 6 "
        "clusters of about equal weight it leaves 2.7 percent, columns nothing.",
        ge=0,
        infinite=True,
    )
    high: float = parameter(
        5.0,
        "Effective dimensions up to which columns are generated to the end; inf for any.",
        ge=0,
        infinite=True,
    )
    after_places: float = parameter(
        12.0,
        "Blocks per cluster up to which, in two dimensions, clusters are enumerated at the prices "
        "of places where these leave a gap.",
        reason="With 6.7 (gr666, k = 100) that takes 5 seconds, columns take 18 and branching 16; "
        "with 21 (u2152, k = 100, 430 links) it does not end.",
        ge=0,
    )
    place_slices: int = parameter(
        300, "It is given up after this many slices.", reason="Those that end take 11 to 148.", ge=1
    )
    columns_after_places: float = parameter(
        9.5,
        "Blocks per cluster up to which columns are generated where that leaves a gap, in two "
        "dimensions; others are branched on.",
        reason="With 9 (1,000 points in the plane with 200 links, k = 100) columns take 11 seconds "
        "and branching 50; with 9.7 (u2152 with 430 links, k = 200) they take more than 120, and "
        "branching 46.",
        ge=0,
    )
    easy_steps: int = parameter(
        250,
        "After this many steps pricing was not easy, and the semidefinite bound goes on.",
        reason="The instances in 2 and 4 dimensions take 27 to 206.",
        ge=0,
    )
    tried_steps: int = parameter(
        120,
        "Elsewhere columns are generated for this many steps at most where the semidefinite bound "
        "has stalled, and not again in the rest of the tree if that has not ended, nor where exact "
        "pricing at its dual values has not.",
        reason="Wine with k = 5 and 340 constraints (68 blocks) ends after 100, and takes 8 "
        "seconds instead of 23.",
        ge=0,
    )
    hopeless_steps: int = parameter(
        30,
        "There columns are given up after this many steps already where their own bound is far "
        "below the best one.",
        reason="Exact pricing that has not ended by then does not: with soft constraints on iris "
        "and glass, and limits on sizes of wine, it takes the other 90 steps in vain. Wine with "
        "k = 5 comes within 0.3 percent after 20.",
        ge=0,
    )
    hopeful: float = parameter(
        0.02, "Relative difference from the best bound above which that is far.", ge=0, le=1
    )
