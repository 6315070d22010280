"""Bounding methods in stages, each of which begins where it pays off."""
