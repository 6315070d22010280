"""The document of a run with its instance: question, clustering, proof, and how to repeat it."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterator
from textwrap import shorten

import numpy as np

from sdpbb.plots import plot_bounds, plot_tree
from sdpbb.plots.pages.clusters import clustering, conflict
from sdpbb.plots.pages.page import page
from sdpbb.plots.style import require_matplotlib
from sdpbb.problem import Instance
from sdpbb.runtime.document import Document, Facts, Part, Picture, Section, Table, Text
from sdpbb.runtime.files import FilePath, write_atomically
from sdpbb.runtime.results import plain
from sdpbb.runtime.values import amount, percent_up, rounded_down, seconds_text
from sdpbb.search.events import NodeEnd
from sdpbb.search.result import Result, relative_gap
from sdpbb.search.trace import Trace

# A larger tree is no picture any more.
MOST_NODES = 3_000


def html_report(
    instance: Instance, result: Result, trace: Trace | None = None, command: str = ""
) -> str:
    """Return a page on a run.

    It has question, clustering, proof, and what it takes to repeat the run. It refers to no other
    file, and has no script.

    Parameters
    ----------
    instance, result : what was solved, and what came of it
    trace : an observer of the run, for the bounds over time and the tree; None to leave them out
    command : what was typed to have it run

    Raises
    ------
    BackendUnavailable
        Without matplotlib.
    """
    require_matplotlib()
    return page(run_document(instance, result, trace), result.version, command)


def write_html_report(
    path: FilePath,
    instance: Instance,
    result: Result,
    trace: Trace | None = None,
    command: str = "",
) -> None:
    """Write `html_report` to a file, wholly or not at all.

    Raises
    ------
    BackendUnavailable
        Without matplotlib.
    OSError
        See `sdpbb.runtime.files.replacement`.
    """
    write_atomically(path, html_report(instance, result, trace, command))


def run_document(instance: Instance, result: Result, trace: Trace | None = None) -> Document:
    """Return the document of a result with sections on the instance and the run."""
    brief = result.document()
    parts = [*brief.parts, question(instance, result)]
    if result.infeasibility is not None:
        parts.append(conflict(instance, result))
    if result.partition is not None:
        parts.append(clustering(instance, result.partition))
    parts += [*proof(result, trace), reproduction(result)]
    return Document(brief.title, parts, instance.name)


def _preparation(instance: Instance) -> list[Part]:
    """Return the list of what was done to the data before they were clustered."""
    steps = [f"{step[:1].upper()}{step[1:]}." for step in instance.origin.preparation]
    if instance.weights is not None:
        least, most = instance.weights.min(), instance.weights.max()
        weights = f"Points have weights, {least:.4g} to {most:.4g}"
        steps.append(f"{weights}: squared distances count times these.")
    return [Text("What was done to the data:"), Text("\n".join(steps), "list")] if steps else []


def question(instance: Instance, result: Result) -> Section:
    """Return the section that says what was asked."""
    kept = ", and every constraint is satisfied" if instance.has_constraints else ""
    text = (
        f"Divide {amount(instance.n_points, 'point')} into exactly "
        f"{amount(instance.k, 'cluster')}, none of them empty, so that the squared Euclidean "
        f"distances of the points to the means of their clusters have the least sum{kept}."
    )
    facts = [
        ("Points", f"{instance.n_points:,} with {amount(instance.n_features, 'feature')}"),
        ("Clusters", f"{instance.k:,}"),
    ]
    for name, meaning, pairs in (
        ("Must-links", "two points that share a cluster", instance.must_link),
        ("Cannot-links", "two points that do not", instance.cannot_link),
    ):
        if len(pairs):
            facts.append((name, f"{len(pairs):,} ({meaning})"))
    if instance.stated_limits:
        facts.append(("Sizes of clusters", ", ".join(instance.stated_limits)))
    if instance.has_soft_constraints:
        soft = instance.soft_must_link, instance.soft_cannot_link
        together, apart = (
            amount(len(pairs), kind)
            for pairs, kind in zip(soft, ("must-link", "cannot-link"), strict=True)
        )
        facts.append(("Soft constraints", f"{together} and {apart}, each at its weight"))
    if instance.other_constraints:
        first = instance.other_constraints[:6]
        constraints = ", ".join(shorten(str(one), 80, placeholder=" ...") for one in first)
        more = len(instance.other_constraints) - 6
        facts.append(("On clusters", constraints + (f", and {more} more" if more > 0 else "")))
    if instance.origin.constraints_path:
        facts.append(("Constraints from", instance.origin.constraints_path))
    facts.append(("Proof wanted", f"to a relative gap of {result.gap_asked:g}"))
    return Section("What was asked", [*_preparation(instance), Text(text), Facts(facts)])


def proof(result: Result, trace: Trace | None) -> list[Section]:
    """Return the folded section of the course of a run: bounds, subsets, and its tree."""
    parts = list(_course(result, trace))
    folded = Section("Nodes and bounds", parts, folded=True)
    return [Section("How it was proven", [folded])] if parts else []


def _course(result: Result, trace: Trace | None) -> Iterator[Section]:
    """Yield the sections on the bounds over time, on the subsets, and on the tree."""
    if trace is None:
        return
    if len({(point.lower, point.upper) for point in trace.points}) > 1:
        first, last = trace.points[0], trace.points[-1]
        best = f"; the best clustering found costs {last.upper:.6g}"
        description = (
            f"The lower bound rises from {rounded_down(first.lower, 6)} to "
            f"{rounded_down(last.lower, 6)} in {seconds_text(last.seconds)}"
            f"{best if math.isfinite(last.upper) else ''}."
        )
        caption = "The optimum lies in the shaded part at any time. A dot is a better clustering."
        picture = Picture(description, caption, lambda: plot_bounds(trace))
        yield Section("Bounds over time", [picture])
    if trace.levels:
        yield _subsets(trace, result)
    if any(node.end is NodeEnd.BRANCHED for node in trace.nodes):
        yield _tree(trace)


def _subsets(trace: Trace, result: Result) -> Section:
    """Return the section of the levels of subsets, and of what each has proven."""
    text = (
        "The blocks (points that must link) were dealt out to subsets. The sum of the bounds of "
        "the subsets is a bound of the whole: the restriction of a clustering to a subset keeps "
        "the constraints among its points, and the parts of a cluster cost no more than the "
        "cluster. Each subset is the union of smaller ones, and its bound is its own or "
        "the sum of theirs, whichever is larger. Constraints between subsets are dropped, and what "
        "is paid for soft ones is left out: the sum is still a bound."
    )
    n_lost = result.statistics.n_lost_subsets
    if n_lost:
        text += (
            f" {amount(n_lost, 'subset')}, of which two workers crashed, "
            f"{'was' if n_lost == 1 else 'were'} abandoned with the bound known by then."
        )
    upper = math.inf if result.objective is None else result.objective
    heading = ["Subsets", "Blocks of the largest", "Bounded"]
    rows = [
        [
            f"{level.n_subsets:,}",
            f"{level.n_blocks:,}",
            f"{level.n_bounded:,}",
            seconds_text(level.ended - level.began),
            rounded_down(level.lower, 10),
            percent_up(relative_gap(level.lower, upper)),
        ]
        for level in trace.levels
    ]
    note = "The gap is that to the best clustering of the run."
    levels = Table([*heading, "Time", "Lower bound after it", "Gap"], rows, "Levels of subsets")
    return Section("Subsets", [Text(text), levels, Text(note, "note")])


def _tree(trace: Trace) -> Section:
    counts = [(end, sum(node.end is end for node in trace.nodes)) for end in NodeEnd]
    told = ", ".join(f"{n:,} {end.value}" for end, n in counts if n)
    text = (
        "Where the bound of a node left a gap, two points were chosen, and the node was replaced "
        "by two: in one they share a cluster, in the other they do not. The proof is complete "
        f"when no node is open. {amount(len(trace.nodes), 'node')}: {told}."
    )
    if len(trace.nodes) > MOST_NODES:
        return Section("Branching", [Text(f"{text} They are too many to be drawn.")])
    caption = "A full line leads to a must-link, a dashed one to a cannot-link."
    description = f"The tree of {told} nodes."
    picture = Picture(description, caption, lambda: plot_tree(trace))
    return Section("Branching", [Text(text), picture])


def reproduction(result: Result) -> Section:
    """Return the section that says how to repeat the run."""
    facts = [
        ("sdpbb", result.version or "unknown"),
        ("Python", f"{platform.python_version()}, NumPy {np.__version__}, {platform.machine()}"),
    ]
    parts: list[Part] = [Facts(facts)]
    if result.parameters:
        listing = Text(json.dumps(plain(result.parameters), indent=2), "verbatim")
        parts.append(Section("All parameters (null: no limit)", [listing], folded=True))
    return Section("How to do it again", parts)
