"""Queries: the pairs of points whose answers, together or apart, are worth most."""
