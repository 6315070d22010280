"""The application: registration of the commands, and errors of the command line."""

from __future__ import annotations

import sys

from cyclopts import App, CycloptsError

from sdpbb.app.cli.exits import EPILOGUE, ExitCode, fail, one_line_errors
from sdpbb.app.cli.options import OPTIONS
from sdpbb.errors import ParameterError
from sdpbb.runtime.version import installed_version

MODULES = {
    **dict.fromkeys(("resume", "gap"), "solve"),
    **dict.fromkeys(("price", "certainty", "sweep", "check", "suggest"), "questions"),
    "parameters": "doctor",
}
"""Modules of commands that are not in a module of their own name."""
COMMANDS = (
    *("solve", "resume", "heuristic", "gap", "batch", "check", "price", "certainty", "sweep"),
    *("verify", "generate", "suggest", "parameters", "doctor"),
)
"""Commands in the order of the help text, each in a module of its name, or in one of `MODULES`."""

HELP = ("-h", "--help")


def application() -> App:
    """Return the application. A command is imported when it is first needed."""
    app = App(
        "sdpbb",
        help="Exact minimum sum-of-squares clustering with constraints on pairs and clusters, "
        "and published heuristics.",
        help_flags=HELP,
        help_format="markdown",
        help_epilogue=EPILOGUE,
        version=lambda: f"sdpbb {installed_version()}",
        version_flags=["--version"],
        group_parameters=OPTIONS,
        suppress_keyboard_interrupt=False,
    )
    for position, name in enumerate(COMMANDS):
        module = MODULES.get(name, name)
        app.command(f"sdpbb.app.cli.{module}:{name}", name=name, sort_key=position)
    for option in ("--help", "--version"):
        app[option].group = OPTIONS
    return app


def main() -> None:
    """Run the command line; the process starts in `sdpbb.__main__`."""
    for stream in (sys.stdout, sys.stderr):
        # A file name that the terminal's encoding lacks must not end a run.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    with one_line_errors():
        sys.exit(_call(application(), sys.argv[1:]))


def _call(app: App, arguments: list[str]) -> ExitCode | None:
    """Run the command of a command line; return its exit status, None for success."""
    if not arguments or arguments[0] in HELP:
        for name in COMMANDS:  # whose docstrings are in the help text
            app[name]
    if not arguments:
        from rich.console import Console

        app.help_print([], console=Console(stderr=True))
        return ExitCode.USAGE
    try:
        status: ExitCode | None = app(
            arguments, exit_on_error=False, print_error=False, result_action="return_value"
        )
    except CycloptsError as error:
        if isinstance(error.__cause__, ParameterError):  # of the value of an option
            raise error.__cause__ from None
        text = " ".join(str(error).split())
        shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
        words = " ".join(["sdpbb", *(error.command_chain or ())])
        fail(ExitCode.USAGE, f"{shown} See '{words} --help'.")
    return status
