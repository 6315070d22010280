"""Parameters of the hybrid bound. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.declaration import Parameters, parameter


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
        "Maximum blocks per cluster for column generation without a step limit. inf: no limit.",
        ge=0,
        infinite=True,
    )
    small_limited: float = parameter(
        10.0,
        "The same if sizes or weights of clusters are limited.",
        reason="The semidefinite bound is weaker with limits. For 60 points in the plane in 6 "
        "clusters of about equal weight it leaves a gap of 2.7 percent, columns none.",
        ge=0,
        infinite=True,
    )
    high: float = parameter(
        5.0,
        "Maximum effective dimensions for column generation without a step limit. inf: no limit.",
        ge=0,
        infinite=True,
    )
    after_places: float = parameter(
        12.0,
        "In two dimensions: maximum blocks per cluster for enumerating clusters at the prices of "
        "places, if these leave a gap.",
        reason="With 6.7 (gr666, k = 100) it takes 5 seconds, columns 18 and branching 16. With "
        "21 (u2152, k = 100, 430 links) it does not end.",
        ge=0,
    )
    place_slices: int = parameter(
        300, "Maximum slices of this enumeration.", reason="Successful ones take 11 to 148.", ge=1
    )
    columns_after_places: float = parameter(
        9.5,
        "In two dimensions: maximum blocks per cluster for generating columns if that leaves a "
        "gap. Nodes with more are branched.",
        reason="With 9 (1,000 points in the plane with 200 links, k = 100) columns take 11 "
        "seconds and branching 50. With 9.7 (u2152 with 430 links, k = 200) columns take more "
        "than 120 and branching 46.",
        ge=0,
    )
    place_gap: float = parameter(
        0.005,
        "Minimum relative gap that places leave, where sizes are limited, for the semidefinite "
        "bound to follow.",
        reason="Groups in the plane in 5 clusters of equal sizes: 200 points 5.3 percent and "
        "proven in 7 seconds, 500 4.8 and 0.2 percent, 1,000 6.4 and 2.5. Of 2,000 uniform points "
        "places leave 0.43 percent with branching, 0.48 with the other bound.",
        ge=0,
        le=1,
    )
    relaxed_after_places: int = parameter(
        2000, "Maximum blocks of nodes in which it follows.", ge=0
    )
    easy_steps: int = parameter(
        250,
        "Maximum steps of easy columns; then the semidefinite bound continues.",
        reason="Instances in 2 and 4 dimensions take 27 to 206.",
        ge=0,
    )
    tried_steps: int = parameter(
        120,
        "Maximum steps of columns elsewhere, after the semidefinite bound has stalled. If they "
        "or exact pricing do not end by then, the rest of the tree does without columns.",
        reason="Wine with k = 5 and 340 constraints (68 blocks) ends after 100, and takes 8 "
        "seconds instead of 23.",
        ge=0,
    )
    hopeless_steps: int = parameter(
        30,
        "Maximum of these steps while the bound of the columns is far below the best bound.",
        reason="Exact pricing that takes longer does not end. With soft constraints on iris and "
        "glass, and size limits on wine, 90 more steps did not help. Wine with k = 5 is within "
        "0.3 percent after 20.",
        ge=0,
    )
    hopeful: float = parameter(
        0.02, "Minimum relative distance from the best bound that counts as far.", ge=0, le=1
    )
