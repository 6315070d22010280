"""Oracle over sets of blocks: clusters of low reduced cost, by local search and exactly."""
