"""The command `sdpbb check`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Annotated

import typer

from sdpbb.cli import options
from sdpbb.cli.exit_codes import ExitCode, one_line_errors
from sdpbb.cli.inputs import InputFiles
from sdpbb.cli.outputs import Outputs

if TYPE_CHECKING:
    from sdpbb.explanation.report import ConstraintReport


def check(
    data: options.Data,
    k: options.Clusters = None,
    constraints: options.Constraints = None,
    constraints_format: options.ConstraintsFormat = None,
    one_based: options.OneBased = False,
    index_column: options.IndexColumn = None,
    drop: options.Drop = None,
    time_limit: Annotated[
        float, typer.Option(metavar="S", help="Report what is known after S seconds.")
    ] = 60.0,
    json: options.Json = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Tell whether the constraints can hold together, and what they imply. Nothing is optimised.

    If they cannot, a few of them are named that already cannot hold together, so that at least one
    of these is wrong.
    """
    with one_line_errors():
        inputs = InputFiles(data, k, constraints, constraints_format, one_based, index_column, drop)
        outputs = Outputs(json, None)
        outputs.check(inputs.paths, None)
        instance = inputs.read()

        from sdpbb.explanation.check import check_constraints

        report = check_constraints(instance, time_limit)
        _tell(report, outputs, quiet)
    raise typer.Exit(_exit_code(report))


def _tell(report: ConstraintReport, outputs: Outputs, quiet: bool) -> None:
    if not quiet:
        log = outputs.log(threading.Event())
        log.write(f"{report}\n")
        log.flush()
    outputs.write(report, None, quiet)


def _exit_code(report: ConstraintReport) -> ExitCode:
    if report.is_feasible is None:
        return ExitCode.LIMIT_WITHOUT_CLUSTERING
    return ExitCode.FOUND if report.is_feasible else ExitCode.INFEASIBLE
