"""Lower bounds: one package per bounding method, all behind `sdpbb.bounds.method.BoundingMethod`."""
