"""Branch and bound: tree, evaluation of nodes, scheduling.

It depends on the interface of bounding methods, and on none of them.
"""
