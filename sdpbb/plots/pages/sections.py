"""Sections of the page on the question, the verdict, the proof and the course of the run."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import numpy as np

from sdpbb.plots import plot_bounds, plot_tree
from sdpbb.plots.pages.drawings import inline_svg
from sdpbb.problem import Instance
from sdpbb.run.report import stopped_by
from sdpbb.runtime.markup import (
    Markup,
    bullets,
    definitions,
    details,
    element,
    figure,
    paragraph,
    section,
    subsection,
    table,
)
from sdpbb.runtime.values import finite_or_none, percent_up, rounded_down
from sdpbb.search.events import NodeEnd
from sdpbb.search.result import Result, SolutionStatus, Termination, relative_gap
from sdpbb.search.traces.trace import Trace

VERDICTS = {
    SolutionStatus.OPTIMAL: "Proven optimal",
    SolutionStatus.FEASIBLE: "Not proven optimal",
    SolutionStatus.INFEASIBLE: "Proven infeasible",
    SolutionStatus.UNKNOWN: "Nothing found, nothing ruled out",
}


@dataclass(frozen=True)
class ReportedRun:
    """Run that has ended, with its instance and its trace.

    trace : what the run did; None if nobody watched
    command : what was typed; "" for a run from Python
    """

    instance: Instance
    result: Result
    trace: Trace | None
    command: str


def verdict(result: Result) -> str:
    """Return the verdict in a few words."""
    return VERDICTS[result.status]


def explanation(run: ReportedRun) -> str:
    """Return one or two sentences: what the verdict means, and no more than has been proven."""
    result, is_constrained = run.result, run.instance.has_constraints
    gap = f"{gap_text(result)} of its {result.cost_name}"
    bound = _bound(run)
    match result.status:
        case SolutionStatus.OPTIMAL if is_constrained:
            return (
                "The clustering keeps every constraint, and none that does is better by more than "
                f"{gap}: {bound}."
            )
        case SolutionStatus.OPTIMAL:
            return f"No other clustering is better by more than {gap}: {bound}."
        case SolutionStatus.FEASIBLE:
            keeps = "The clustering keeps every constraint, but one" if is_constrained else "One"
            return (
                f"The run was stopped by {_stopped_by(result)}. {keeps} that is better, by at most "
                f"{gap}, may exist: {bound}."
            )
        case SolutionStatus.INFEASIBLE:
            return "No clustering keeps all of the constraints."
        case SolutionStatus.UNKNOWN:
            return (
                f"The run was stopped by {_stopped_by(result)} before it had a clustering, or a "
                f"proof that there is none. If there is one, {bound}."
            )


def _bound(run: ReportedRun) -> str:
    """Return what the lower bound says; "" without one."""
    result = run.result
    if result.lower_bound is None:
        return ""
    that = " that keeps the constraints" if run.instance.has_constraints else ""
    bound = rounded_down(result.lower_bound, 12)
    return f"no clustering{that} has a {result.cost_name} below {bound}"


def gap_text(result: Result) -> str:
    """Return the gap in per cent, rounded up: no more is said than is proven."""
    return percent_up(result.gap)


def _stopped_by(result: Result) -> str:
    return stopped_by(result.termination).rstrip(",")


def amount(number: int, thing: str) -> str:
    """Return "1 node", "2 nodes" or "1,000 nodes"."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


# A larger tree is no picture any more.
MOST_NODES = 3_000


def opening(run: ReportedRun) -> Markup:
    """Return the section of the name, the verdict and the figures."""
    result = run.result
    strong = element("strong", verdict(result))
    return Markup.joined(
        [
            paragraph("Minimum sum-of-squares clustering", class_="kicker"),
            element("h1", run.instance.name or "Unnamed instance"),
            element(
                "div",
                Markup.joined([paragraph(strong), paragraph(explanation(run))]),
                class_=f"verdict {result.status.value}",
            ),
            _tiles(result),
        ]
    )


def _tiles(result: Result) -> Markup:
    values = []
    if result.objective is not None:
        values.append((result.cost_name.capitalize(), f"{result.objective:.10g}"))
    if result.soft is not None:
        values.append(("Sum of squares", f"{result.soft.sum_of_squares:.10g}"))
        values.append(("Violated soft constraints", f"{result.soft.penalty:.10g}"))
    if result.gap is not None:
        values.append(("Gap", gap_text(result)))
    if result.partition is not None:
        values.append(("Clusters", f"{result.partition.n_clusters:,}"))
    return tiles([*values, ("Time", seconds_text(result.statistics.wall_seconds))])


def tiles(values: Iterable[tuple[str, str]]) -> Markup:
    """Return figures side by side, each under its name."""
    each = (
        element("div", Markup.joined([element("dt", name), element("dd", value)]))
        for name, value in values
    )
    return element("dl", Markup.joined(each), class_="tiles")


def _preparation(instance: Instance) -> list[Markup]:
    """Return the list of what was done to the data before they were clustered."""
    steps = [f"{step[:1].upper()}{step[1:]}." for step in instance.origin.preparation]
    if instance.weights is not None:
        least, most = instance.weights.min(), instance.weights.max()
        weights = f"Points have weights, {least:.4g} to {most:.4g}"
        steps.append(f"{weights}: squared distances count times these.")
    return [paragraph("What was done to the data:"), bullets(steps)] if steps else []


def question(run: ReportedRun) -> Markup:
    """Return the section that says what was asked."""
    instance, result = run.instance, run.result
    kept = ", and every constraint is kept" if instance.has_constraints else ""
    text = (
        f"Divide {amount(instance.n_points, 'point')} into exactly "
        f"{amount(instance.k, 'cluster')}, none of them empty, so that the squared Euclidean "
        f"distances of the points to the means of their clusters have the least sum{kept}."
    )
    facts: list[tuple[str, str | Markup]] = [
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
        if result.soft is not None:
            facts.append(("Violated", str(result.soft)))
    if instance.other_constraints:
        first = instance.other_constraints[:6]
        constraints = ", ".join(shorten(str(one), 80, placeholder=" ...") for one in first)
        more = len(instance.other_constraints) - 6
        facts.append(("On clusters", constraints + (f", and {more} more" if more > 0 else "")))
    if instance.origin.constraints_path:
        facts.append(("Constraints from", instance.origin.constraints_path))
    facts.append(("Proof wanted", f"to a relative gap of {result.gap_asked:g}"))
    facts += [(name, value) for name, value in _limits(result)]
    return section("What was asked", *_preparation(instance), paragraph(text), definitions(facts))


def _limits(result: Result) -> Iterator[tuple[str, str]]:
    asked = result.parameters
    for key, name, unit in (
        ("time_limit", "Time limit", " s"),
        ("node_limit", "Node limit", " nodes"),
        ("memory_limit", "Memory limit", " MiB"),
    ):
        value = asked.get(key)
        if value is not None and math.isfinite(value):
            yield name, f"{value:,g}{unit}"


def proof(run: ReportedRun) -> Markup:
    """Return the folded section of what the engine did: bounds, nodes, subsets, and its tree."""
    result, statistics = run.result, run.result.statistics
    facts: list[tuple[str, str | Markup]] = []
    if result.lower_bound is not None:
        facts.append(("Proven lower bound", rounded_down(result.lower_bound, 10)))
    if statistics.n_subsets:
        facts.append(("Subsets", f"{statistics.n_subsets:,}"))
    facts.append(("Nodes", f"{statistics.n_nodes:,}"))
    if statistics.root_seconds is not None:
        facts.append(("Root", f"left after {seconds_text(statistics.root_seconds)}"))
    parts = [definitions(facts), *_course(run)]
    return section("How it was proven", details("Nodes and bounds", Markup.joined(parts)))


def _course(run: ReportedRun) -> list[Markup]:
    """Return the parts on the bounds over time, on the subsets, and on the tree."""
    trace = run.trace
    if trace is None:
        return []
    parts = []
    if len({(point.lower, point.upper) for point in trace.points}) > 1:
        first, last = trace.points[0], trace.points[-1]
        description = (
            f"The lower bound rises from {rounded_down(first.lower, 6)} to "
            f"{rounded_down(last.lower, 6)} in {seconds_text(last.seconds)}"
            + (f"; the best clustering found costs {last.upper:.6g}." if _known(last) else ".")
        )
        drawn = inline_svg(plot_bounds(trace), "bounds", description)
        caption = "The optimum lies in the shaded part at any time. A dot is a better clustering."
        parts.append(subsection("Bounds over time", figure(drawn, caption)))
    if trace.levels:
        parts.append(_subsets(trace, run.result))
    if any(node.end is NodeEnd.BRANCHED for node in trace.nodes):
        parts.append(_tree(trace))
    return parts


def _known(point: Any) -> bool:
    return math.isfinite(point.upper)


def _subsets(trace: Trace, result: Result) -> Markup:
    """Return the section of the levels of subsets, and of what each has proven."""
    text = (
        "The blocks (points that must link) were dealt out to subsets. The sum of the bounds of "
        "the subsets is a bound of the whole: the restriction of a clustering to a subset keeps "
        "the constraints among its points, and the parts of a cluster cost no more than the "
        "cluster. Each subset is the union of smaller ones, and its bound is its own or "
        "the sum of theirs, whichever is larger."
    )
    if any(level.n_dropped for level in trace.levels):
        text += " Cannot-links between subsets are dropped: the sum is still a bound."
    if result.soft is not None:
        text += " So are soft constraints between subsets: what is paid for them is left out."
    n_lost = result.statistics.n_lost_subsets
    if n_lost:
        text += (
            f" {amount(n_lost, 'subset')}, of which two workers crashed, "
            f"{'was' if n_lost == 1 else 'were'} given up with the bound known by then."
        )
    upper = math.inf if result.objective is None else result.objective
    heading = ["Subsets", "Blocks of the largest", "Cannot-links dropped", "Bounded"]
    rows = [
        [
            f"{level.n_subsets:,}",
            f"{level.n_blocks:,}",
            f"{level.n_dropped:,}",
            f"{level.n_bounded:,}",
            seconds_text(level.ended - level.began),
            rounded_down(level.lower, 10),
            percent_up(relative_gap(level.lower, upper)),
        ]
        for level in trace.levels
    ]
    note = "The gap is that to the best clustering of the run."
    levels = table("Levels of subsets", [*heading, "Time", "Lower bound after it", "Gap"], rows)
    return subsection("Subsets", paragraph(text), levels, paragraph(note, class_="note"))


def _tree(trace: Trace) -> Markup:
    counts = [(end, sum(node.end is end for node in trace.nodes)) for end in NodeEnd]
    told = ", ".join(f"{n:,} {end.value}" for end, n in counts if n)
    text = (
        "Where the bound of a node left a gap, two points were chosen, and the node was replaced "
        "by two: in one they share a cluster, in the other they do not. The proof is complete "
        f"when no node is open. {amount(len(trace.nodes), 'node')}: {told}."
    )
    if len(trace.nodes) > MOST_NODES:
        return subsection("Branching", paragraph(f"{text} They are too many to be drawn."))
    drawn = inline_svg(plot_tree(trace), "tree", f"The tree of {told} nodes.")
    caption = "A full line leads to a must-link, a dashed one to a cannot-link."
    return subsection("Branching", paragraph(text), figure(drawn, caption))


def reproduction(run: ReportedRun) -> Markup:
    """Return the section that says how to repeat the run."""
    result, parameters = run.result, run.result.parameters
    parts = []
    if run.command:
        parts.append(element("pre", element("code", run.command)))
    facts: list[tuple[str, str | Markup]] = [
        ("sdpbb", result.version or "unknown"),
        ("Python", f"{platform.python_version()}, NumPy {np.__version__}, {platform.machine()}"),
    ]
    for key, name in (("seed", "Seed"), ("workers", "Workers"), ("bounding", "Bounds from")):
        if parameters.get(key) is not None:
            facts.append((name, str(parameters[key])))
    facts += [("Note", note) for note in result.notes]
    parts.append(definitions(facts))
    if parameters.get("workers") != 1 and result.termination is Termination.GAP_CLOSED:
        parts.append(
            paragraph(
                "With several workers the course of a run differs from time to time; what it "
                "proves does not."
            )
        )
    if parameters:
        listing = element("pre", json.dumps(finite_or_none(parameters), indent=2))
        parts.append(details("All parameters (null stands for no limit)", listing))
    return section("How to do it again", *parts)


def seconds_text(seconds: float) -> str:
    """Return a time in the units that suit it."""
    if seconds < 120:
        return f"{seconds:.2f} s"
    minutes = seconds / 60
    return f"{minutes:.1f} min" if minutes < 120 else f"{minutes / 60:.1f} h"
