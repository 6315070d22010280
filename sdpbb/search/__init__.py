"""Branch and bound: tree, evaluation of nodes, workers, limits; events and result of a run.

It depends on the interface of bounding methods, not on single methods.
"""
