"""Cases of a benchmark, each in a process of its own, whose memory is that of the case alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from sdpbb.search.traces.trace import ProgressPoint

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ROOT.parent / "shared" / "data" / "avoc"
"""Folder of published data, which may not be there."""


def run_each(
    names: Sequence[str], is_here: bool, solve: Callable[[str], None], published: Sequence[str]
) -> None:
    """Run cases, but those of published data where these are not there.

    names : of the cases, as the arguments of the script may have them
    is_here : whether to run them in this process; if not, the script is called again for each, with
        --here and its other arguments
    published : names of cases of published data
    """
    others = [argument for argument in sys.argv[1:] if argument not in names]
    for name in names:
        if name in published and not PUBLISHED.exists():
            print(f"{name}: SKIPPED, {PUBLISHED} has no such data")
        elif is_here:
            solve(name)
        else:
            command = [sys.executable, sys.argv[0], name, "--here", *others]
            subprocess.run(command, check=True)


def gap_at(point: ProgressPoint) -> float:
    """Return the relative gap at a point of a run; 1 before there is a clustering."""
    return (point.upper - point.lower) / point.upper if np.isfinite(point.upper) else 1.0
