"""Checks of constraints: whether they are consistent, why not, and what they imply."""
