"""Third-party optimisers behind programmes of this package's own."""
