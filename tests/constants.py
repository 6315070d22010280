"""Constants of modules, changed for a test."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from sdpbb.bounds.lagrangian.reach import Reach
from sdpbb.run.parameters import DecompositionParameters

NODES_PER_SLICE = "bounds.lagrangian.sets.pricer.NODES_PER_SLICE"
# No enumeration looks for clusters.
NO_ENUMERATION = {"bounds.lagrangian.enumeration.MAX_GAP": 0.0}
# Enumeration begins whatever the gap, and is never given up.
GENEROUS = {
    "bounds.lagrangian.enumeration.MAX_GAP": 1e12,
    "bounds.lagrangian.enumeration.MAX_SLICES": 10**9,
    "bounds.lagrangian.enumeration.MAX_PRICING_SLICES": 10**9,
    "bounds.lagrangian.enumeration.MAX_CLUSTERS": 10**9,
}
# Whether columns come first.
EASY = {"bounds.lagrangian.reach.EASY_TO_PRICE": (Reach(per_cluster=100.0),)}
HARD = {"bounds.lagrangian.reach.EASY_TO_PRICE": ()}
# Whether the hybrid bound generates columns to the end.
ALL_COLUMNS = {
    "bounds.lagrangian.reach.SMALL_CLUSTERS": Reach(per_cluster=100.0),
    "bounds.lagrangian.reach.SMALL_CLUSTERS_IF_LIMITED": Reach(per_cluster=100.0),
    "bounds.lagrangian.reach.FEW_DIMENSIONS": Reach(),
}
FEW_COLUMNS = {"bounds.lagrangian.reach.SMALL_CLUSTERS": Reach(per_cluster=0.0)}
# Bounds by places from two blocks on.
FEW_PLACES = {
    "bounds.lagrangian.reach.FOR_PLACES": (Reach(blocks=2, links=4.0),),
    "run.decomposition.levels.MIN_BLOCKS": 2,
}
SHORT_SLICES = {NODES_PER_SLICE: 7, **GENEROUS}
MAX_TRIED_STEPS = "bounds.staged.methods.MAX_TRIED_STEPS"
RELAXED = {**HARD, **FEW_COLUMNS, MAX_TRIED_STEPS: 0}
AT_PLACES = {
    **EASY,
    **GENEROUS,
    "bounds.lagrangian.reach.FOR_PLACES": (Reach(blocks=2),),
    "bounds.lagrangian.reach.ENUMERATED_AT_PLACES": Reach(per_cluster=100.0),
    "bounds.lagrangian.reach.COLUMNS_AFTER_PLACES": Reach(per_cluster=0.0),
    "bounds.lagrangian.reach.FEW_DIMENSIONS": Reach(),
}
# Stages that bound a node.
STAGES: Mapping[str, Mapping[str, Any]] = {
    "columns": {},
    "columns in short slices": SHORT_SLICES,
    "columns without enumeration": NO_ENUMERATION,
    "columns after the relaxation": {**HARD, "bounds.staged.methods.CENTRE_ITERATIONS": 40},
    "hybrid": {},
    "easy columns": {**SHORT_SLICES, **EASY, **ALL_COLUMNS},
    "easy columns given up": {
        **SHORT_SLICES,
        **EASY,
        **ALL_COLUMNS,
        "bounds.staged.methods.MAX_EASY_STEPS": 3,
    },
    "relaxation": {**NO_ENUMERATION, **RELAXED},
    "relaxation, enumeration": {**SHORT_SLICES, **RELAXED},
    "relaxation, columns": {**NO_ENUMERATION, **HARD, **ALL_COLUMNS},
    "relaxation, a few columns": {**SHORT_SLICES, **HARD, **FEW_COLUMNS, MAX_TRIED_STEPS: 4},
    "all stages": {"bounds.lagrangian.enumeration.MAX_GAP": 1e-3, **HARD, **ALL_COLUMNS},
    "places": AT_PLACES,
    "places within limits": {
        **AT_PLACES,
        "bounds.lagrangian.reach.ENUMERATED_AT_PLACES": Reach(per_cluster=0.0),
    },
}
# No bound by places before subsets, and none of nodes.
NO_PLACES_FIRST = {"run.decomposition.levels.MIN_BLOCKS": 10**9}
NO_PLACES = {**NO_PLACES_FIRST, "bounds.lagrangian.reach.FOR_PLACES": ()}


# Subsets from two blocks on.
TINY_SUBSETS = DecompositionParameters(least_blocks=2, smallest=2, per_cluster=1)


@contextmanager
def constants(values: Mapping[str, Any]) -> Iterator[None]:
    """Change constants of this process, by their modules in `sdpbb` and names, and restore them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setattr(f"sdpbb.{name}", value)
        yield
