"""Run benchmarks, and make tables of their rows, in the root of a checkout.

python -m scripts.bench run SUITE        measure what has no rows yet, and print the tables
python -m scripts.bench report [SUITE]   print the tables of rows, or write them in the docs
python -m scripts.bench run SUITE --help
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scripts.bench import rows, suite, tables
from scripts.bench.data import DOCS, SHARED_DATA


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return 1 if a case failed."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] == ["run"] and arguments[1:2] and arguments[1] in suite.NAMES:
        return run(arguments)
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    named = {"choices": suite.NAMES, "metavar": "SUITE", "help": ", ".join(suite.NAMES)}
    commands.add_parser("run", help="measure cases").add_argument("suite", **named)
    report = commands.add_parser("report", help="make tables")
    report.add_argument("suite", nargs="?", **named)
    report.add_argument("--out", type=Path, help="CSV file of the rows")
    report.add_argument("--data", type=Path, default=SHARED_DATA, help="folder of published data")
    report.add_argument("--write", action="store_true", help="write tables and pictures in docs")
    options = parser.parse_args(arguments)
    for name in [options.suite] if options.suite else suite.NAMES:
        tell(name, options)
    return 0


def run(arguments: list[str]) -> int:
    """Run a suite, whose options are those of the command line."""
    name = arguments[1]
    chosen = suite.Suite(name)
    parser = argparse.ArgumentParser(
        prog=f"python -m scripts.bench run {name}",
        description=chosen.about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    told = "cases that have one of these values; given twice, one of each"
    parser.add_argument("--only", nargs="+", action="append", metavar="WORD", help=told)
    parser.add_argument("--out", type=Path, default=chosen.csv, help="CSV file of the rows")
    parser.add_argument("--data", type=Path, default=SHARED_DATA, help="folder of published data")
    parser.add_argument("--again", action="store_true", help="run cases that have rows, too")
    suite.add_options(parser, chosen.options)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    parser.set_defaults(write=False)
    options = parser.parse_args(arguments[2:])
    if options.case:
        suite.measure_here(chosen, options)
        return 0
    n_failed = suite.run(chosen, options, arguments)
    tell(name, options)
    return 1 if n_failed else 0


def tell(name: str, options: argparse.Namespace) -> None:
    """Print the tables of a suite, or write them, and its picture, where they stand in docs."""
    chosen = suite.Suite(name)
    known = rows.read(options.out or chosen.csv)
    if not known:
        print(f"{name}: no rows in {options.out or chosen.csv}")
        return
    made = {title: table(known, options) for title, table in chosen.tables.items()}
    if not options.write:
        for title, lines in made.items():
            print("\n".join(["", f"{title}:", "", *lines]))
        return
    for page in DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        if (new := tables.written(text, made)) != text:
            page.write_text(new, encoding="utf-8")
            print(f"{name}: written in {page.relative_to(DOCS)}")
    if chosen.picture is not None:
        chosen.picture(known, chosen.csv.with_suffix(".png"), options)


if __name__ == "__main__":
    sys.exit(main())
