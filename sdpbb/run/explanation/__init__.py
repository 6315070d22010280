"""Explanation of infeasible constraints in the user's words."""
