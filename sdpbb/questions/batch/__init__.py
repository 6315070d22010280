"""Batches: many instances, each solved in isolation; a failure is a row of the results."""
