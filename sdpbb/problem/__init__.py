"""What is solved: immutable values over NumPy, and their files. No solver is imported from here."""

from sdpbb.problem.contraction import Contraction, contract
from sdpbb.problem.infeasibility import Infeasibility, InfeasibilityKind
from sdpbb.problem.instance import Instance, SoftPairs
from sdpbb.problem.partition import Partition

__all__ = [
    "Contraction",
    "Infeasibility",
    "InfeasibilityKind",
    "Instance",
    "Partition",
    "SoftPairs",
    "contract",
]
