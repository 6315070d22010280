"""Questions beyond one run: gaps, prices, sweeps, queries, batches, checks of constraints."""
