"""The command `sdpbb`."""

from sdpbb.app.cli.app import main
from sdpbb.app.cli.exits import EXIT_CODES, ExitCode, exit_code

__all__ = ["EXIT_CODES", "ExitCode", "exit_code", "main"]
