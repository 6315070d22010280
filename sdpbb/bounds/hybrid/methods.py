"""Methods of the hybrid bound, and which of them a node begins with."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.bounds.colgen.effort import is_easy_to_price
from sdpbb.bounds.colgen.parameters import ColgenParameters
from sdpbb.bounds.colgen.pricing.dimension import effective_dimension, neighbour_dimension
from sdpbb.bounds.hybrid.parameters import HybridParameters
from sdpbb.bounds.places.parameters import PlaceParameters
from sdpbb.bounds.places.reach import has_one_measure, is_within_reach
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.problem import Contraction


@dataclass(frozen=True, eq=False)
class HybridMethods:
    """Methods that the hybrid bound is made of, by their parameters."""

    sdp: SdpBounding
    colgen: ColgenParameters
    hybrid: HybridParameters
    places: PlaceParameters

    def has_easy_columns(self, contraction: Contraction) -> bool:
        """Return whether pricing looks easy, so that columns come before the relaxation."""
        is_easy = is_easy_to_price(contraction, self.colgen.centre)
        return is_easy and is_low(contraction, self.hybrid)

    def is_enumerated_at_places(self, contraction: Contraction) -> bool:
        """Return whether clusters are enumerated at the prices that places leave a gap with."""
        per_cluster = contraction.n_blocks / contraction.k
        return per_cluster <= self.hybrid.after_places and self.has_easy_columns(contraction)

    def has_small_columns(self, contraction: Contraction) -> bool:
        """Return whether column generation is to close what prices and places leave."""
        per_cluster = contraction.n_blocks / contraction.k
        return per_cluster <= self.hybrid.columns_after_places and self.has_easy_columns(
            contraction
        )

    def is_for_places(self, contraction: Contraction) -> bool:
        """Return whether prices and places come first."""
        own, m = self.places, contraction.n_blocks
        if not is_within_reach(contraction):
            return False
        # Of constraints on clusters they know limits on one measure.
        if contraction.instance is not None and not has_one_measure(contraction):
            return False
        if contraction.soft or contraction.soft.constant > 0.0:  # and prices of soft pairs
            return False
        fewest = own.fewest if m > own.small * contraction.k else max(own.fewest, own.fewest_small)
        # Where small clusters have limits, columns are the same bound, and end.
        if contraction.has_limits and m <= self.hybrid.after_places * contraction.k:
            return False
        if not fewest <= m <= own.most:
            return False
        return len(contraction.cannot_link) <= own.most_pairs * m


def is_low(contraction: Contraction, parameters: HybridParameters) -> bool:
    """Return whether all blocks, and neighbours, have few effective dimensions."""
    means, weights = contraction.means, contraction.weights
    n_neighbours = max(1, round(contraction.n_blocks / contraction.k))
    return (
        effective_dimension(means, weights) <= parameters.high
        and neighbour_dimension(means, weights, n_neighbours) <= parameters.high
    )


def is_small(contraction: Contraction, parameters: HybridParameters) -> bool:
    """Return whether clusters are so small, in so few dimensions, that column generation ends."""
    most = parameters.small
    if contraction.has_limits:
        most = max(most, parameters.small_limited)
    return contraction.n_blocks <= most * contraction.k and is_low(contraction, parameters)
