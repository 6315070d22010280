"""Interfaces for people and programs: commands, estimator, state of the installation."""
