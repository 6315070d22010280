"""Command `sdpbb`, and `python -m sdpbb`: make the process ready, then import the rest."""

from __future__ import annotations

import os
import sys

from sdpbb.runtime.interruption import leave_on_signal


def main() -> None:
    """Run the command `sdpbb`: the console entry point."""
    leave_on_signal()
    _open_missing_streams()
    from sdpbb.app import cli

    cli.main()


def _open_missing_streams() -> None:
    """Point closed standard streams (`sdpbb ... >&-`) to nowhere.

    The next file to be opened would take their number otherwise, and receive what is meant for
    them.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


if __name__ == "__main__":
    main()
