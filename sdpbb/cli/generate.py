"""The command `sdpbb generate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdpbb import __version__
from sdpbb.cli import options
from sdpbb.cli.exits import NOTHING_WRITTEN, ExitCode, meanings, one_line_errors
from sdpbb.cli.options import ConstraintsFileFormat
from sdpbb.cli.outputs import Outputs
from sdpbb.errors import ParameterError
from sdpbb.files import shown_path
from sdpbb.values import counted

if TYPE_CHECKING:
    from sdpbb.constraint_sets.drawing import Drawing
    from sdpbb.problem.formats import Constraints

EXITS = meanings(
    {
        ExitCode.FOUND: "the constraints were drawn and written",
        ExitCode.BACKEND_FAILURE: "pyarrow, which reads Parquet, is not installed",
        **NOTHING_WRITTEN,
    },
    without=[ExitCode.LIMIT, ExitCode.LIMIT_WITHOUT_CLUSTERING, ExitCode.INFEASIBLE],
)


def generate(
    labels: Annotated[
        str,
        typer.Argument(
            metavar="LABELS",
            show_default=False,
            help="True labels, one per line, in the order of the points; a NumPy array (.npy); or, "
            "with --column, a CSV or Parquet file.",
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="The file of constraints to write; '-' is standard output. Required.",
        ),
    ],
    column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The column of LABELS that holds the labels; without a heading, its number from "
            "1.",
        ),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="N pairs of points, must-links where the labels are the same and cannot-links "
            "elsewhere (Wagstaff and Cardie).",
        ),
    ] = None,
    percentage: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="As many such pairs as P percent of the points have among themselves "
            "(Gonzalez-Almagro et al.).",
        ),
    ] = None,
    must_links: Annotated[
        int | None, typer.Option(metavar="N", help="N must-links (Piccialli et al.).")
    ] = None,
    cannot_links: Annotated[
        int | None, typer.Option(metavar="N", help="N cannot-links (Piccialli et al.).")
    ] = None,
    noise: Annotated[
        float,
        typer.Option(
            metavar="Q", help="State a share Q of each kind the other way (BH-k-means), 0 to 1."
        ),
    ] = 0.0,
    confidence: Annotated[
        float | None,
        typer.Option(
            metavar="L",
            help="Soft constraints, each right with a probability of its own between L and 1 that "
            "its weight tells (PCCC), 0.5 to 1.",
        ),
    ] = None,
    soft: Annotated[bool, typer.Option("--soft", help="Soft constraints of weight 1.")] = False,
    seed: options.Seed = 0,
    output_format: Annotated[
        ConstraintsFileFormat,
        typer.Option(
            "--format",
            help="Of FILE: lines 'ML i j'; lines 'i j 1'; JSON; or a matrix of 1, -1 and 0.",
        ),
    ] = ConstraintsFileFormat.PC_SOS_SDP,
    header: Annotated[
        bool,
        typer.Option(
            "--header/--no-header",
            help="Begin FILE with a comment on how it was drawn; JSON has none.",
        ),
    ] = True,
    json: Annotated[
        str | None,
        typer.Option(metavar="OUT", help="Write how it was drawn, and what came of it, as JSON."),
    ] = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Draw constraints that agree with the true labels LABELS, by a published procedure.

    One of --pairs, --percentage, or --must-links and --cannot-links says which. The same seed draws
    the same constraints; rows are numbered from 0.
    """
    with one_line_errors():
        from sdpbb.constraint_sets.drawing import Drawing
        from sdpbb.problem.formats import constraints_text, read_labels

        drawing = Drawing(
            pairs, percentage, must_links, cannot_links, noise, confidence, soft, seed
        )
        _check_format(output_format, drawing)
        outputs = Outputs(json, out)
        outputs.check([labels], None)
        classes = read_labels(labels, column=column)
        constraints = drawing.of(classes)
        drawn = _Drawn(drawing, constraints, labels, len(classes))
        text = constraints_text(
            constraints, output_format, len(classes), drawn.header if header else ()
        )
        Outputs(json, None).write(drawn, None, quiet, [(out, lambda: text)])
        if not quiet:
            outputs.tell(str(drawn))


@dataclass(frozen=True)
class _Drawn:
    """The constraints that were drawn from the labels of n points in a file."""

    drawing: Drawing
    constraints: Constraints
    labels: str
    n_points: int

    @property
    def counts(self) -> dict[str, int]:
        constraints = self.constraints
        return {
            "must-link": len(constraints.must_link),
            "cannot-link": len(constraints.cannot_link),
            "soft must-link": len(constraints.soft_must_link),
            "soft cannot-link": len(constraints.soft_cannot_link),
        }

    @property
    def header(self) -> list[str]:
        return [
            f"drawn by sdpbb {__version__} from the labels of {counted(self.n_points, 'point')}, "
            f"{shown_path(self.labels)}",
            str(self.drawing),
        ]

    def to_dict(self) -> dict[str, Any]:
        counts = {f"n_{kind}s": number for kind, number in self.counts.items()}
        return {
            "labels": self.labels,
            "n_points": self.n_points,
            **{name.replace("-link", "_link").replace(" ", "_"): n for name, n in counts.items()},
            "parameters": self.drawing.to_dict(),
            "version": __version__,
        }

    def __str__(self) -> str:
        kinds = [kind for kind in self.counts if kind.startswith("soft") == self.drawing.is_soft]
        drawn = ", ".join(counted(self.counts[kind], kind) for kind in kinds)
        return f"{drawn} on {counted(self.n_points, 'point')}: {self.drawing}"


def _check_format(output_format: ConstraintsFileFormat, drawing: Drawing) -> None:
    from sdpbb.problem.formats import CONSTRAINT_FORMATS

    if drawing.is_soft and not CONSTRAINT_FORMATS[output_format].has_soft:
        with_soft = " or ".join(name for name, one in CONSTRAINT_FORMATS.items() if one.has_soft)
        raise ParameterError(
            f"--format {output_format}: has no place for soft constraints; expected {with_soft}"
        )
