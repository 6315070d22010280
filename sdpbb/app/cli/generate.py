"""The command `sdpbb generate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from sdpbb.app.cli import options
from sdpbb.app.cli.exits import NOTHING_WRITTEN, WITHOUT_RUN, ExitCode, meanings
from sdpbb.app.cli.help import command
from sdpbb.app.cli.inputs import constraint_counts, reading_files
from sdpbb.app.cli.outputs import Outputs
from sdpbb.errors import ParameterError
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.reading import ConstraintsFileFormat
from sdpbb.runtime.values import counted
from sdpbb.runtime.version import installed_version

if TYPE_CHECKING:
    from sdpbb.constraint_sets.drawing import Drawing
    from sdpbb.problem.formats import Constraints

EXITS = meanings(
    {
        ExitCode.FOUND: "the constraints were drawn and written",
        **NOTHING_WRITTEN,
    },
    without=WITHOUT_RUN,
)


@command(EXITS)
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
    out: Annotated[
        str,
        options.option(
            metavar="FILE",
            help="The file of constraints to write; '-' is standard output.",
        ),
    ],
    column: options.LabelsColumn = None,
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
    json: Annotated[
        str | None,
        options.option(metavar="OUT", help="Write a summary of the drawing as JSON."),
    ] = None,
    quiet: options.Quiet = False,
) -> ExitCode:
    """Draw constraints that agree with the true labels LABELS, by a published procedure.

    Choose one of --pairs, --percentage, or --must-links and --cannot-links. The same seed draws the
    same constraints. Rows count from 0.
    """
    from sdpbb.constraint_sets.drawing import Drawing
    from sdpbb.problem.files.labels import read_classes
    from sdpbb.problem.formats import constraints_text
    from sdpbb.problem.known_classes import KnownClasses

    drawing = Drawing(pairs, percentage, must_links, cannot_links, noise, confidence, soft, seed)
    _check_format(output_format, drawing)
    outputs = Outputs(json, out)
    outputs.check([labels])
    with reading_files(quiet):
        given = read_classes(labels, column=column, encoding=encoding)
    classes = KnownClasses.of(given, len(given), f"{shown_path(labels)}: labels")
    constraints = drawing.of(classes)
    drawn = _Drawn(drawing, constraints, labels, len(classes), classes.n_known)
    text = constraints_text(
        constraints, output_format, len(classes), drawn.header if header else ()
    )
    Outputs(json).write(drawn, quiet, others=[(out, lambda: text)])
    if not quiet:
        outputs.tell(str(drawn))
    return ExitCode.FOUND


@dataclass(frozen=True)
class _Drawn:
    """The constraints that were drawn from the labels of n points in a file."""

    drawing: Drawing
    constraints: Constraints
    labels: str
    n_points: int
    n_known: int

    @property
    def points(self) -> str:
        """The number of points, and how many of their labels are known."""
        points = counted(self.n_points, "point")
        return points if self.n_known == self.n_points else f"{self.n_known} of {points}"

    @property
    def counts(self) -> dict[str, int]:
        return constraint_counts(self.constraints)

    @property
    def header(self) -> list[str]:
        return [
            f"drawn by sdpbb {installed_version()} from the labels of {self.points}, "
            f"{shown_path(self.labels)}",
            str(self.drawing),
        ]

    def to_dict(self) -> dict[str, Any]:
        counts = {f"n_{kind}s": number for kind, number in self.counts.items()}
        return {
            "labels": self.labels,
            "n_points": self.n_points,
            "n_known": self.n_known,
            **{name.replace("-link", "_link").replace(" ", "_"): n for name, n in counts.items()},
            "parameters": self.drawing.to_dict(),
            "version": installed_version(),
        }

    def __str__(self) -> str:
        kinds = [kind for kind in self.counts if kind.startswith("soft") == self.drawing.is_soft]
        drawn = ", ".join(counted(self.counts[kind], kind) for kind in kinds)
        return f"{drawn} on {self.points}: {self.drawing}"


def _check_format(output_format: ConstraintsFileFormat, drawing: Drawing) -> None:
    from sdpbb.problem.formats import CONSTRAINT_FORMATS

    if drawing.is_soft and not CONSTRAINT_FORMATS[output_format].has_soft:
        with_soft = " or ".join(name for name, one in CONSTRAINT_FORMATS.items() if one.has_soft)
        raise ParameterError(
            f"--format {output_format}: cannot hold soft constraints; expected {with_soft}"
        )
