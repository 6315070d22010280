"""Parameters of column generation. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.declaration import Parameters, parameter


@stored
@dataclass(frozen=True)
class MasterParameters(Parameters):
    """Parameters of the restricted master programme."""

    max_columns_per_block: int = parameter(
        40,
        "Maximum columns per block; beyond it, columns with the highest reduced costs are deleted.",
        ge=4,
    )
    interior_from: int = parameter(
        256,
        "Minimum blocks for solving master programmes by an interior point method, if a "
        "clustering is known.",
        reason="u1060 in the plane, k = 100: 16 programmes of a tenth of a second each.",
        ge=1,
    )


@stored
@dataclass(frozen=True)
class GenerationParameters(Parameters):
    """Parameters of the loop of column generation."""

    tolerance: float = parameter(
        1e-10,
        "Reduced costs count as negative below minus this share of the master's value per cluster.",
        reason="A bound is at most this share below the value of the programme.",
        gt=0,
        lt=1e-3,
    )
    max_columns_per_round: int = parameter(
        200, "Maximum columns added at once; those with the lowest reduced costs.", ge=1
    )
    inherited_per_block: int = parameter(
        10, "Maximum columns per block that children start with.", ge=1
    )
    integer_columns: int = parameter(
        2000,
        "Maximum columns of the integer programme over columns that a better clustering can use. "
        "0: no such programme.",
        ge=0,
    )
    integer_seconds: float = parameter(
        1.0,
        "Time limit of the integer programme.",
        reason="It only searches for clusterings: no bound depends on it.",
        gt=0,
        unit="seconds",
    )


@stored
@dataclass(frozen=True)
class PricingParameters(Parameters):
    """Parameters of pricing, the search for clusters of negative reduced cost."""

    nodes_per_slice: int = parameter(
        4000,
        "Nodes of exact pricing in one step of bounding.",
        reason="These take a few tenths of a second.",
        ge=1,
    )
    climbing_effort: float = parameter(
        2e7,
        "Effort of local search, about the comparisons of one round: it starts at effort k / m^2 "
        "of the m blocks. 1e15: at every block.",
        reason="Limits the time with large clusters of many blocks.",
        gt=0,
        le=1e15,
    )


@stored
@dataclass(frozen=True)
class CentreParameters(Parameters):
    """Parameters of the first prices: from the semidefinite bound, unless pricing is easy.

    Pricing is easy with at most `small` blocks per cluster, or with at most `large` ones in at most
    `high` effective dimensions. With the semidefinite prices Iris with k = 3 and two constraints
    takes two seconds, without it is not solved in two minutes. Seconds without and with, 200
    points: k = 50 0.7 and 1.0 in 4 dimensions, 0.3 and 0.6 in 8; k = 25 3.0 and 2.4, 0.8 and 0.5.
    """

    small: float = parameter(
        5.0,
        "Maximum blocks per cluster for which pricing counts as easy. inf: no limit.",
        ge=0,
        infinite=True,
    )
    large: float = parameter(
        8.5,
        "Maximum blocks per cluster for which pricing in few dimensions counts as easy. inf: no "
        "limit.",
        ge=0,
        infinite=True,
    )
    high: float = parameter(
        3.0, "Maximum effective dimensions that count as few. inf: no limit.", ge=0, infinite=True
    )
    many: int = parameter(
        256,
        "Minimum blocks for which pricing counts as easy in at most `low` effective dimensions "
        "and with at most `largest` blocks per cluster.",
        ge=1,
    )
    low: float = parameter(
        2.5, "Maximum effective dimensions for this rule, which uses regions of the mean.", ge=0
    )
    largest: float = parameter(
        25.0, "Maximum blocks per cluster for this rule. inf: no limit.", ge=0, infinite=True
    )
    iterations: int = parameter(100, "Maximum iterations of the semidefinite bound.", ge=1)


@stored
@dataclass(frozen=True)
class PartitioningParameters(Parameters):
    """Parameters of the proof from enumerated clusters. No number here affects what is proven."""

    batch: int = parameter(
        3, "Columns added to the linear programme between two solves, per block.", ge=1
    )
    cut_rounds: int = parameter(10, "Rounds of subset-row cuts.", ge=0)
    cuts: int = parameter(60, "Maximum new subset rows in each round.", ge=1)
    cuts_per_block: int = parameter(5, "Maximum of these through one block.", ge=1)
    violation: float = parameter(
        1e-3,
        "Minimum violation of a subset-row cut; its right-hand side is 1.",
        gt=0,
        lt=0.5,
    )
    trial_effort: int = parameter(
        1_000_000,
        "Effort of the search after each linear programme: columns examined in all its nodes. It "
        "succeeds if few columns remain.",
        ge=0,
    )
    integer_columns: int = parameter(
        3000,
        "Columns with the lowest reduced costs among which HiGHS searches for a partition before "
        "the final search. It proves nothing.",
        ge=1,
    )
    integer_seconds: float = parameter(
        1.0, "Time limit of HiGHS for this search.", gt=0, unit="seconds"
    )
    effort: int = parameter(
        10_000_000,
        "Effort of the final search; about 10 million take a second.",
        reason="It is one step, so a time limit waits for its end.",
        ge=1,
    )
    tolerance: float = parameter(
        1e-8, "Minimum distance from 0 and 1 of a fractional variable.", gt=0, lt=0.1
    )


@stored
@dataclass(frozen=True)
class EnumerationParameters(Parameters):
    """Parameters of the enumeration of the clusters of a better clustering."""

    is_wanted: bool = parameter(
        True,
        "Whether to try enumeration if the solved master programme leaves a gap.",
    )
    max_gap: float = parameter(
        0.2,
        "Maximum relative gap for trying it. inf: no limit.",
        reason="A larger gap leaves too many clusters.",
        gt=0,
        infinite=True,
    )
    max_clusters: int = parameter(200_000, "Maximum clusters; enumeration stops beyond it.", ge=1)
    max_slices: int = parameter(120, "Maximum slices of exact pricing and search together.", ge=1)
    max_pricing_slices: int = parameter(
        8,
        "Maximum slices of exact pricing.",
        reason="If pricing does not end by then at the prices of the semidefinite bound, "
        "clusters are too large in the whole tree.",
        ge=1,
    )
    partitioning: PartitioningParameters = parameter(
        PartitioningParameters, "Proof from enumerated clusters."
    )


@stored
@dataclass(frozen=True)
class ColgenParameters(Parameters):
    """Parameters of bounding by column generation."""

    master: MasterParameters = parameter(MasterParameters, "The restricted master programme.")
    generation: GenerationParameters = parameter(
        GenerationParameters, "The loop of column generation."
    )
    pricing: PricingParameters = parameter(
        PricingParameters, "The search for clusters of negative reduced cost."
    )
    enumeration: EnumerationParameters = parameter(
        EnumerationParameters, "Enumeration of the clusters that a better clustering can have."
    )
    centre: CentreParameters = parameter(CentreParameters, "First prices.")
