"""Third-party optimisers, one file each, behind programmes of this package's own."""
