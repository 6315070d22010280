"""Branch and bound: tree, evaluation of nodes, scheduling.

It depends on interfaces of bounds and heuristics only: on no bounding method, no heuristic and no
files.
"""
