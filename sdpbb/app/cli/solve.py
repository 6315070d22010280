"""The command `sdpbb solve`."""

from __future__ import annotations

from sdpbb.app.cli import options
from sdpbb.app.cli.engine import EngineOptions, solver_parameters
from sdpbb.app.cli.exits import EXIT_CODES, ExitCode
from sdpbb.app.cli.help import command
from sdpbb.app.cli.inputs import InstanceOptions
from sdpbb.app.cli.running import RunOutputs, import_engine, report

EXITS = EXIT_CODES


@command(EXITS)
def solve(
    data: options.Data,
    /,
    *,
    inputs: InstanceOptions = InstanceOptions(),
    engine: EngineOptions = EngineOptions(),
    checkpoint: options.Checkpoint = None,
    outputs: RunOutputs = RunOutputs(),
    quiet: options.Quiet = False,
) -> ExitCode:
    """Find the best clustering of the points in DATA, and prove that it is optimal.

    By default all cores are used: threads for many blocks, processes for runs that branch after a
    few seconds. Runs with --workers 1 are repeatable.
    """
    # The engine is imported last: what is wrong with the input is told without the wait.
    parameters = solver_parameters(**engine.stated())
    outputs.check([data, inputs.constraints, engine.file], checkpoint)
    instance = inputs.read(data, quiet)

    import_engine()
    from sdpbb.run import solver

    return report(
        lambda observer, interrupt: solver.solve(
            instance,
            parameters,
            observer,
            interrupt,
            checkpoint,
            certificate=outputs.certificate,
        ),
        outputs,
        quiet,
        instance,
    )
