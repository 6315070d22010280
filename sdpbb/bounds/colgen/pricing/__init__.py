"""The clusters of least reduced cost, found and proven."""

from sdpbb.bounds.colgen.pricing.branching_pricer import BranchingPricer, PricerState
from sdpbb.bounds.colgen.pricing.climbing import local_minima
from sdpbb.bounds.colgen.pricing.problem import PricingProblem
from sdpbb.bounds.colgen.pricing.protocol import FarkasOutcome, Pricer, PricingOutcome
from sdpbb.bounds.colgen.pricing.search import Search, SearchState

__all__ = [
    "BranchingPricer",
    "FarkasOutcome",
    "Pricer",
    "PricerState",
    "PricingOutcome",
    "PricingProblem",
    "Search",
    "SearchState",
    "local_minima",
]
