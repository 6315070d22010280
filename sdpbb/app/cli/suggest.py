"""The command `sdpbb suggest`."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from sdpbb.app.cli import options
from sdpbb.app.cli.exits import ExitCode, fail
from sdpbb.app.cli.inputs import InstanceOptions
from sdpbb.app.cli.outputs import TableOutputs, import_engine


@options.grouped
class SuggestOutputs(TableOutputs):
    """Output files: a file of constraints to fill in, and tables."""

    out: Annotated[
        str | None,
        options.output(
            metavar="FILE",
            help="Write a file to fill in. Of pairs, lines '?? i j' with the reason: replace ?? by "
            "ML or CL. Of classes, a CSV for --known-classes. '-' as for --json.",
        ),
    ] = None


def suggest(
    data: options.Data,
    /,
    *,
    inputs: InstanceOptions = InstanceOptions(),
    q: Annotated[
        int, options.option("-q", "--queries", metavar="N", help="Number of questions.")
    ] = 10,
    ask: Annotated[
        Literal["pairs", "classes"],
        options.option(
            help="What to ask: whether two rows belong together, or of which class a row is."
        ),
    ] = "pairs",
    clustering: Annotated[
        str | None,
        options.option(
            metavar="FILE",
            default="from a quick search",
            help="Labels of the clustering to ask about, such as a proven one, one per line.",
        ),
    ] = None,
    column: options.LabelsColumn = None,
    seed: options.Seed = 0,
    time_limit: Annotated[
        float | None,
        options.option(metavar="S", help="Time limit of the search."),
    ] = None,
    outputs: SuggestOutputs = SuggestOutputs(),
    quiet: Annotated[bool, options.flag("--quiet", help="Print errors and warnings only.")] = False,
) -> ExitCode:
    """Suggest the pairs, or rows, to ask an expert about next: those whose answers help most.

    Answers are must-links (ML) and cannot-links (CL), or known classes, of the next run. Pairs
    whose answers follow from the constraints, or from other suggested pairs, are left out.
    """
    outputs.check([data, inputs.constraints, clustering])
    instance = inputs.read(data, quiet)
    labels = inputs.labels(instance, clustering, column)
    import_engine()
    from sdpbb.questions.query_strategy import NoClusteringToAskAbout
    from sdpbb.questions.suggest import suggest_queries

    try:
        report = suggest_queries(
            instance,
            q,
            ask=ask,
            clustering=labels,
            seed=seed,
            time_limit=math.inf if time_limit is None else time_limit,
        )
    except NoClusteringToAskAbout as error:
        fail(ExitCode.INFEASIBLE, str(error))
    if not quiet:
        outputs.tell(str(report))
    outputs.write_report(report, report.document(), (outputs.out, report.form))
    return ExitCode.FOUND
