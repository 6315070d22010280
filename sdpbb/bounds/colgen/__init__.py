"""Bounds by column generation.

A master programme over clusters steers, and exact pricing proves.
"""
