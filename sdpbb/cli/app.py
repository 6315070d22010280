"""The application: registration of the commands, and errors of the command line."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sdpbb import __version__
from sdpbb.cli import (
    batch,
    check,
    gap,
    generate,
    heuristic,
    options,
    parameters,
    plot,
    price,
    resume,
    solve,
    verify,
)
from sdpbb.cli.exits import EXIT_CODES, ExitCode, epilog, fail
from sdpbb.cli.streams import discard
from sdpbb.cli.usage import in_one_line, is_help, show_help, with_one_line_errors
from sdpbb.errors import ParameterError

COMMANDS = (solve, resume, heuristic, gap, batch, check, price, verify, generate, parameters)
"""Modules of the commands, in the order of the help text: each has a function of its own name, and
`EXITS`, the meanings of its exit statuses."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=epilog(EXIT_CODES),
)


def main() -> None:
    """The command line; the process starts in `sdpbb.__main__`."""
    for stream in (sys.stdout, sys.stderr):
        # A file name that the terminal's encoding lacks must not end a run.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        sys.exit(app(prog_name="sdpbb", standalone_mode=False))
    except ParameterError as error:
        fail(ExitCode.USAGE, str(error))
    except typer.TyperException as error:
        if is_help(error):
            show_help(error)
            sys.exit(ExitCode.USAGE)
        fail(ExitCode.USAGE, in_one_line(error))
    except typer.Abort:
        fail(ExitCode.INTERRUPTED, "interrupted")
    except OSError as error:  # of a help text: everything else is caught where it happens
        discard(sys.stdout)
        fail(ExitCode.BAD_INPUT, f"standard output: {error.strerror}")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sdpbb {__version__}")
        raise typer.Exit


@app.callback()
def sdpbb(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: options.Debug = False,
) -> None:
    """Exact minimum sum-of-squares clustering with constraints on pairs and on clusters, and the
    published heuristics for it."""


for module in COMMANDS:
    name = module.__name__.rpartition(".")[2]
    app.command(epilog=epilog(module.EXITS))(getattr(module, name))
app.add_typer(plot.plot, name="plot")
with_one_line_errors(app)
