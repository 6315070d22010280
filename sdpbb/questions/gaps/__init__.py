"""Optimality gaps of labels from any tool."""
