"""Commands for questions about an instance, and `batch`.

The questions are price, certainty, sweep, check and suggest.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from sdpbb.app.cli import options
from sdpbb.app.cli.app import ExitCode, fail, say, study_exit_code
from sdpbb.app.cli.files import (
    InstanceOptions,
    PageOutputs,
    Running,
    TableOutputs,
    import_engine,
    running,
)
from sdpbb.app.cli.options import (
    OF_EVERY_RUN,
    StudyOptions,
    engine_options,
    read_parameters,
)
from sdpbb.errors import CertificateError, InstanceError, ParameterError
from sdpbb.questions.batch.batch import BatchParameters
from sdpbb.runtime.declaration import own_declarations
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.reading import Reading
from sdpbb.runtime.values import counted
from sdpbb.runtime.version import installed_version

if TYPE_CHECKING:
    from sdpbb.problem import Instance
    from sdpbb.problem.statements import Statement
    from sdpbb.questions.price import Price

# Rows of the table.
TOP = 20


def price(
    data: options.Data,
    /,
    *,
    inputs: InstanceOptions = InstanceOptions(),
    only: Annotated[
        str | None,
        options.option(
            metavar="LINES",
            default="all",
            help="Price only the constraints on these lines of the file, such as 4,9,12-15 (in a "
            "JSON file: ml[3],cl[0]).",
        ),
    ] = None,
    top: options.Top = TOP,
    engine: StudyOptions = StudyOptions(),
    outputs: TableOutputs = TableOutputs(),
) -> ExitCode:
    """Compute the price of each must-link and cannot-link, hard or soft.

    The price of a constraint is the decrease of the optimum without it. The most expensive come
    first; a wrong constraint is often among them. The instance is solved once, and again without
    each constraint that the others do not imply. A soft constraint costs its weight if the optimal
    clustering violates it, otherwise at most that.
    """
    parameters = _checked(top, engine, outputs, data, inputs.constraints)
    instance = inputs.read(data, outputs.quiet)
    n_hard = len(instance.must_link) + len(instance.cannot_link)
    if n_hard == 0 and not instance.has_soft_constraints:
        raise InstanceError(
            f"{shown_path(inputs.constraints or data)}: no must-links or cannot-links, hard "
            "or soft; only they have a price (give --constraints)"
        )
    chosen = None if only is None else _chosen(instance, only)
    import_engine()
    from sdpbb.questions.price import constraint_prices

    def on_price(price: Price, left: int) -> None:
        # Many constraints cost nothing, and come fast.
        is_news = price.upper > 0 or left == 0
        (current.tell if is_news else current.tell_now_and_then)(f"{price}; {left} to go")

    with running(outputs) as current:
        report = constraint_prices(
            instance,
            chosen,
            parameters,
            time_limit_each=engine.seconds_each,
            observer=current.progress(),
            on_price=on_price,
            interrupt=current.interrupt,
        )
        return _answered(report, current, outputs, top)


def certainty(
    data: options.Data,
    /,
    *,
    inputs: InstanceOptions = InstanceOptions(),
    within: Annotated[
        float, options.option(metavar="SHARE", help="How much more clusterings may cost.")
    ] = 0.01,
    clustering: Annotated[
        str | None,
        options.option(
            metavar="FILE",
            default="searched for",
            help="Labels of a good clustering to begin with, one per line.",
        ),
    ] = None,
    column: options.LabelsColumn = None,
    top: options.Top = TOP,
    engine: StudyOptions = StudyOptions(),
    outputs: TableOutputs = TableOutputs(),
) -> ExitCode:
    """Find the points that keep their cluster in all clusterings near the optimum.

    The anchor of a cluster is the point nearest to its mean. A point is certain if it is proven to
    be with its anchor in every clustering within 1 % of the best one (--within). For other points,
    the table has bounds on the extra cost of separating them from their anchors.
    """
    parameters = _checked(top, engine, outputs, data, inputs.constraints, clustering)
    instance = inputs.read(data, outputs.quiet)
    labels = inputs.labels(instance, clustering, column)
    import_engine()
    from sdpbb.questions.certainty import certainty as find

    def on_point(known: int, left: int) -> None:
        current.tell_now_and_then(f"{known} points are known; {left} to go")

    with running(outputs) as current:
        report = find(
            instance,
            within,
            parameters,
            labels=labels,
            time_limit_each=engine.seconds_each,
            observer=current.progress(),
            on_point=on_point,
            interrupt=current.interrupt,
        )
        return _answered(report, current, outputs, top)


@options.declared_options(BatchParameters, "resume", "certificates")
class FolderOptions(options.StatedOptions):
    """Options on the folder of a sweep or a batch."""


@options.grouped
class SweptInputs(InstanceOptions):
    """Options on the files of the instance; the numbers of clusters are a separate option."""

    k: Annotated[int, Parameter(parse=False)] = 1
    of_several_k = True


def sweep(
    data: options.Data,
    /,
    *,
    ks: Annotated[
        str,
        options.option("-k", metavar="KS", help="Numbers of clusters, such as 2-10 or 2,3,5-8."),
    ],
    inputs: SweptInputs = SweptInputs(),
    engine: StudyOptions = StudyOptions(),
    out: Annotated[
        str | None,
        options.output(
            metavar="DIR",
            help="Folder for a checkpoint of each k, and its proof with --certificates.",
        ),
    ] = None,
    folder: FolderOptions = FolderOptions(),
    outputs: TableOutputs = TableOutputs(),
) -> ExitCode:
    """Find and prove the best clustering of the points in DATA for several k.

    The table has the cost, its proven lower bound, the decrease, and the silhouette. It also has
    the adjusted Rand index (ARI) to the clustering of the previous k.
    """
    wanted = options.listed("k", ks)
    if not all(re.fullmatch(r"[1-9]\d{0,8}", item) for item in wanted):
        raise ParameterError(f"-k {ks!r}: expected numbers of clusters such as 2-10 or 2,3,5-8")
    numbers = [int(item) for item in wanted]
    parameters = _checked(TOP, engine, outputs, data, inputs.constraints)
    points = inputs.points(data, outputs.quiet)
    largest = replace(inputs, k=min(max(numbers), len(points.points)))
    instance = largest.instance(data, points, outputs.quiet)
    import_engine()
    from sdpbb.questions.sweep import sweep as run

    with running(outputs) as current:
        report = run(
            instance,
            numbers,
            parameters,
            time_limit_each=engine.seconds_each,
            folder=out,
            **folder.stated(),
            on_entry=lambda entry, left: current.tell(f"{entry}; {left} to go"),
            interrupt=current.interrupt,
        )
        status = _answered(report, current, outputs)
        if out is not None:
            current.tell(f"Written to {shown_path(os.path.join(out, ''))}")
    return status


def _checked(top: int, engine: StudyOptions, outputs: TableOutputs, *inputs: str | None) -> Any:
    """Check options that need no file, and return the parameters of the runs."""
    if top < 0:
        raise ParameterError(f"top = {top}: expected an integer >= 0")
    parameters = engine.parameters()
    outputs.check([*inputs, engine.file])
    return parameters


def _answered(report: Any, current: Running, outputs: TableOutputs, *top: int) -> ExitCode:
    """Print and write the report of a study, with `top` rows of its table; return the status."""
    from sdpbb.runtime.document import plain_text

    document = report.document(*top)
    current.tell(f"\n{plain_text(document)}")
    outputs.write_report(report, document)
    return study_exit_code(report)


def _chosen(instance: Instance, only: str) -> list[Statement]:
    """Return the constraints at these places in the file."""
    from sdpbb.problem.statements import stated_constraints

    stated = stated_constraints(instance)
    file = shown_path(instance.origin.constraints_path)
    chosen = []
    for place in options.listed("only", only):
        there = [s for s in stated if s.place in (f"{file}:{place}", f"{file}: {place}")]
        if not there:
            raise ParameterError(
                f"only = {place}: no must-link or cannot-link "
                f"there{f' in {file}' if file else ', as there is no file of constraints'}"
            )
        chosen += there
    return chosen


@options.grouped
class CheckOutputs(PageOutputs):
    """Output files of a check."""

    certificate: Annotated[
        str | None,
        options.output(
            help="A proof that the constraints are contradictory, for 'sdpbb verify'. If they are "
            "not, no file is written."
        ),
    ] = None


def check(
    data: options.Data,
    /,
    *,
    inputs: InstanceOptions = InstanceOptions(),
    time_limit: Annotated[
        float,
        options.option(
            metavar="S",
            help="Stop after S seconds and report what is known.",
            group=options.LIMITS,
        ),
    ] = 60.0,
    outputs: CheckOutputs = CheckOutputs(),
) -> ExitCode:
    """Check whether the constraints are consistent, and what they imply, without optimising.

    If they are contradictory, the output names a few constraints that contradict each other. At
    least one of these is wrong.
    """
    outputs.check([data, inputs.constraints])
    instance = inputs.read(data, outputs.quiet)

    from sdpbb.questions.check import ConstraintReport, check_constraints

    problem, certificate = None, outputs.certificate
    try:
        report = check_constraints(instance, time_limit, certificate)
    except CertificateError as error:
        if not isinstance(error.result, ConstraintReport):
            raise
        problem, report = str(error), error.result
    if problem is None and certificate is not None and report.is_feasible is not False:
        can = "are consistent" if report.is_feasible else "may be consistent"
        problem = f"{shown_path(certificate)}: not written, as the constraints {can}"
    outputs.tell(str(report))
    outputs.write(report, outputs.page(report.document))
    if problem is not None:
        say(problem)
    if report.is_feasible is None:
        return ExitCode.LIMIT_WITHOUT_CLUSTERING
    return ExitCode.FOUND if report.is_feasible else ExitCode.INFEASIBLE


@options.grouped
class SuggestOutputs(TableOutputs):
    """Output files: a file of constraints to fill in, and tables."""

    quiet: Annotated[bool, options.flag("--quiet", help="Print errors and warnings only.")] = False
    out: Annotated[
        str | None,
        options.output(
            metavar="FILE",
            help="A file to fill in. Pairs: lines '?? i j' with the reason; replace ?? by ML or "
            "CL. Classes: a CSV for --known-classes. '-' as for --json.",
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
            help="What to ask: whether two rows belong together, or which class a row has."
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
        options.option(metavar="S", help="Time limit of the search.", group=options.LIMITS),
    ] = None,
    outputs: SuggestOutputs = SuggestOutputs(),
) -> ExitCode:
    """Suggest the pairs, or rows, to ask an expert about next, because their answers help most.

    Answers are must-links (ML) and cannot-links (CL), or known classes, of the next run. Pairs
    whose answers follow from the constraints, or from other suggestions, are not suggested.
    """
    outputs.check([data, inputs.constraints, clustering])
    instance = inputs.read(data, outputs.quiet)
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
    outputs.tell(str(report))
    outputs.write_report(report, report.document(), (outputs.out, report.form))
    return ExitCode.FOUND


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


@options.declared_options(BatchParameters, "workers")
class BatchOptions(FolderOptions):
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
    amounts = f"{counted(len(jobs), 'instance')}, {counted(parameters.workers, 'worker')}"
    # A batch continues if the reader of the log leaves: its results are in files.
    with running(outputs, has_folder=True) as current:
        current.tell(f"sdpbb {installed_version()}: batch of {amounts}")
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
    return study_exit_code(result)
