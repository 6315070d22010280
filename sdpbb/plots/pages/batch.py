"""Page on a batch: what is proven of how many instances, and of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sdpbb.plots import SolvedRuns, plot_profile
from sdpbb.plots.pages.drawings import inline_svg
from sdpbb.plots.pages.page import page
from sdpbb.plots.pages.sections import seconds_text, tiles
from sdpbb.plots.style import require_matplotlib
from sdpbb.runtime.markup import Markup, element, figure, paragraph, section, table
from sdpbb.runtime.values import percent_up, rounded_down, shortened

# Rows of the table; letters of a name and of a message.
MOST_ROWS, LONGEST, LONGEST_MESSAGE = 2_000, 60, 120
SOLVED = ("optimal", "infeasible")
STOPPED = ("feasible", "unknown")
Row = Mapping[str, Any]


def batch_report(rows: Sequence[Row], n_jobs: int, seconds: float, version: str) -> str:
    """Return a page on a batch.

    rows : of `BatchResult.to_dict()`; n_jobs : with those that have no row

    Raises
    ------
    BackendUnavailable
        Without matplotlib.
    """
    require_matplotlib()
    solved = [row for row in rows if row["status"] in SOLVED]
    stopped = [row for row in rows if row["status"] in STOPPED]
    failed = [row for row in rows if row["status"] not in (*SOLVED, *STOPPED)]
    missing = n_jobs - len(rows)
    parts = [_opening(n_jobs, len(solved), len(stopped), len(failed), missing, seconds)]
    times = [row["wall_seconds"] for row in solved if row["wall_seconds"] is not None]
    if times:
        ax = plot_profile([SolvedRuns("this batch", tuple(times), n_jobs)])
        description = (
            f"{len(times)} of {n_jobs} instances were solved, the last one in {max(times):.3g} s."
        )
        drawn = inline_svg(ax, "profile", description)
        caption = "Solved is what is proven: the optimum, or that there is no clustering."
        parts.append(section("Over time", figure(drawn, caption)))
    for heading, chosen in (
        ("Failed", failed),
        ("Stopped at a limit", stopped),
        ("Proven", solved),
    ):
        if chosen:
            shown = _failures(chosen) if chosen is failed else _table(heading, chosen)
            parts.append(section(heading, shown))
    return page(f"Batch of {n_jobs} instances", parts, version)


def _opening(
    n_jobs: int, n_solved: int, n_stopped: int, n_failed: int, missing: int, seconds: float
) -> Markup:
    all_proven = n_solved == n_jobs
    verdict = "All are proven" if all_proven else f"{n_solved:,} of {n_jobs:,} are proven"
    text = "Each is optimal within the gap asked for, or has no clustering, as is proven."
    if not all_proven:
        others = [
            *([f"{n_stopped:,} stopped at a limit"] if n_stopped else []),
            *([f"{n_failed:,} failed"] if n_failed else []),
            *([f"{missing:,} not done yet"] if missing else []),
        ]
        text = f"Of the others, {', '.join(others)}: see below."
    kind = "optimal" if all_proven else "infeasible" if n_failed else "feasible"
    strong = element("strong", verdict)
    counts = [
        ("Instances", f"{n_jobs:,}"),
        ("Proven", f"{n_solved:,}"),
        ("Stopped", f"{n_stopped:,}"),
        ("Failed", f"{n_failed:,}"),
        *([("Not done", f"{missing:,}")] if missing else []),
        ("Time", seconds_text(seconds)),
    ]
    return Markup.joined(
        [
            paragraph("Minimum sum-of-squares clustering", class_="kicker"),
            element("h1", "A batch of instances"),
            element(
                "div",
                Markup.joined([paragraph(strong), paragraph(text)]),
                class_=f"verdict {kind}",
            ),
            tiles(counts),
        ]
    )


def _table(caption: str, rows: Sequence[Row]) -> Markup:
    heading = [
        "Instance",
        "Points",
        "k",
        "Status",
        "Cost",
        "Proven at least",
        "Gap",
        "Time",
        "Message",
    ]
    lines = [
        [
            shortened(row["name"], LONGEST),
            _number(row["n_points"]),
            _number(row["k"]),
            row["status"].replace("_", " "),
            "" if row["objective"] is None else f"{row['objective']:.10g}",
            "" if row["lower_bound"] is None else rounded_down(row["lower_bound"], 10),
            "" if row["gap"] is None else percent_up(row["gap"]),
            "" if row["wall_seconds"] is None else seconds_text(row["wall_seconds"]),
            shortened(row["message"], LONGEST_MESSAGE),
        ]
        for row in rows[:MOST_ROWS]
    ]
    return _with_rest(table(caption, heading, lines), len(rows) - len(lines))


def _failures(rows: Sequence[Row]) -> Markup:
    """Return the table of runs without an answer, which have no figures to tell."""
    lines = [
        [
            shortened(row["name"], LONGEST),
            row["status"].replace("_", " "),
            shortened(row["message"], LONGEST_MESSAGE),
        ]
        for row in rows[:MOST_ROWS]
    ]
    shown = table("Failed", ["Instance", "Status", "Message"], lines)
    return _with_rest(shown, len(rows) - len(lines))


def _with_rest(shown: Markup, more: int) -> Markup:
    """Return a table, and how many rows are left out of it."""
    if not more:
        return shown
    return Markup.joined([shown, paragraph(f"{more:,} more are left out.", class_="note")])


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
