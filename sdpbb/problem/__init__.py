"""Instances, their contractions and their files. Nothing here imports a solver."""

from sdpbb.problem.checks import SoftPairs
from sdpbb.problem.cluster_constraints import (
    AllOf,
    AnyOf,
    ClusterConstraint,
    MaximumDiameter,
    MaximumOverlap,
    MaximumSize,
    MinimumDifference,
    SoftCannotLinks,
)
from sdpbb.problem.contraction import Contraction, contract
from sdpbb.problem.infeasibility import Infeasibility, InfeasibilityKind
from sdpbb.problem.instance import Instance
from sdpbb.problem.origin import Origin, PairLines
from sdpbb.problem.partition import Partition, SoftViolations

__all__ = [
    "AllOf",
    "AnyOf",
    "ClusterConstraint",
    "Contraction",
    "Infeasibility",
    "InfeasibilityKind",
    "Instance",
    "MaximumDiameter",
    "MaximumOverlap",
    "MaximumSize",
    "MinimumDifference",
    "Origin",
    "PairLines",
    "Partition",
    "SoftCannotLinks",
    "SoftPairs",
    "SoftViolations",
    "contract",
]
