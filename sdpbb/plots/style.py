"""Common style of the pictures; new figures, and files of them."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any, Literal

from sdpbb.errors import BackendUnavailable, ParameterError
from sdpbb.runtime.extras import install_command
from sdpbb.runtime.files import FilePath, shown_path, write_atomically
from sdpbb.runtime.values import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Text and axes, what is less important, lines behind everything, the ground.
INK, PALE, RULE, PAPER = "#1b2430", "#7d8794", "#d9dee4", "#fefefe"
# Told apart by all kinds of colour vision: M. Okabe, K. Ito, Color Universal Design (2008); without
# black, with a darker yellow that can be seen on white, and, as their vermilion is called orange by
# many, the red of P. Tol's "vibrant" scheme.
BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#cc3311",
    "#b8a800",
)
# Six more, of P. Tol's "muted" scheme, for as many clusters again.
INDIGO, WINE, TEAL, ROSE, OLIVE, VIOLET = (
    "#332288",
    "#882255",
    "#44aa99",
    "#cc6677",
    "#7f7f26",
    "#aa4499",
)
COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, YELLOW)
MORE_COLOURS = (*COLOURS, INDIGO, ROSE, TEAL, WINE, OLIVE, VIOLET)
MARKERS = ("o", "s", "^", "D", "v", "p", "h")
# Letters of a name that a picture has room for.
LONGEST_LABEL = 40
# Of figures of their own, in inches.
SIZE = (7.2, 4.4)
# Dots per inch of a PNG.
DPI = 200
FORMATS = (".png", ".svg", ".pdf")


def require_matplotlib() -> None:
    """Load matplotlib.

    Raises
    ------
    BackendUnavailable
        If it is not installed.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise BackendUnavailable(
            "pictures need matplotlib, which is not installed; install it with "
            f"{install_command('plot')}",
            extra="plot",
        ) from None


def axes_or_new(ax: Axes | None, size: tuple[float, float] = SIZE) -> Axes:
    """Return ax, or the axes of a new figure of this size in inches.

    Raises
    ------
    BackendUnavailable
        If matplotlib is not installed.
    """
    require_matplotlib()
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=size, layout="constrained", facecolor=PAPER).add_subplot()
    ax.set_facecolor("none")
    return ax


def finish(ax: Axes, grid: Literal["x", "y", "both"] | None = None) -> None:
    """Style the frame, the ticks and the colour of the text.

    grid : "x", "y" or "both" for lines behind the picture
    """
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(PALE)
    ax.tick_params(colors=INK, which="both", labelsize=9)
    for label in (ax.xaxis.label, ax.yaxis.label, ax.title):
        label.set_color(INK)
    if grid is not None:
        ax.grid(axis=grid, color=RULE, linewidth=0.8)
        ax.set_axisbelow(True)


def add_legend(ax: Axes, outside: bool = False, **options: Any) -> None:
    """Add a legend without a frame around it, beside the axes if outside."""
    if outside:
        options |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    ax.legend(frameon=False, fontsize=9, labelcolor=INK, **options)


def as_label(text: str) -> str:
    """Return text that a picture shows as it is: neither as mathematics, nor not at all.

    Long ones are shortened in the middle.
    """
    label = shortened(shown_path(text), LONGEST_LABEL).replace("$", r"\$")
    return f" {label}" if label.startswith("_") else label


def set_title(ax: Axes, title: str) -> None:
    """Set a title, whatever characters are in it."""
    ax.set_title(shown_path(title), loc="left", fontsize=11, color=INK, parse_math=False)


def format_problem(path: str) -> str | None:
    """Return why a picture cannot be written at path, by the ending of its name; or None."""
    if os.path.splitext(path)[1].lower() in FORMATS:
        return None
    *first, last = FORMATS
    return f"{shown_path(path)}: expected a name that ends in {', '.join(first)} or {last}"


def save(ax: Axes, path: FilePath) -> None:
    """Write the figure of the axes as PNG, SVG or PDF, by the ending of the name.

    The file is written wholly or not at all.

    Raises
    ------
    ParameterError
        For another ending.
    OSError
        See `sdpbb.runtime.files.replacement`.
    """
    write_atomically(path, picture_file(ax, path))


def picture_file(ax: Axes, path: FilePath) -> bytes:
    """Return the content of a file of the figure of the axes, by the ending of the file's name.

    Raises
    ------
    ParameterError
        For an ending other than those of PNG, SVG and PDF.
    """
    if problem := format_problem(os.fspath(path)):
        raise ParameterError(problem)
    return rendered(ax, os.path.splitext(path)[1][1:].lower())


def rendered(ax: Axes, kind: str, **settings: Any) -> bytes:
    """Return the figure of the axes as the bytes of a "png", "svg" or "pdf" file.

    They are the same for the same figure.

    settings : of matplotlib (rcParams), with "_" for "."
    """
    from matplotlib import rc_context

    changed: Any = {name.replace("_", "."): value for name, value in settings.items()}
    figure: Any = ax.figure
    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "sdpbb"} | changed):
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(buffer, format=kind, dpi=DPI, metadata=metadata)
    return buffer.getvalue()
