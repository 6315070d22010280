"""Prices of constraints: the decrease of the optimum without each of them."""
