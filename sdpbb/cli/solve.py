"""The command `sdpbb solve`."""

from __future__ import annotations

from sdpbb.cli import options
from sdpbb.cli.engine import EngineOptions, solver_parameters
from sdpbb.cli.exits import EXIT_CODES, ExitCode, one_line_errors
from sdpbb.cli.help import command
from sdpbb.cli.inputs import InputFiles
from sdpbb.cli.running import ReportOut, RunOutputs, TraceOut, report

EXITS = EXIT_CODES


def solve(
    data: options.Data,
    /,
    *,
    k: options.Clusters = None,
    constraints: options.Constraints = None,
    constraints_format: options.ConstraintsFormat = None,
    one_based: options.OneBased = False,
    index_column: options.IndexColumn = None,
    drop: options.Drop = None,
    parameters_file: options.ParametersFile = None,
    engine: EngineOptions = EngineOptions(),
    checkpoint: options.Checkpoint = None,
    certificate: options.Certificate = None,
    json: options.Json = None,
    labels: options.Labels = None,
    trace: TraceOut = None,
    html: ReportOut = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> ExitCode:
    """Find and prove the best clustering of the points in DATA.

    Without --workers, as many processes are used as there are cores, but only for runs that
    branch after a few seconds; with one, runs are repeatable.
    """
    with one_line_errors(debug):
        # The engine is imported last: what is wrong with the input is told without the wait.
        parameters = solver_parameters(parameters_file, **engine.stated())
        inputs = InputFiles(data, k, constraints, constraints_format, one_based, index_column, drop)
        outputs = RunOutputs(json, labels, certificate, trace, html)
        outputs.check([*inputs.paths, *options.files(parameters_file)], checkpoint)
        instance = inputs.read_hard()

        from sdpbb import solver

        return report(
            lambda observer, interrupt: solver.solve(
                instance, parameters, observer, interrupt, checkpoint, certificate=certificate
            ),
            outputs,
            quiet,
            instance,
        )


app = command(solve, EXITS)
