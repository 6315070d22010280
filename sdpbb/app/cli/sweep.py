"""The command `sdpbb sweep`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sdpbb.app.cli import options
from sdpbb.app.cli.engine import OF_EVERY_RUN, StudyFile, engine_options
from sdpbb.app.cli.exits import ExitCode, study_exit_code
from sdpbb.app.cli.inputs import InstanceOptions
from sdpbb.app.cli.outputs import STDOUT, Content, TableOutputs, import_engine, running
from sdpbb.errors import ParameterError
from sdpbb.runtime.files import shown_path

if TYPE_CHECKING:
    from sdpbb.questions.sweep import SweepEntry


@engine_options(*OF_EVERY_RUN)
class SweepEngine(StudyFile):
    """Parameters of the runs; the limit of time is for the whole sweep."""


@options.grouped
class SweptInputs(InstanceOptions):
    """Options on the files of the instance; its numbers of clusters are an option of their own."""

    k: Annotated[int, Parameter(parse=False)] = 1
    of_several_k = True


@options.grouped
class SweepOutputs(TableOutputs):
    """Output files: tables, and labels of every k."""

    labels: Annotated[
        str | None,
        options.option(
            metavar="OUT",
            help="Write the labels of every k as CSV: a row for each point, a column for each k. "
            "'-' as for --json.",
            group=options.OUTPUT,
        ),
    ] = None

    def contents(self, result: Any, labels: Any, origin: Any) -> Iterator[Content]:
        from sdpbb.problem.files.labels import encoded

        def of_labels() -> str | bytes:
            text: str = result.labels_csv()
            return text if self.labels == STDOUT else encoded(text, result.origin)

        yield from super().contents(result, labels, origin)
        yield self.labels, of_labels


def sweep(
    data: options.Data,
    /,
    *,
    ks: Annotated[
        str,
        options.option("-k", metavar="KS", help="Numbers of clusters, such as 2-10 or 2,3,5-8."),
    ],
    inputs: SweptInputs = SweptInputs(),
    engine: SweepEngine = SweepEngine(),
    out: Annotated[
        str | None,
        options.option(
            metavar="DIR",
            help="Folder for tables (sweep.csv, sweep.json, labels.csv) and a checkpoint of each "
            "k.",
            group=options.OUTPUT,
        ),
    ] = None,
    resume: Annotated[
        bool,
        options.flag(
            help="Resume the sweep in the folder: proven k stay as they are, k stopped by a "
            "limit continue."
        ),
    ] = False,
    certificates: Annotated[
        bool, options.flag(help="Write a proof of each k into the folder, for 'sdpbb verify'.")
    ] = False,
    outputs: SweepOutputs = SweepOutputs(),
    quiet: options.Quiet = False,
) -> ExitCode:
    """Find and prove the best clustering of the points in DATA for several k.

    The table has the cost, its proven lower bound, the decrease, the silhouette, and the adjusted
    Rand index (ARI) to the clustering of the previous k.
    """
    wanted = numbers_of_clusters(ks)
    parameters = engine.parameters()
    outputs.check([data, inputs.constraints, engine.file])
    points = inputs.points(data, quiet)
    largest = replace(inputs, k=min(max(wanted), len(points.points)))
    instance = largest.instance(data, points, quiet)
    import_engine()
    from sdpbb.questions.sweep import sweep as run

    def on_entry(entry: SweepEntry, left: int) -> None:
        current.tell(f"{entry}; {left} to go")

    with running(outputs, quiet) as current:
        report = run(
            instance,
            wanted,
            parameters,
            time_limit_each=engine.seconds_each,
            folder=out,
            resume=resume,
            certificates=certificates,
            on_entry=on_entry,
            interrupt=current.interrupt,
        )
        current.tell(f"\n{report}")
        outputs.write(report, quiet, name=instance.name)
        if out is not None:
            current.tell(f"Written to {shown_path(os.path.join(out, ''))}")
    return study_exit_code(report.interrupted, report.problems, report.is_complete)


def numbers_of_clusters(text: str) -> list[int]:
    """Return the numbers in a list such as 2,3,5-8.

    Raises
    ------
    ParameterError
        For another text.
    """
    items = options.listed("k", text)
    if not all(re.fullmatch(r"[1-9]\d{0,8}", item) for item in items):
        raise ParameterError(f"-k {text!r}: expected numbers of clusters such as 2-10 or 2,3,5-8")
    return [int(item) for item in items]
