"""Lower bounds: semidefinite, by prices, and in stages of both, behind `bound.BoundingMethod`."""
