"""Branch and bound, on interfaces: no bounding method, no heuristic and no files."""
