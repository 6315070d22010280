"""The application that all commands belong to."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sdpbb import __version__
from sdpbb.cli import options
from sdpbb.cli.batch import batch
from sdpbb.cli.check import check
from sdpbb.cli.exit_codes import (
    BATCH_EXIT_CODES,
    CHECK_EXIT_CODES,
    EXIT_CODES,
    GAP_EXIT_CODES,
    GENERATE_EXIT_CODES,
    HEURISTIC_EXIT_CODES,
    PRICE_EXIT_CODES,
    VERIFY_EXIT_CODES,
    ExitCode,
    epilog,
    fail,
)
from sdpbb.cli.gap import gap
from sdpbb.cli.generate import generate
from sdpbb.cli.heuristic import heuristic
from sdpbb.cli.plot import plot
from sdpbb.cli.price import price
from sdpbb.cli.resume import resume
from sdpbb.cli.solve import solve
from sdpbb.cli.streams import discard
from sdpbb.cli.usage import UsageError, in_one_line, is_help, with_one_line_errors
from sdpbb.cli.verify import verify
from sdpbb.errors import ParameterError

EPILOG = epilog(EXIT_CODES)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
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
    except UsageError as error:
        if is_help(error):
            error.show()
            sys.exit(error.exit_code)
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


app.command(epilog=EPILOG)(solve)
app.command(epilog=EPILOG)(resume)
app.command(epilog=epilog(HEURISTIC_EXIT_CODES))(heuristic)
app.command(epilog=epilog(GAP_EXIT_CODES))(gap)
app.command(epilog=epilog(BATCH_EXIT_CODES))(batch)
app.command(epilog=epilog(CHECK_EXIT_CODES))(check)
app.command(epilog=epilog(PRICE_EXIT_CODES))(price)
app.command(epilog=epilog(VERIFY_EXIT_CODES))(verify)
app.command(epilog=epilog(GENERATE_EXIT_CODES))(generate)
app.add_typer(plot, name="plot")
with_one_line_errors(app)
