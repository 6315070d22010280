"""Pictures of clusterings on a plane, of the bounds of a run over time, and of a sweep."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.errors import BackendUnavailable, ParameterError
from sdpbb.problem import Instance, Partition
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.values import shortened
from sdpbb.runtime.version import install_command
from sdpbb.search.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Text and axes, what is less important, lines behind everything, the ground.
INK, PALE, RULE, PAPER = "#1b2430", "#7d8794", "#d9dee4", "#fefefe"
# Told apart by all kinds of colour vision: M. Okabe, K. Ito, Color Universal Design (2008); without
# black, with a darker yellow that can be seen on white, and, as their vermilion is called orange by
# many, the red of P. Tol's "vibrant" scheme.
BLUE, RED = "#0072b2", "#cc3311"
COLOURS = (BLUE, "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#b8a800")
MARKERS = ("o", "s", "^", "D", "v", "p", "h")
# Letters of a name that a picture has room for.
LONGEST_LABEL = 40
# Sizes of new figures, in inches, and of pictures of clusterings.
SIZE, PLANE_SIZE = (7.2, 4.4), (8.2, 5.0)
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
    """Return ax unchanged, or the axes of a new figure of this size in inches.

    Raises
    ------
    BackendUnavailable
        If matplotlib is not installed.
    """
    require_matplotlib()
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    ax = Figure(figsize=size, layout="constrained", facecolor=PAPER).add_subplot()
    ax.set_facecolor("none")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(PALE)
    ax.tick_params(colors=INK, which="both", labelsize=9)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_color(INK)
    return ax


def _add_legend(ax: Axes, **options: Any) -> None:
    ax.legend(frameon=False, fontsize=9, labelcolor=INK, **options)


def svg(ax: Axes) -> bytes:
    """Return the figure of the axes as SVG without a background; equal figures give equal bytes."""
    from matplotlib import rc_context

    figure: Any = ax.figure
    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "sdpbb", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", dpi=DPI, metadata={"Date": None}, transparent=True)
    return buffer.getvalue()


# Pairs of a kind that are drawn at most.
MOST_PAIRS = 2_000
# Clusters that the legend names.
MOST_NAMED = 14
# More points than this are stored as an image within an SVG.
MOST_DRAWN_POINTS = 5_000
# Up to this number of points have outlines, which separate neighbours.
MOST_OUTLINED = 1_000
DASHES = (0, (3, 2))
# Area of a ring around a point.
RING = 90.0
# Colours of the rings around points, by the state of these.
RINGS = {"uncertain": RED, "open": INK}


def plot_clusters(
    instance: Instance, labels: ArrayLike | Partition, ax: Axes | None = None
) -> Axes:
    """Plot the points of a clustering, with the constraints.

    The points are in their first two principal components, or in their own plane if they have two
    features. Must-links are solid lines, cannot-links dashed, violated pairs red.

    A cross is the mean of a cluster. Of more than `MOST_PAIRS` constraints of a kind, a sample is
    drawn, and the legend says so.

    labels : (n,) integers, or a `Partition`

    Raises
    ------
    ParameterError
        If there is another number of labels than of points.
    BackendUnavailable
        Without matplotlib.
    """
    partition = labels if isinstance(labels, Partition) else Partition(np.asarray(labels))
    n, k = len(partition.labels), partition.n_clusters
    if n != instance.n_points:
        expected = f"expected {instance.n_points}, one per point"
        raise ParameterError(f"labels = ...: {n} labels; {expected}")
    ax, places = _plane_axes(instance, partition.labels, ax)
    for name, pairs, together in (
        ("must-link", instance.must_link, True),
        ("cannot-link", instance.cannot_link, False),
        ("soft must-link", instance.soft_must_link.pairs, True),
        ("soft cannot-link", instance.soft_cannot_link.pairs, False),
    ):
        i, j = partition.labels[pairs].T
        is_kept, style = (i == j) == together, "-" if together else DASHES
        _draw_pairs(pairs[is_kept], name, style, places, ax)
        _draw_pairs(pairs[~is_kept], f"violated {name}", style, places, ax, is_wrong=True)
    for cluster in range(k):
        members = places[partition.labels == cluster]
        text = f"cluster {cluster} ({len(members):,})" if k <= MOST_NAMED else ""
        _draw_points(members, look_of(cluster), text, n, ax)
    means, text = partition.means(places, instance.weights), f"means of the {k} clusters"
    _draw_points(means, (INK, "X"), text, k, ax, s=90.0, linewidths=1.0, zorder=4)
    _add_cluster_legend(ax)
    return ax


def plot_certainty(
    instance: Instance, labels: NDArray[np.intp], states: NDArray[np.str_], ax: Axes | None = None
) -> Axes:
    """Plot the points of a clustering, as `plot_clusters` does, by their certainty.

    Uncertain points have a red ring, open ones a dark one.

    labels, states : (n,), as in a `CertaintyReport`

    Raises
    ------
    BackendUnavailable
        Without matplotlib.
    """
    ax, places = plot_clusters(instance, labels, ax), plane_of(instance, labels)[0]
    for state, colour in RINGS.items():
        ringed = places[states == state]
        text, look = f"{state} ({len(ringed):,})", ("none", "o")
        _draw_points(ringed, look, text, len(labels), ax, s=RING, edgecolors=colour, linewidths=1.4)
    _add_cluster_legend(ax)
    return ax


def _add_cluster_legend(ax: Axes) -> None:
    _add_legend(ax, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)


def look_of(cluster: int) -> tuple[str, str]:
    """Return the colour and the marker of a cluster; 42 clusters differ.

    There are six colours and seven markers.
    """
    turn, colour = divmod(cluster, len(COLOURS))
    return COLOURS[colour], MARKERS[(colour + turn) % len(MARKERS)]


def plane_of(
    instance: Instance, labels: NDArray[np.intp]
) -> tuple[NDArray[np.float64], tuple[str, str]]:
    """Return places (n, 2) of the points, and the names of the axes.

    These are two features, or the first two principal components, with their shares of the
    variance. Points with one feature are stacked by their labels (n,).
    """
    if instance.n_features > 2:
        scores, shares = principal_components(instance)
        first, second = (f"{100 * share:.1f}% of the variance" for share in shares)
        return scores, (f"First principal component ({first})", f"Second ({second})")
    origin = instance.origin
    named = [shortened(shown_path(name), LONGEST_LABEL) for name in origin.feature_names]
    points = origin.in_user_units(instance.points)
    if instance.n_features == 2:
        first, second = named or ("First feature", "Second feature")
        return points, (first, second)
    places = np.column_stack([points[:, 0], labels.astype(np.float64)])
    return places, (named[0] if named else "Feature", "Cluster")


def principal_components(instance: Instance) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first two principal components of the points, (n, 2), and their shares (2,).

    The shares are shares of the variance; 0 if all points coincide. Signs are chosen so that the
    coordinate of largest magnitude is positive in both.
    """
    centred = instance.centred
    unit = np.abs(centred).max() or 1.0  # no square over- or underflows
    left, values, _ = np.linalg.svd(centred / unit, full_matrices=False)
    scores, shares, rank = np.zeros((instance.n_points, 2)), np.zeros(2), min(2, len(values))
    scores[:, :rank] = unit * left[:, :rank] * values[:rank]
    extreme = np.take_along_axis(scores, np.abs(scores).argmax(axis=0)[None], axis=0)
    scores *= np.where(extreme < 0, -1.0, 1.0)
    shares[:rank] = values[:rank] ** 2 / ((values**2).sum() or 1.0)
    return scores, shares


def _plane_axes(
    instance: Instance, labels: NDArray[np.intp], ax: Axes | None
) -> tuple[Axes, NDArray[np.float64]]:
    """Return ax, or new axes, for the points in a plane, and their places (n, 2)."""
    (places, names), ax = plane_of(instance, labels), axes_or_new(ax, PLANE_SIZE)
    ax.set_xlabel(names[0], parse_math=False)
    ax.set_ylabel(names[1], parse_math=False)
    ax.margins(0.05)
    if instance.n_features == 1:
        ax.set_yticks(range(int(labels.max()) + 1))
    return ax, places


def _draw_pairs(
    pairs: NDArray[np.intp],
    name: str,
    style: Any,
    places: NDArray[np.float64],
    ax: Axes,
    is_wrong: bool = False,
) -> None:
    """Draw pairs (p, 2) of one kind; many pairs are fainter, violated pairs red."""
    from matplotlib.collections import LineCollection

    if not len(pairs):
        return
    drawn = pairs[:: -(-len(pairs) // MOST_PAIRS)]
    sample = f", {len(drawn):,} drawn" if len(drawn) < len(pairs) else ""
    alpha = float(np.clip(8.0 / np.sqrt(len(drawn)), 0.12, 0.6))
    look: dict[str, Any] = {"colors": INK, "linewidths": 0.9, "alpha": alpha, "zorder": 1.5}
    if is_wrong:
        look = {"colors": RED, "linewidths": 1.8, "zorder": 2.5}
    text = f"{name} ({len(pairs):,}{sample})"
    lines = LineCollection(list(places[drawn]), linestyles=[style], label=text, **look)
    ax.add_collection(lines)


def _draw_points(
    places: NDArray[np.float64], look: tuple[str, str], text: str, n: int, ax: Axes, **other: Any
) -> None:
    """Draw points of one colour and marker.

    text : label in the legend, or ""
    n : number of points in the picture; markers shrink as it grows
    other : arguments of `scatter` that differ from the usual ones
    """
    colour, marker = look
    usual: dict[str, Any] = {
        "s": float(np.clip(500.0 / np.sqrt(n), 4.0, 28.0)),
        "edgecolors": PAPER,
        "linewidths": 0.4 if n <= MOST_OUTLINED else 0.0,
        "zorder": 3,
        "rasterized": n > MOST_DRAWN_POINTS,
    }
    look_and_text: dict[str, Any] = {"c": colour, "marker": marker, "label": text or None}
    ax.scatter(places[:, 0], places[:, 1], **look_and_text, **usual | other)


# Curves extend to this multiple of the run's time. Otherwise a run that ends with its first bound
# has no visible curve.
LONGER = 1.05
# Bounds below this share of the best cost, and costs above this multiple, are not drawn.
LOW, HIGH = 0.5, 1.5
FOUND = "Best clustering found"


def plot_bounds(trace: Trace, ax: Axes | None = None) -> Axes:
    """Plot the incumbent's cost and the proven lower bound as steps over the seconds of the run.

    The gap between them is shaded; a dot marks each new incumbent. The last values extend a little
    beyond the end of the run. Bounds far below the best cost, and costs far above, are not drawn.

    Raises
    ------
    ParameterError
        If the trace has no points: the run ended before it had a bound.
    BackendUnavailable
        Without matplotlib.
    """
    if not trace.points:
        raise ParameterError("the run ended before it had bounds: there is nothing to draw")
    ax = axes_or_new(ax)
    rows = [(point.seconds, point.lower, point.upper) for point in trace.points]
    rows.append((LONGER * rows[-1][0] or 1.0, *rows[-1][1:]))
    seconds, lower, upper = np.array(rows).T
    is_new = np.append(True, upper[1:] < np.minimum.accumulate(upper)[:-1]) & np.isfinite(upper)
    best = upper.min()
    is_near = np.isfinite(lower) & ((lower >= LOW * best) | np.isinf(best))
    lower = np.where(is_near, lower, np.nan)
    upper = np.where(np.isfinite(upper) & (upper <= HIGH * best), upper, np.nan)
    shade: dict[str, Any] = {"step": "post", "color": BLUE, "alpha": 0.14, "linewidth": 0}
    ax.fill_between(seconds, lower, upper, label="Gap", **shade)
    for bound, colour, text in ((upper, RED, FOUND), (lower, BLUE, "Proven lower bound")):
        ax.step(seconds, bound, where="post", color=colour, linewidth=1.8, label=text)
    ax.plot(seconds[is_new], upper[is_new], "o", color=RED, markersize=4)
    ax.set_xlim(left=0.0)
    _finish_curves(ax, "Time (s)", "Sum of squares")
    return ax


def plot_sweep(rows: Sequence[Mapping[str, Any]], ax: Axes | None = None) -> Axes:
    """Plot the least cost at each number of clusters.

    A bar shows the proven interval, from the lower bound to the cost of the clustering found. It is
    invisible if they meet.

    rows : of `SweepReport.to_rows()`

    Raises
    ------
    ParameterError
        If no k has a clustering.
    BackendUnavailable
        Without matplotlib.
    """
    found = [row for row in rows if row["objective"] is not None]
    if not found:
        raise ParameterError("no k has a clustering: there is nothing to draw")
    ax = axes_or_new(ax)
    from matplotlib.ticker import MaxNLocator

    k = np.array([row["k"] for row in found])
    cost = np.array([row["objective"] for row in found], np.float64)
    bound = np.array([row["lower_bound"] or 0.0 for row in found], np.float64)
    ax.vlines(k, bound, cost, color=BLUE, linewidth=4.0, alpha=0.45, label="Proven interval")
    ax.plot(k, cost, "o-", color=RED, markersize=4.5, linewidth=1.4, label=FOUND)
    ax.set_ylim(bottom=0.0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    ax.set_xlim(k.min() - 0.5, k.max() + 0.5)
    _finish_curves(ax, "Number of clusters k", "Cost")
    return ax


def _finish_curves(ax: Axes, x: str, y: str) -> None:
    """Name the axes of curves; add horizontal lines behind them, and a legend."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.grid(axis="y", color=RULE, linewidth=0.8)
    ax.set_axisbelow(True)
    _add_legend(ax)
