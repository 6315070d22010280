"""Attack the package: look for a wrong answer, an exception that is none of its own, a hang or a
damaged file, in parts that each know one way to go about it.

    python scripts/attack.py PART ... --seconds 60 --seed 0 [--processes 2] [--csv FILE]

Case c of a part depends on the seed and c alone: `--first c --count 1` does it again. At the end
the counts are printed, and each kind of thing found with its smallest reproduction. The exit status
is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from attacks import PARTS
from attacks.runner import Plan, attack
from attacks.tally import FIELDS, Tally, row_of
from rows import append, markdown

# Of the processes that are started: as the engine is meant to be run.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main(arguments: list[str] | None = None) -> int:
    """Run the parts one after the other; 1 if anything was found."""
    options = _parser().parse_args(arguments)
    for name in ONE_THREAD:
        os.environ[name] = "1"
    tallies = []
    for part in options.parts or PARTS:
        plan = Plan(
            part=part,
            seed=options.seed,
            first=options.first,
            count=options.count,
            seconds=options.seconds,
            processes=options.processes,
        )
        tally = attack(plan, sys.stderr)
        tallies.append(tally)
        if options.csv is not None:
            append(options.csv, FIELDS, row_of(tally))
    print_results(tallies)
    return 1 if any(tally.found for tally in tallies) else 0


def print_results(tallies: list[Tally]) -> None:
    """What was found, then the table of counts."""
    for tally in tallies:
        for signature, finding in tally.found.items():
            print(f"\nFOUND {tally.part}: {signature}")
            print(
                f"  {finding.times} times, as in case {finding.number} (--seed {tally.seed} "
                f"--first {finding.number} --count 1)"
            )
            for line in finding.text.splitlines():
                print(f"  | {line}")
    print()
    lines = [[str(value) for value in row_of(tally).values()] for tally in tallies]
    print("\n".join(markdown(FIELDS, lines)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "parts", nargs="*", type=_part, help=f"{', '.join(PARTS)}; all if none is given"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="per part (default: 60)")
    parser.add_argument("--count", type=int, help="of cases per part, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--processes", type=int, default=1, help="that cases are tried in")
    parser.add_argument("--csv", type=Path, help="append the rows of the table to a file")
    return parser


def _part(name: str) -> str:
    if name not in PARTS:
        raise argparse.ArgumentTypeError(f"{name!r}: expected one of {', '.join(PARTS)}")
    return name


if __name__ == "__main__":
    sys.exit(main())
