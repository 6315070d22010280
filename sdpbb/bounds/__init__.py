"""Lower bounds: a package per bounding method, behind `sdpbb.bounds.bound.BoundingMethod`."""
