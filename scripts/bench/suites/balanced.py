"""Proofs of docs/how-to/balanced.md: its groups by the default bound, and by the semidefinite one.

Groups of two columns and up to 1,000 rows are those by the semidefinite bound, too.
"""

from __future__ import annotations

from scripts.bench.size_cases import page_cases
from scripts.bench.suite import Case, Options
from scripts.bench.suites.proofs import COLUMNS, KEY, OPTIONS, measure, table

__all__ = ["COLUMNS", "KEY", "OPTIONS", "TABLES", "cases", "measure"]


def cases(options: Options) -> list[Case]:
    return [dict(zip(KEY.split(), (*one, options.workers), strict=True)) for one in page_cases()]


TABLES = {"balanced": table}
