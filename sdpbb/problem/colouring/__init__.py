"""Colourings of a graph with k colours: by branching, and by a binary programme."""
