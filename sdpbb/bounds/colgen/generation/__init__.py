"""Column generation for one node, in steps that can be resumed.

| file | what |
| --- | --- |
| `loop.py` | `Generation`: a master programme is solved, and columns are priced |
| `heuristic_pricing.py` | pricing by heuristics |
| `exact_pricing.py` | then exact pricing, by the slice; before, at lowered prices |
| `farkas_pricing.py` | columns for blocks that are not covered, or the proof that there are none |
| `parts.py` | what all kinds of pricing do with clusters: the pool grows, a bound is proven |
| `state.py` | the state that is kept between steps; what children begin with |
"""

from sdpbb.bounds.colgen.generation.loop import Generation, Step
from sdpbb.bounds.colgen.generation.state import GenerationState, GenerationWarmStart, StepEvent

__all__ = ["Generation", "GenerationState", "GenerationWarmStart", "Step", "StepEvent"]
