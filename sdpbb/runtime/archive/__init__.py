"""Nested values as a JSON document and arrays, without pickle: what checkpoints hold."""
