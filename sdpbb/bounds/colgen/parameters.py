"""The numbers of column generation, with the reason for each. Light: nothing is imported that
compiles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sdpbb.archive.stored import stored
from sdpbb.bounds.colgen.partitioning_parameters import PartitioningParameters
from sdpbb.domains import check_fields
from sdpbb.errors import ParameterError

Scheme = Literal["auto", "none", "perturbation", "smoothing", "box"]


@stored
@dataclass(frozen=True)
class MasterParameters:
    """The restricted master programme.

    simplex : the variant of the simplex method. The dual one takes twice as long: new columns leave
        a basis primal feasible
    tolerance : of HiGHS, for rows and reduced costs, in units of the programme; its least is 1e-10
    max_columns_per_block : beyond so many columns per block those of the highest reduced costs are
        deleted
    kept : the share of the columns that is kept then
    growth : by which the number allowed grows each time, so that columns which come and go cannot
        do so for ever
    """

    simplex: Literal["dual", "primal"] = "primal"
    tolerance: float = 1e-9
    max_columns_per_block: int = 40
    kept: float = 0.5
    growth: float = 1.25

    def __post_init__(self) -> None:
        check_fields(self)
        if not 1e-10 <= self.tolerance <= 1e-6:
            raise ParameterError(f"tolerance = {self.tolerance}: expected 1e-10 to 1e-6")
        if self.max_columns_per_block < 4 or not (0.0 < self.kept < 1.0 < self.growth):
            raise ParameterError(f"parameters of the master out of their domain: {self}")


@stored
@dataclass(frozen=True)
class StabilisationParameters:
    """What keeps the prices from jumping.

    scheme : "none"; "perturbation" as Babaki, Guns and Nijssen (2014, section 5.3); "smoothing"
        as Wentges (1997) with the coefficient of Pessoa, Sadykov, Uchoa and Vanderbeck (2018);
        "box" as du Merle, Villeneuve, Desrosiers and Hansen (1999); "auto" for "box" where a centre
        is given, and "smoothing" elsewhere. Master programmes solved for one of "none" (geometric
        mean of 11 instances, docs/column_generation.md): "smoothing" 0.76, "box" 1.01,
        "perturbation" 1.25; from the dual values of a semidefinite bound 0.72, 0.17 and 0.84
    mu : the first bound on perturbations, the published one
    least_mu : below it perturbations are taken out
    alpha : the first weight of the best prices in smoothing. 0.2 and 0.8, and steps half and twice
        as large, come to the same within a tenth
    alpha_step : by which the weight is raised, as a share of what is missing to 1, or lowered
    max_alpha : the largest weight
    box_penalty : the first penalty per unit of price outside of the box, in cover of a block
    box_decrease : penalty and width are multiplied by it when their programme is solved. From the
        dual values of a semidefinite bound or of a parent 0.2 and 0.05 need 1.8 and 2.4 times as
        many master programmes as 0.4
    box_width : half the width of the box, as a share of the mean price. Without any, 2.5 times as
        many are needed
    least_penalty : below it the box is taken out
    """

    scheme: Scheme = "auto"
    mu: float = 0.99
    least_mu: float = 1e-5
    alpha: float = 0.5
    alpha_step: float = 0.1
    max_alpha: float = 0.99
    box_penalty: float = 0.5
    box_decrease: float = 0.4
    box_width: float = 0.05
    least_penalty: float = 1e-4

    def __post_init__(self) -> None:
        check_fields(self)
        if not (0.0 < self.mu <= 1.0 and self.least_mu > 0.0 and self.least_penalty > 0.0):
            raise ParameterError(f"parameters of the perturbations out of their domain: {self}")
        if not (0.0 <= self.alpha <= self.max_alpha < 1.0 and 0.0 < self.alpha_step < 1.0):
            raise ParameterError(f"parameters of smoothing out of their domain: {self}")
        if not (self.box_penalty > 0.0 and self.box_width >= 0.0 and 0.0 < self.box_decrease < 1.0):
            raise ParameterError(f"parameters of the box out of their domain: {self}")


@stored
@dataclass(frozen=True)
class GenerationParameters:
    """The loop.

    tolerance : reduced costs count as negative below minus this share of the master's value per
        cluster. A bound misses the value of the programme by that share at most
    max_columns_per_round : of the columns found at once those of the lowest reduced costs are added
    inherited_per_block : children begin with at most so many columns per block
    integer_columns : at most so many columns are handed to the integer programme over those that a
        better clustering can use; 0 for no such programme
    integer_seconds : its time limit. It only looks for clusterings: no bound depends on it
    """

    tolerance: float = 1e-10
    max_columns_per_round: int = 200
    inherited_per_block: int = 10
    integer_columns: int = 2000
    integer_seconds: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        counts = (self.max_columns_per_round, self.inherited_per_block)
        if not 0.0 < self.tolerance < 1e-3 or min(counts) < 1:
            raise ParameterError(f"parameters of the loop out of their domain: {self}")
        if self.integer_columns < 0 or not self.integer_seconds > 0.0:
            raise ParameterError(f"parameters of the integer programme out of their domain: {self}")


@stored
@dataclass(frozen=True)
class PricingParameters:
    """Pricing.

    nodes_per_slice : of exact pricing in one step of the bounding: tenths of a second
    climbing_effort : of local search, which begins at effort k / m^2 of the m blocks: about the
        comparisons of one round, so that large clusters of many blocks do not take seconds; at most
        1e15, with which it begins at every block
    """

    nodes_per_slice: int = 4000
    climbing_effort: float = 2e7

    def __post_init__(self) -> None:
        check_fields(self, most={"climbing_effort": 1e15})
        if self.nodes_per_slice < 1 or not self.climbing_effort > 0.0:
            raise ParameterError(f"parameters of pricing out of their domain: {self}")


@stored
@dataclass(frozen=True)
class CentreParameters:
    """Where the first prices come from: the semidefinite bound, unless pricing is easy.

    small, large, high : pricing is easy with at most small blocks per cluster, or at most large
        ones in at most high effective dimensions; inf for any. With the semidefinite prices Iris
        with k = 3 and two constraints takes two seconds, without it is not solved in two minutes.
        Seconds without and with, 200 points: k = 50 0.7 and 1.0 in 4 dimensions, 0.3 and 0.6 in 8;
        k = 25 3.0 and 2.4, 0.8 and 0.5
    iterations : of it, at most
    """

    small: float = 5.0
    large: float = 8.5
    high: float = 3.0
    iterations: int = 100

    def __post_init__(self) -> None:
        check_fields(self, infinite={"small", "large", "high"})
        if not min(self.small, self.large, self.high) >= 0.0 or self.iterations < 1:
            raise ParameterError(f"parameters of the first prices out of their domain: {self}")


@stored
@dataclass(frozen=True)
class EnumerationParameters:
    """Enumeration of the clusters that a better clustering can have, and their partitioning.

    is_wanted : whether it is tried when the master programme is solved and leaves a gap
    max_gap : relative; beyond it clusters are too many to begin; inf for any
    max_clusters : it is given up beyond so many
    max_slices : and after so many slices of exact pricing and search together
    max_pricing_slices : and after so many of exact pricing. Where that does not end at the prices
        of the semidefinite bound, clusters are too large, in all of the tree
    partitioning : what is done with the clusters
    """

    is_wanted: bool = True
    max_gap: float = 0.2
    max_clusters: int = 200_000
    max_slices: int = 120
    max_pricing_slices: int = 8
    partitioning: PartitioningParameters = field(default_factory=PartitioningParameters)

    def __post_init__(self) -> None:
        check_fields(self, infinite={"max_gap"})
        counts = (self.max_clusters, self.max_slices, self.max_pricing_slices)
        if not self.max_gap > 0.0 or min(counts) < 1:
            raise ParameterError(f"parameters of the enumeration out of their domain: {self}")


@stored
@dataclass(frozen=True)
class ColgenParameters:
    """Bounding by column generation."""

    master: MasterParameters = field(default_factory=MasterParameters)
    stabilisation: StabilisationParameters = field(default_factory=StabilisationParameters)
    generation: GenerationParameters = field(default_factory=GenerationParameters)
    pricing: PricingParameters = field(default_factory=PricingParameters)
    enumeration: EnumerationParameters = field(default_factory=EnumerationParameters)
    centre: CentreParameters = field(default_factory=CentreParameters)

    def __post_init__(self) -> None:
        check_fields(self)
