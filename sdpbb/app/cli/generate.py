"""The command `sdpbb generate`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from sdpbb.app.cli import options
from sdpbb.app.cli.app import ExitCode
from sdpbb.app.cli.files import Outputs, reading_files
from sdpbb.errors import ParameterError
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.reading import ConstraintsFileFormat
from sdpbb.runtime.values import counted
from sdpbb.runtime.version import installed_version

if TYPE_CHECKING:
    from sdpbb.constraint_sets import Drawing


@options.grouped
class DrawnOutputs(Outputs):
    """The file of constraints, and a summary of the drawing as JSON."""

    out: Annotated[
        str,
        options.option(
            metavar="FILE",
            help="The file of constraints to write; '-' is standard output.",
        ),
    ]


def generate(
    labels: Annotated[
        str,
        options.argument(
            "LABELS",
            help="True labels: one per line in the order of the points, a NumPy array (.npy), or "
            "a table (CSV, Excel, Parquet, Feather). Rows without one (-1, empty) are ignored.",
        ),
    ],
    /,
    *,
    outputs: DrawnOutputs,
    column: options.LabelsColumn = None,
    index_column: options.IndexColumn = None,
    encoding: options.Encoding = None,
    pairs: Annotated[
        int | None,
        options.option(
            metavar="N",
            help="Draw N pairs of points: must-links if their labels are the same, otherwise "
            "cannot-links (Wagstaff and Cardie).",
        ),
    ] = None,
    percentage: Annotated[
        float | None,
        options.option(
            metavar="P",
            help="Draw all pairs among P percent of the points (Gonzalez-Almagro et al.).",
        ),
    ] = None,
    must_links: Annotated[
        int | None, options.option(metavar="N", help="Draw N must-links (Piccialli et al.).")
    ] = None,
    cannot_links: Annotated[
        int | None, options.option(metavar="N", help="Draw N cannot-links (Piccialli et al.).")
    ] = None,
    noise: Annotated[
        float,
        options.option(
            metavar="Q",
            help="Turn a share Q of each kind, 0 to 1, into the other kind (BH-k-means).",
        ),
    ] = 0.0,
    confidence: Annotated[
        float | None,
        options.option(
            metavar="L",
            help="Draw soft constraints. The weight of each is its probability of being right, "
            "drawn from [L, 1] (PCCC); L from 0.5 to 1.",
        ),
    ] = None,
    soft: Annotated[
        bool, options.flag("--soft", help="Draw soft constraints of weight 1.")
    ] = False,
    seed: options.Seed = 0,
    output_format: Annotated[
        ConstraintsFileFormat,
        options.option(
            "--format",
            help="Format of FILE: lines 'ML i j'; lines 'i j 1'; JSON; a matrix of 1, -1 and 0; "
            "or CSV.",
        ),
    ] = "pc-sos-sdp",
    header: Annotated[
        bool,
        options.flag(
            "--header",
            negative="--no-header",
            help="Start FILE with a comment on how it was drawn. JSON has no comments.",
        ),
    ] = True,
) -> ExitCode:
    """Draw constraints that agree with the true labels LABELS, by a published procedure.

    Choose one of --pairs, --percentage, or --must-links and --cannot-links. The same seed draws the
    same constraints. Rows have the names in --index-column, or count from 0.
    """
    from sdpbb.constraint_sets import Drawing
    from sdpbb.problem.files.labels import read_classes
    from sdpbb.problem.formats import constraints_text
    from sdpbb.problem.known_classes import KnownClasses
    from sdpbb.problem.origin import Origin

    drawing = Drawing(pairs, percentage, must_links, cannot_links, noise, confidence, soft, seed)
    _check_format(output_format, drawing)
    outputs.check([labels])
    with reading_files(outputs.quiet):
        names, origin = None, Origin()
        if index_column is not None:
            names = tuple(read_classes(labels, column=index_column, encoding=encoding))
            origin = Origin(row_names=names)
        n_rows = None if names is None else len(names)
        given = read_classes(labels, n_rows, column, origin=origin, encoding=encoding)
    classes = KnownClasses.of(given, len(given), f"{shown_path(labels)}: labels")
    constraints = replace(drawing.of(classes), row_names=names)
    n, version = len(classes), installed_version()
    points = f"{'' if classes.n_known == n else f'{classes.n_known} of '}{counted(n, 'point')}"
    source = f"drawn by sdpbb {version} from the labels of {points}, {shown_path(labels)}"
    comments = [source, str(drawing)] if header else []
    text = constraints_text(constraints, output_format, n, comments)
    counts = {
        "must-link": len(constraints.must_link),
        "cannot-link": len(constraints.cannot_link),
        "soft must-link": len(constraints.soft_must_link),
        "soft cannot-link": len(constraints.soft_cannot_link),
    }
    values = {
        "labels": labels,
        "n_points": n,
        "n_known": classes.n_known,
        **{f"n_{kind}s".replace("-", "_").replace(" ", "_"): m for kind, m in counts.items()},
        "parameters": drawing.to_dict(),
        "version": version,
    }
    outputs.write(values, (outputs.out, lambda: text))
    kinds = [kind for kind in counts if kind.startswith("soft") == drawing.is_soft]
    drawn = ", ".join(counted(counts[kind], kind) for kind in kinds)
    outputs.tell(f"{drawn} on {points}: {drawing}")
    return ExitCode.FOUND


def _check_format(output_format: ConstraintsFileFormat, drawing: Drawing) -> None:
    from sdpbb.problem.formats import CONSTRAINT_FORMATS

    soft = [name for name, one in CONSTRAINT_FORMATS.items() if "SML" in one.keywords]
    if drawing.is_soft and output_format not in soft:
        raise ParameterError(
            f"--format {output_format}: cannot hold soft constraints; expected {' or '.join(soft)}"
        )
