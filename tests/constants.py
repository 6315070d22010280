"""Constants of modules, changed for a test."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

NODES_PER_SLICE = "bounds.colgen.pricing.branching_pricer.NODES_PER_SLICE"
# No enumeration looks for clusters.
NO_ENUMERATION = {"bounds.colgen.enumeration.MAX_GAP": 0.0}
# Enumeration begins whatever the gap, and is never given up.
GENEROUS = {
    "bounds.colgen.enumeration.MAX_GAP": 1e12,
    "bounds.colgen.enumeration.MAX_SLICES": 10**9,
    "bounds.colgen.enumeration.MAX_PRICING_SLICES": 10**9,
    "bounds.colgen.enumeration.MAX_CLUSTERS": 10**9,
}
# Whether columns come first.
EASY = {"bounds.colgen.effort.MAX_BLOCKS_PER_CLUSTER": 100.0}
HARD = {
    "bounds.colgen.effort.MAX_BLOCKS_PER_CLUSTER": 0.0,
    "bounds.colgen.effort.MAX_BLOCKS_PER_CLUSTER_IN_FEW": 0.0,
}
# Whether the hybrid bound generates columns to the end.
ALL_COLUMNS = {
    "bounds.hybrid.criteria.MAX_BLOCKS_PER_CLUSTER": 100.0,
    "bounds.hybrid.criteria.MAX_BLOCKS_PER_CLUSTER_WITH_LIMITS": 100.0,
    "bounds.hybrid.criteria.FEW_DIMENSIONS": 100.0,
}
FEW_COLUMNS = {"bounds.hybrid.criteria.MAX_BLOCKS_PER_CLUSTER": 0.0}
# No bound by places before subsets, and none of nodes.
NO_PLACES_FIRST = {"run.decomposition.places.MIN_BLOCKS": 10**9}
NO_PLACES = {**NO_PLACES_FIRST, "bounds.hybrid.criteria.MAX_PLACE_BLOCKS": 2}


@contextmanager
def constants(values: Mapping[str, Any]) -> Iterator[None]:
    """Change constants of this process, by their modules in `sdpbb` and names, and restore them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setattr(f"sdpbb.{name}", value)
        yield
