"""Page on a sweep over the number of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdpbb.plots.pages.drawings import inline_svg
from sdpbb.plots.pages.page import page
from sdpbb.plots.pages.sections import seconds_text, tiles
from sdpbb.plots.style import require_matplotlib
from sdpbb.plots.sweep import plot_sweep
from sdpbb.runtime.markup import Markup, element, figure, paragraph, section, table
from sdpbb.runtime.values import percent_up, rounded_down

# Sizes of clusters that a row lists.
MOST_SIZES = 12
PROVEN = ("optimal", "infeasible")


def sweep_report(
    rows: Sequence[Mapping[str, Any]],
    name: str,
    note: str,
    version: str,
    command: str = "",
    left: Sequence[int] = (),
) -> str:
    """Return a page on a sweep.

    rows : of `SweepReport.to_rows()`; note : what its intervals say; left : the k not begun

    Raises
    ------
    BackendUnavailable
        Without matplotlib.
    """
    require_matplotlib()
    n_proven = sum(row["status"] in PROVEN for row in rows)
    n = len(rows) + len(left)
    strong = element(
        "strong", "Every k is proven" if n_proven == n else f"{n_proven} of {n} k are proven"
    )
    seconds = sum(row["wall_seconds"] or 0.0 for row in rows)
    parts = [
        Markup.joined(
            [
                paragraph("Minimum sum-of-squares clustering", class_="kicker"),
                element("h1", f"{name or 'Unnamed instance'}: numbers of clusters"),
                element(
                    "div",
                    Markup.joined([paragraph(strong), paragraph(note)]),
                    class_=f"verdict {'optimal' if n_proven == n else 'feasible'}",
                ),
                tiles(
                    [
                        ("Numbers of clusters", f"{n:,}"),
                        ("Proven", f"{n_proven:,}"),
                        ("Time of all runs", seconds_text(seconds)),
                    ]
                ),
            ]
        )
    ]
    costs = [
        f"{row['objective']:.6g} at k = {row['k']}" for row in rows if row["objective"] is not None
    ]
    if costs:
        description = f"Costs by number of clusters: {', '.join(costs)}."
        drawn = inline_svg(plot_sweep(rows), "sweep", description)
        caption = (
            "Bars are the intervals that are proven to hold the least cost; they are hardly seen "
            "where bound and cost meet."
        )
        parts.append(section("Costs and measures", figure(drawn, caption)))
    parts.append(section("Each number of clusters", *_tables(rows, left)))
    if command:
        parts.append(section("How to do it again", element("pre", element("code", command))))
    return page(f"{name or 'unnamed'}: numbers of clusters", parts, version)


def _tables(rows: Sequence[Mapping[str, Any]], left: Sequence[int]) -> list[Markup]:
    heading = [
        "k",
        "Status",
        "Cost",
        "Proven at least",
        "Gap",
        "Decrease",
        "Silhouette",
        "ARI to prev",
    ]
    lines = [
        [
            str(row["k"]),
            row["status"],
            *(_plain(row["objective"], "{:.10g}"), _bound(row["lower_bound"])),
            "" if row["gap"] is None else percent_up(row["gap"]),
            *(_plain(row["decrease"], "{:.6g}"), _plain(row["silhouette"], "{:.3f}")),
            _plain(row["agreement"], "{:.3f}"),
        ]
        for row in rows
    ]
    sizes = [[str(row["k"]), _sizes(row["sizes"]) or row["message"]] for row in rows]
    text = (
        "Decrease and adjusted Rand index (ARI) compare with the previous k: an ARI of 1 means "
        "the same clusters. The silhouette is near 1 if clusters are far apart."
    )
    parts = [
        table("Costs", heading, lines),
        paragraph(text, class_="note"),
        table("Sizes of clusters", ["k", "Points of the clusters"], sizes),
    ]
    if left:
        parts.append(paragraph(f"Not begun: k = {', '.join(map(str, left))}."))
    return parts


def _plain(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


def _bound(value: float | None) -> str:
    return "" if value is None else rounded_down(value, 10)


def _sizes(text: str) -> str:
    sizes = text.split()
    more = len(sizes) - MOST_SIZES
    return ", ".join(sizes[:MOST_SIZES]) + (f", and {more} more" if more > 0 else "")
