"""The command `sdpbb gap`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from sdpbb.app.cli import options
from sdpbb.app.cli.engine import EngineOptions
from sdpbb.app.cli.exits import ExitCode, exit_code, say
from sdpbb.app.cli.inputs import InstanceOptions
from sdpbb.app.cli.outputs import CertifiedOutputs, import_engine, running
from sdpbb.errors import CertificateError
from sdpbb.runtime.files import shown_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sdpbb.problem import Instance
    from sdpbb.questions.gap import GapReport
    from sdpbb.runtime.document import Document


def gap(
    data: options.Data,
    given: Annotated[
        str,
        options.argument(
            "LABELS",
            help="Labels from any tool: one per line in the order of the points, or a table. -1 "
            "is a cluster like any other.",
        ),
    ],
    /,
    *,
    column: options.LabelsColumn = None,
    inputs: InstanceOptions = InstanceOptions(),
    engine: EngineOptions = EngineOptions(),
    outputs: CertifiedOutputs = CertifiedOutputs(),
    quiet: options.Quiet = False,
) -> ExitCode:
    """Prove how far the clustering LABELS of the points in DATA is from the best one.

    If LABELS violates constraints, they are listed. There is no gap then, only the lower bound and
    the best clustering that satisfies the constraints; a certificate is about these. The exit
    status is 0 for every proven gap, whether LABELS is optimal or not.
    """
    # The engine is imported last: what is wrong with the input is told without the wait.
    parameters = engine.parameters()
    outputs.check([data, inputs.constraints, given, engine.file])
    instance, numbers = _read(data, inputs, given, column, quiet)
    import_engine()
    from sdpbb.questions.gap import optimality_gap
    from sdpbb.search.events import all_of

    trace = None
    if outputs.html is not None:
        from sdpbb.search.trace import Trace

        trace = Trace()
    failure: CertificateError | None = None
    with running(outputs, quiet) as current:
        progress = current.progress()
        try:
            report = optimality_gap(
                instance,
                numbers,
                parameters=parameters,
                observer=progress if trace is None else all_of(progress, trace),
                interrupt=current.interrupt,
                certificate=outputs.certificate,
            )
        except CertificateError as error:
            failure, report = error, error.result
        current.tell(f"\n{report}")
        best = report.result.partition
        labels = None if best is None else best.labels

        def document() -> Document:
            from sdpbb.questions.gap import gap_document

            return gap_document(instance, report, trace)

        files = outputs.labelling(labels, instance.origin, quiet)
        outputs.write(report, *files, outputs.page(document))
    if failure is not None:
        raise failure
    if outputs.certificate is not None and not report.is_comparable and not quiet:
        say(f"{shown_path(outputs.certificate)}: {_subject(report)}")
    return exit_code(report.result)


def _read(
    data: str, inputs: InstanceOptions, given: str, column: str | None, quiet: bool
) -> tuple[Instance, NDArray[np.intp]]:
    """The instance, and the labels (n,) of its points."""
    points = inputs.points(data, quiet)
    numbers = inputs.read_labels(given, column, len(points.points), points.origin(), quiet)
    if inputs.k is None and points.k is None:
        inputs = replace(inputs, k=int(numbers.max()) + 1)
    return inputs.instance(data, points, quiet), numbers


def _subject(report: GapReport) -> str:
    """Return the subject of a certificate that cannot be about the labels."""
    why = "LABELS violate constraints" if report.violations else f"LABELS are not {report.k}"
    found = report.result.partition is not None
    about = "about the best clustering found" if found else "not about a clustering"
    return f"the certificate is {about}, as {why}{'' if report.violations else ' clusters'}"
