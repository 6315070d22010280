"""Bound for many points in three dimensions or fewer: prices of points, and places of means."""
