"""Colourings of a graph with k colours: greedy, exact, by a binary programme."""
