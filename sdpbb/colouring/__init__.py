"""Whether a graph has a colouring with k colours: greedily, exactly, by a binary programme."""
