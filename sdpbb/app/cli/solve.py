"""The commands `sdpbb solve`, `resume` and `gap`, and `verify` for their certificates."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

from sdpbb.app.cli import options
from sdpbb.app.cli.app import STATUSES, ExitCode, exit_code, say
from sdpbb.app.cli.files import CertifiedOutputs, InstanceOptions, Outputs, import_engine, running
from sdpbb.app.cli.options import EngineOptions, engine_options
from sdpbb.errors import CertificateError, InstanceError, ParameterError
from sdpbb.run.parameters import LIMITS, WORKERS
from sdpbb.runtime.files import shown_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sdpbb.checker.kernel.certificate import Certificate
    from sdpbb.problem import Instance
    from sdpbb.questions.gap import GapReport
    from sdpbb.runtime.document import Document
    from sdpbb.search.events import Event, Observer
    from sdpbb.search.result import Result
    from sdpbb.search.trace import Trace

AS_FOR_THE_RUN = " (--constraints, and the options of reading the data, as for the run)"

LABELS_HINT = (
    "Labels          not written: "
    "--labels OUT.csv writes the cluster of each point, --json OUT the result"
)


def solve(
    data: options.Data,
    /,
    *,
    inputs: InstanceOptions = InstanceOptions(),
    engine: EngineOptions = EngineOptions(),
    checkpoint: options.Checkpoint = None,
    outputs: CertifiedOutputs = CertifiedOutputs(),
) -> ExitCode:
    """Find the best clustering of the points in DATA, and prove that it is optimal.

    By default all cores are used: threads for many blocks, processes for runs that branch after a
    few seconds. Runs with --workers 1 are repeatable.
    """
    # The engine is imported last: errors in the input are reported without the wait.
    parameters = engine.parameters()
    outputs.check([data, inputs.constraints, engine.file], checkpoint)
    instance = inputs.read(data, outputs.quiet)

    import_engine()
    from sdpbb.run import solver

    return _report(
        lambda observer, interrupt: solver.solve(
            instance,
            parameters,
            observer,
            interrupt,
            checkpoint,
            certificate=outputs.certificate,
        ),
        outputs,
        instance,
    )


@engine_options(*LIMITS, *WORKERS, with_defaults=False)
class ResumedOptions(options.StatedOptions):
    """Parameters that a resumed run may change."""


def resume(
    file: Annotated[
        str,
        options.argument("FILE", help="File that 'sdpbb solve --checkpoint' wrote."),
    ],
    /,
    *,
    engine: ResumedOptions = ResumedOptions(),
    more_time: Annotated[
        float | None,
        options.option(
            metavar="S",
            help="Run for S seconds from now on, instead of --time-limit, which counts the whole "
            "run.",
        ),
    ] = None,
    checkpoint: options.Checkpoint = None,
    outputs: CertifiedOutputs = CertifiedOutputs(),
) -> ExitCode:
    """Resume a run from its checkpoint FILE, and continue to save to it.

    Parameters without an option stay as they were. A run that stopped at a limit needs a higher one
    to continue. A finished run prints its result again.
    """
    outputs.check([], checkpoint, resumed=file)

    import_engine()
    from sdpbb.run import solver
    from sdpbb.run.checkpoint import read_checkpoint

    instance = None if outputs.html is None else read_checkpoint(file).instance
    return _report(
        lambda observer, interrupt: solver.resume(
            file,
            observer,
            interrupt,
            checkpoint,
            outputs.certificate,
            more_time=more_time,
            **engine.stated(),
        ),
        outputs,
        instance,
    )


def _report(
    run: Callable[[Observer, threading.Event], Result],
    outputs: CertifiedOutputs,
    instance: Instance | None = None,
) -> ExitCode:
    """Run, report and write the result; return the exit status.

    instance : the instance, for the page
    """
    from sdpbb.search.events import Finished, all_of

    trace = _trace(outputs)
    has_failed = False

    def document(result: Result) -> Document:
        from sdpbb.plots.pages import run_document

        return result.document() if instance is None else run_document(instance, result, trace)

    def write(event: Event) -> None:
        """Write the other files before the certificate, which may take long or fail."""
        nonlocal has_failed
        if isinstance(event, Finished):
            result = event.result
            labels = None if result.partition is None else result.partition.labels
            labelling = outputs.labelling(labels, result.origin)
            try:
                outputs.write(result, labelling, outputs.page(partial(document, result)))
            except InstanceError as failure:
                say(f"error: {failure}")
                has_failed = True

    with running(outputs) as current:
        observers: list[Observer] = [current.progress(summarise=True), write]
        if trace is not None:
            observers.insert(1, trace)
        result = run(all_of(*observers), current.interrupt)
        if result.partition is not None and outputs.json is None and outputs.labels is None:
            current.tell(LABELS_HINT)
    return ExitCode.BAD_INPUT if has_failed else exit_code(result)


def _trace(outputs: CertifiedOutputs) -> Trace | None:
    """Return an observer of the bounds of a run, if a page needs it."""
    if outputs.html is None:
        return None
    from sdpbb.search.trace import Trace

    return Trace()


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
) -> ExitCode:
    """Prove how far the clustering LABELS of the points in DATA is from the best one.

    If LABELS violates constraints, they are listed. There is no gap then, only a lower bound and
    the best clustering found. The exit status is 0 for every proven gap.
    """
    # The engine is imported last: errors in the input are reported without the wait.
    parameters = engine.parameters()
    outputs.check([data, inputs.constraints, given, engine.file])
    instance, numbers = _read(data, inputs, given, column, outputs.quiet)
    import_engine()
    from sdpbb.questions.gap import gap_document, optimality_gap
    from sdpbb.search.events import all_of

    trace = _trace(outputs)
    failure: CertificateError | None = None
    with running(outputs) as current:
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
        labelling = outputs.labelling(labels, instance.origin)
        document = partial(gap_document, instance, report, trace)
        outputs.write(report, labelling, outputs.page(document))
    if failure is not None:
        raise failure
    if outputs.certificate is not None and not report.is_comparable and not outputs.quiet:
        say(f"{shown_path(outputs.certificate)}: {_subject(report)}")
    return exit_code(report.result)


def _read(
    data: str, inputs: InstanceOptions, given: str, column: str | None, quiet: bool
) -> tuple[Instance, NDArray[np.intp]]:
    """Return the instance, and the labels (n,) of its points."""
    points = inputs.points(data, quiet)
    numbers = inputs.read_labels(given, column, len(points.points), points.origin, quiet)
    if inputs.k is None and points.k is None:
        inputs = replace(inputs, k=int(numbers.max()) + 1)
    return inputs.instance(data, points, quiet), numbers


def _subject(report: GapReport) -> str:
    """Return the subject of a certificate if LABELS are not comparable."""
    why = "LABELS violate constraints" if report.violations else f"LABELS are not {report.k}"
    found = report.result.partition is not None
    about = "about the best clustering found" if found else "not about a clustering"
    return f"the certificate is {about}, as {why}{'' if report.violations else ' clusters'}"


def verify(
    file: Annotated[
        str,
        options.argument("FILE", help="The certificate to check."),
    ],
    /,
    data: Annotated[
        str,
        options.option(
            "--data",
            metavar="DATA",
            help="The points, as for 'sdpbb solve'.",
            group=options.ARGUMENTS,
        ),
    ],
    *,
    inputs: InstanceOptions = InstanceOptions(),
    labels: Annotated[
        str | None,
        options.option(
            metavar="FILE",
            help="Labels, one per line: reject a certificate about another clustering.",
        ),
    ] = None,
    column: options.LabelsColumn = None,
    gap: Annotated[
        float | None,
        options.option(
            metavar="G",
            help="Report the clustering as optimal if its proven gap is at most G, otherwise as "
            "feasible.",
            default="as stated in the certificate",
        ),
    ] = None,
    workers: Annotated[
        int,
        options.option(
            metavar="N",
            help="Number of threads for a certificate about subsets; each checks one subset at a "
            "time.",
        ),
    ] = 1,
    exact: Annotated[
        bool,
        options.flag(
            help="Prove bounds in ball arithmetic (python-flint), which tracks each rounding by "
            "itself. Slower; proofs by prices are not supported."
        ),
    ] = False,
    outputs: Outputs = Outputs(),
) -> ExitCode:
    """Check a certificate that 'sdpbb solve --certificate' wrote.

    The claim of the certificate is proven again, without the solver.
    """
    outputs.check([file, data, inputs.constraints, labels])
    if gap is not None and not 0.0 <= gap < 1.0:
        raise ParameterError(f"gap = {gap}: expected a number in [0, 1)")
    if workers < 1:
        raise ParameterError(f"workers = {workers}: expected 1 or more")

    from sdpbb.checker.kernel.certificate import Certificate
    from sdpbb.checker.kernel.rejection import Rejected
    from sdpbb.run.verification import verdict_on

    try:
        with open(file, "rb") as content:
            certificate = Certificate.load(content)
            instance = _instance(data, inputs, certificate, outputs.quiet)
            expected = inputs.labels(instance, labels, column)
            verdict = verdict_on(certificate, instance, workers, exact)
            if labels is not None and expected is not None:
                _check_labels(shown_path(labels), expected, certificate)
    except Rejected as error:
        outputs.write({"verified": False, "reason": str(error)})
        hint = AS_FOR_THE_RUN if str(error).startswith("is about other") else ""
        say(f"{shown_path(file)}: rejected: {error}{hint}")
        sys.exit(ExitCode.REJECTED)
    if gap is not None:
        verdict = verdict.judged(gap)
    outputs.tell(str(verdict))
    outputs.write(verdict)
    return STATUSES[verdict.status]


def _check_labels(path: str, expected: NDArray[np.intp], certificate: Certificate) -> None:
    """Raise `Rejected` unless these are the clusters of a verified certificate. Both are numbered
    by their first points."""
    from sdpbb.checker.kernel.rejection import Rejected

    if certificate.cost is None:
        raise Rejected(f"labels of {path}: the certificate is not about a clustering")
    if (certificate.labels() != expected).any():
        raise Rejected(f"labels of {path} are another clustering")


def _instance(
    data: str, inputs: InstanceOptions, certificate: Certificate, quiet: bool
) -> Instance:
    """Return the instance, with the certificate's number of clusters unless k is stated."""
    from sdpbb.checker.kernel.rejection import Rejected

    stated, points = None, inputs.points(data, quiet)
    if inputs.k is None:
        stated = points.k
        # A certificate of more clusters than there are points is about other points.
        inputs = replace(inputs, k=stated or min(certificate.k, len(points.points)))
    instance = inputs.instance(data, points, quiet)
    if stated is not None and stated != certificate.k:
        raise Rejected(
            f"is about k = {certificate.k}; k is {stated} in {shown_path(data)}: "
            f"-k {certificate.k} is missing, or it is the certificate of another run"
        )
    return instance
