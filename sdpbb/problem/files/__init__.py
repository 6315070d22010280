"""Readers and writers of files: points, constraints and labels, a file for each format."""
