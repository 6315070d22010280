"""Suites of benchmarks, a module each; `scripts.bench.suite` says what a suite has."""
