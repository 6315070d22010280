"""Parameters of the decomposition bound. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.archive.stored import stored
from sdpbb.declaration import Parameters, parameter


@stored
@dataclass(frozen=True)
class DecompositionParameters(Parameters):
    """Decomposition bound: the sum of the bounds of subsets, small ones first."""

    least_blocks: int = parameter(
        1000,
        "Without being asked for, subsets are bounded first where there are so many blocks.",
        ge=2,
    )
    smallest: int = parameter(
        150,
        "Blocks of the smallest subsets, about; more where there are many clusters.",
        reason="They give the first bound.",
        ge=2,
    )
    per_cluster: int = parameter(
        12, "Blocks of the smallest subsets for each cluster, at least.", ge=1
    )
    largest: int = parameter(
        4000,
        "Blocks of the largest subsets, about; fewer where the memory holds no more.",
        reason="What takes an iteration of a second.",
        ge=2,
    )
    accuracy: float = parameter(
        0.5,
        "A subset is bounded to this part of what the sum loses by it anyway: of what its own "
        "best clustering saves, for the most part.",
        reason="Larger subsets, which lose less, are bounded next.",
        gt=0,
        le=1,
    )
    largest_gap: float = parameter(
        5e-2, "Relative gap to which a subset is bounded, at most.", gt=0, lt=1
    )
    least_gap: float = parameter(
        0.25,
        "Part of the gap of the run to which a subset is bounded, at least.",
        gt=0,
        le=1,
    )
    seconds_factor: float = parameter(
        4.0,
        "A subset is given up, with the bound it has, once it takes so many times as long as "
        "others of its size.",
        gt=1,
        infinite=True,
    )
    max_pricing_slices: int = parameter(
        1,
        "Enumeration is given up after this many slices of exact pricing in a subset.",
        reason="What stays open is bounded again as a part of a larger subset.",
        ge=1,
    )
