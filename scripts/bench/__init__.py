"""Benchmarks: suites of cases, one way to run and to measure them, and the tables of the docs."""
