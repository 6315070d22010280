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
        2000, "Places at which the first prices are looked at, besides the clusters' means.", ge=1
    )
    new_places: int = parameter(500, "Places that a search adds to them, at most.", ge=1)
    rounds: int = parameter(12, "Searches over all places, at most.", ge=1)
    first_accuracy: float = parameter(
        3e-3,
        "Part of the cost that the first search over all places loses by its tolerance, at most.",
        reason="Each later one loses a third, down to a tenth of the gap of the run.",
        gt=0,
        lt=1,
    )
