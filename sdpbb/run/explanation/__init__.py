"""Explanation of infeasible constraints, and of what feasible ones imply, in the user's words."""
