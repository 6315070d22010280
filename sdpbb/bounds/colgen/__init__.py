"""Bounds by column generation: a master programme over clusters that steers, and exact pricing
that proves."""
