"""Bounding methods in stages, each of which begins if it pays off."""
