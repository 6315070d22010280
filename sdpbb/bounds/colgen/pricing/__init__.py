"""Pricing: clusters of least reduced cost, by local search and by branch and bound."""
