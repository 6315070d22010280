"""Parameters of the bound by prices and places. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.declaration import Parameters, parameter

DIMENSIONS = 3
"""Most dimensions in which places are searched."""


@stored
@dataclass(frozen=True)
class PlaceParameters(Parameters):
    """Bound by prices of points and the places of means, in three dimensions or fewer."""

    least_blocks: int = parameter(
        1000,
        "Minimum blocks for computing this bound before the bounds of subsets.",
        reason="The other bounds prove smaller instances in seconds.",
        ge=2,
    )
    fewest: int = parameter(
        200,
        "Minimum blocks for bounding all nodes by this bound alone.",
        reason="With fewer than 200 blocks the other bounds are as fast; with few large clusters "
        "in three dimensions they take half the time.",
        ge=2,
    )
    fewest_small: int = parameter(
        1500,
        "The same if clusters have at most `small` blocks on average.",
        reason="Columns alone take 7 seconds for 1,000 uniform points in the plane, k = 250, and "
        "more than 8 after this bound. With columns alone, larger instances have no bound for a "
        "long time.",
        ge=2,
    )
    small: float = parameter(4.5, "Maximum blocks per cluster for the rule before.", ge=0)
    most: int = parameter(
        8000,
        "Maximum blocks for bounding all nodes by this bound alone.",
        reason="Branching examines all pairs of blocks.",
        ge=2,
    )
    most_pairs: float = parameter(
        4.0,
        "Maximum cannot-links per block for this.",
        reason="The bound loses part of what chains of cannot-links prove.",
        ge=0,
    )
    time_share: float = parameter(
        0.5,
        "Share of the remaining time for this bound in runs that start with subsets. 0: skip it.",
        ge=0,
        le=1,
    )
    cells: int = parameter(
        3000,
        "Groups of close points for the first prices.",
        reason="Their prices take seconds, and prices of all points start from them.",
        ge=2,
    )
    places: int = parameter(
        2000,
        "Minimum places for the first prices besides the clusters' means; at least 20 per cluster.",
        ge=1,
    )
    new_places: int = parameter(
        300, "Maximum places that a search adds; at least two per cluster.", ge=1
    )
    rounds: int = parameter(100, "Maximum searches over all places.", ge=1)
    accuracy: float = parameter(
        0.05,
        "Tolerance of the search over all places, as a share of the gap.",
        gt=0,
        lt=1,
    )
