"""The command `sdpbb`."""

from sdpbb.app.cli.app import ExitCode, exit_code, main

__all__ = ["ExitCode", "exit_code", "main"]
