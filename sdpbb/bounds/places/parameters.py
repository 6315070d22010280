"""Parameters of the bound by prices and places. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.archive.stored import stored
from sdpbb.declaration import Parameters, parameter

DIMENSIONS = 3
"""Most dimensions in which places are searched."""


@stored
@dataclass(frozen=True)
class PlaceParameters(Parameters):
    """Bound by prices of points and the places of means, in three dimensions or fewer."""

    least_blocks: int = parameter(
        1000,
        "Blocks from which on runs that begin with subsets have this bound before.",
        reason="Smaller ones are proven in seconds by the bounds that follow.",
        ge=2,
    )
    fewest: int = parameter(
        200,
        "Blocks from which on it bounds all nodes by itself.",
        reason="With less than 200 blocks the other bounds take no longer, with few large "
        "clusters in three dimensions half as long.",
        ge=2,
    )
    fewest_small: int = parameter(
        1500,
        "Blocks from which on it does where there are `small` in a cluster, or fewer.",
        reason="Columns alone take 7 seconds for 1,000 uniform points in the plane, k = 250, and "
        "more than 8 after this bound; the larger ones have no bound for long with columns alone.",
        ge=2,
    )
    small: float = parameter(4.5, "Blocks per cluster that are so few.", ge=0)
    most: int = parameter(
        8000,
        "Blocks up to which it does.",
        reason="Branching looks at all pairs of blocks.",
        ge=2,
    )
    most_pairs: float = parameter(
        4.0,
        "Cannot-links a block up to which it does.",
        reason="In chains of them it loses part of what they prove.",
        ge=0,
    )
    time_share: float = parameter(
        0.5,
        "Part of the time left to a run that begins with subsets for which this bound is raised "
        "before; 0 for never.",
        ge=0,
        le=1,
    )
    cells: int = parameter(
        3000,
        "Groups of near points, for the first prices.",
        reason="Their prices take seconds, and those of all points begin with them.",
        ge=2,
    )
    places: int = parameter(
        2000,
        "Places at which the first prices are looked at, besides the clusters' means; 20 for each "
        "cluster if these are more.",
        ge=1,
    )
    new_places: int = parameter(
        300, "Places that a search adds, at most; two for each cluster if these are more.", ge=1
    )
    rounds: int = parameter(100, "Searches over all places, at most.", ge=1)
    accuracy: float = parameter(
        0.05,
        "Part of what a bound lacks that the search over all places loses by its tolerance.",
        gt=0,
        lt=1,
    )
