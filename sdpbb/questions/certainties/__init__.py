"""Certainty of points: proven statements about all clusterings near the optimum."""
