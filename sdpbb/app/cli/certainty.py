"""The command `sdpbb certainty`."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Annotated

from sdpbb.app.cli import options
from sdpbb.app.cli.engine import StudyOptions
from sdpbb.app.cli.exits import ExitCode, study_exit_code
from sdpbb.app.cli.inputs import InstanceOptions
from sdpbb.app.cli.outputs import TableOutputs, import_engine, running
from sdpbb.errors import ParameterError

# Points that the table shows.
TOP = 20
_SHARE = re.compile(r"\s*(\d+(\.\d*)?|\.\d+)\s*(%?)\s*")


def certainty(
    data: options.Data,
    /,
    *,
    inputs: InstanceOptions = InstanceOptions(),
    within: Annotated[
        str,
        options.option(
            metavar="SHARE", help="How much more clusterings may cost, such as 1% or 0.01."
        ),
    ] = "1%",
    clustering: Annotated[
        str | None,
        options.option(
            metavar="FILE",
            default="searched for",
            help="Labels of a good clustering to begin with, one per line.",
        ),
    ] = None,
    column: options.LabelsColumn = None,
    top: Annotated[
        int,
        options.option(
            metavar="N", help="Show N points that are not certain; --json and --csv hold all."
        ),
    ] = TOP,
    engine: StudyOptions = StudyOptions(),
    outputs: TableOutputs = TableOutputs(),
    quiet: options.Quiet = False,
) -> ExitCode:
    """Find the points that keep their cluster in all clusterings near the optimum.

    A point is certain if it is with the anchor of its cluster, the point nearest to its mean, in
    every clustering that costs at most 1 % more than the best one (--within). This is proven. The
    other points come with what it costs, at least and at most, to have them elsewhere.
    """
    if top < 0:
        raise ParameterError(f"top = {top}: expected an integer >= 0")
    share = _share(within)
    parameters = engine.parameters()
    outputs.check([data, inputs.constraints, clustering, engine.file])
    instance = inputs.read(data, quiet)
    labels = inputs.labels(instance, clustering, column)
    import_engine()
    from sdpbb.questions.certainty import certainty as find

    def on_point(known: int, left: int) -> None:
        current.tell_now_and_then(f"{known} points are known; {left} to go")

    with running(outputs, quiet) as current:
        report = find(
            instance,
            share,
            parameters,
            labels=labels,
            time_limit_each=engine.seconds_each,
            observer=current.progress(),
            on_point=on_point,
            interrupt=current.interrupt,
        )
        current.tell(f"\n{report.table(top)}")
        outputs.write(report, quiet, document=partial(report.document, top))
    return study_exit_code(report.interrupted, report.problems, report.is_complete, report.result)


def _share(text: str) -> float:
    """Return the share that a text such as 1% or 0.01 states."""
    found = _SHARE.fullmatch(text)
    share = float(found[1]) / (100.0 if found[3] else 1.0) if found else 0.0
    if not 0.0 < share < math.inf:
        raise ParameterError(f"within = {text}: expected a share above 0, such as 1% or 0.01")
    return share
