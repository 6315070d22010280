"""The command `sdpbb batch`."""

from __future__ import annotations

import os
import threading
from typing import Annotated

from sdpbb.app.cli import options
from sdpbb.app.cli.engine import OF_EVERY_RUN, engine_options, read_parameters
from sdpbb.app.cli.exits import ExitCode, ForgivingStream, study_exit_code
from sdpbb.app.cli.outputs import PageOutputs, Running
from sdpbb.questions.batch.batch import BatchParameters
from sdpbb.runtime.declaration import own_declarations
from sdpbb.runtime.interruption import finish_on_signal
from sdpbb.runtime.reading import Reading
from sdpbb.runtime.values import counted
from sdpbb.runtime.version import installed_version

Manifest = Annotated[
    str,
    options.argument(
        "MANIFEST",
        help="The instances: TOML with [defaults] and a table [[instance]] for each. Keys: "
        "data, constraints (paths or patterns, relative to MANIFEST), name, k, "
        f"{', '.join(own_declarations(Reading))}, and any parameter that "
        "'sdpbb parameters' prints: gap, time_limit, sdp.solver.",
    ),
]
Folder = Annotated[
    str,
    options.option(
        "--out",
        metavar="DIR",
        help="Folder for the results: results.jsonl (one row at the end of each instance), "
        "results.csv, labels/NAME.csv, certificates/NAME.cert.",
    ),
]


@engine_options(*OF_EVERY_RUN)
class JobOptions(options.StatedOptions):
    """Parameters of the run of every instance."""


@options.declared_options(BatchParameters, "workers", "resume", "certificates")
class BatchOptions(options.StatedOptions):
    """Parameters of the batch itself."""


def batch(
    manifest: Manifest,
    /,
    *,
    out: Folder,
    own: BatchOptions = BatchOptions(),
    engine: JobOptions = JobOptions(),
    parameters_file: options.ParametersFile = None,
    outputs: PageOutputs = PageOutputs(),
    quiet: options.Quiet = False,
) -> ExitCode:
    """Solve every instance of MANIFEST, each in isolation.

    A wrong file, a crash or a time limit becomes a row of the results; the batch continues.

    --gap, the limits, --seed, --bounding and --sdp-solver apply to every instance, and take
    precedence over MANIFEST.
    """
    from sdpbb.questions.batch.batch import FILES, run_batch
    from sdpbb.questions.batch.manifest import read_manifest
    from sdpbb.run.report import COMPILING

    parameters = BatchParameters(**{"workers": options.usable_cores(), **own.stated()})
    results = [os.path.join(out, name) for name in FILES]
    outputs.check([manifest, parameters_file, *results])
    base = None if parameters_file is None else read_parameters(parameters_file)[0]
    jobs = read_manifest(manifest, engine.stated(), base)
    # A reader who leaves does not end the batch: its results are in files.
    log = ForgivingStream("stderr" if outputs.use_stdout else "stdout", None)
    current = Running(threading.Event(), log, quiet)

    amounts = f"{counted(len(jobs), 'instance')}, {counted(parameters.workers, 'worker')}"
    current.tell(f"sdpbb {installed_version()}: batch of {amounts}")
    with finish_on_signal(current.interrupt):
        result = run_batch(
            jobs,
            out,
            parameters,
            lambda compiling: current.tell(COMPILING),
            current.interrupt,
            on_row=lambda row, left: current.tell(f"{row}; {left} to go"),
        )
        current.tell(f"\n{result}")
        outputs.write(result, outputs.page(result.document))
    return study_exit_code(result.interrupted, result.failed, result.succeeded)
