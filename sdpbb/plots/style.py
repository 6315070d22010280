"""Common style of the pictures, new figures, and their SVG."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Literal

from sdpbb.errors import BackendUnavailable
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.values import shortened
from sdpbb.runtime.version import install_command

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
# Dots per inch of the points that are stored as an image.
DPI = 200


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


def svg(ax: Axes) -> bytes:
    """Return the figure of the axes as SVG without a ground, the same bytes for the same figure."""
    from matplotlib import rc_context

    figure: Any = ax.figure
    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "sdpbb", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", dpi=DPI, metadata={"Date": None}, transparent=True)
    return buffer.getvalue()
