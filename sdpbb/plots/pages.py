"""Pages of HTML, which need no other file: of any document, and of a run with its instance.

The page of a run says what was asked, what is proven and what it took, and shows the clustering,
and the bounds. Pictures are SVG within the page.
"""

from __future__ import annotations

import base64
import json
import math
import platform
from collections import Counter
from collections.abc import Iterator
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from heuristics.measures import silhouettes
from sdpbb.plots import plot_bounds, plot_clusters
from sdpbb.plots.pictures import require_matplotlib, svg
from sdpbb.problem import Instance, Partition
from sdpbb.problem.coordinates import members_of, sum_of_squares
from sdpbb.problem.formats import labels_file
from sdpbb.runtime.document import (
    Document,
    Download,
    Facts,
    Part,
    Picture,
    Section,
    Table,
    Text,
    element,
    fragment,
    html,
)
from sdpbb.runtime.files import FilePath, write_atomically
from sdpbb.runtime.results import plain
from sdpbb.runtime.values import amount, rounded_down, seconds_text, shortened
from sdpbb.runtime.version import installed_version
from sdpbb.search.events import NodeEnd
from sdpbb.search.result import Result
from sdpbb.search.trace import Trace

# Maximum clusters with a row, features with means, and named members of a cluster.
MOST_CLUSTERS, MOST_FEATURES, MOST_MEMBERS = 500, 100, 500
# Maximum points for silhouettes, and for a file of labels within the page: about a megabyte.
MOST_SILHOUETTES, MOST_LABELS = 5_000, 50_000
LONGEST = 60  # letters of a name

NOTE = (
    "Clusters are numbered by their first point, as in the labels. The RMS distance is the root of "
    "the mean squared distance of a cluster's points to its mean. The silhouette, between -1 and "
    "1, is near 1 where a cluster's points are far from the next cluster."
)
BRANCHING = (
    "A node whose bound left a gap was replaced by two: in one, two chosen points share a cluster, "
    "in the other they do not. The proof is complete once no node is open. {}: {}."
)
CSS = """
:root {
  color-scheme: light dark;
  --ink: #1b2430; --soft: #566270; --rule: #d9dee4; --paper: #fefefe; --panel: #f3f5f8;
  --good: #00694c; --fair: #8a5a00; --bad: #a83a00;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ink: #e6eaef; --soft: #a9b4c0; --rule: #38424d; --paper: #14191f; --panel: #1d242c;
    --good: #4fd0a8; --fair: #f0b64a; --bad: #ff8f57;
  }
  img { filter: invert(1) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 58rem;
  background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif;
}
h1, td, .text, details p { overflow-wrap: anywhere; }
h2 { margin-top: 2.6rem; padding-top: .9rem; border-top: 1px solid var(--rule); }
.kicker, .note, caption, figcaption, summary, footer, .facts th { color: var(--soft); }
.verdict { padding: .2rem 1.1rem; background: var(--panel); border-left: .35rem solid; }
.verdict strong { font-size: 1.15rem; }
.good { border-color: var(--good); }
.fair { border-color: var(--fair); }
.bad { border-color: var(--bad); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; }
th, td { padding: .28rem 1.1rem .28rem 0; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; vertical-align: top; }
.facts th { font-weight: 400; }
.numbers td, .numbers thead th:not(:first-child) { text-align: right; }
.numbers .long { min-width: 10rem; }
.numbers td:not(.long) { white-space: nowrap; }
figure { margin: 1rem 0; }
img { max-width: 100%; height: auto; }
pre { background: var(--panel); padding: .8rem 1rem; white-space: pre-wrap; }
footer { margin-top: 3rem; }
@media print {
  figure, table, .verdict { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""


def page(document: Document, version: str = "", command: str = "") -> str:
    """Return a page of a document.

    It refers to no other file, and has no script.

    version : of the program that made the result; "" for this one
    command : what was typed for it; "" for a result from Python

    Raises
    ------
    BackendUnavailable
        Without matplotlib.
    """
    require_matplotlib()
    name = document.name or "Unnamed instance"
    parts = [*document.parts]
    if command:
        parts.append(Section("The command", [Text(command, "verbatim")]))
    heading = element("p", document.title, class_="kicker"), element("h1", name)
    main = element("main", *heading, *(fragment(part, drawn) for part in parts))
    footer = element("footer", f"Written by sdpbb {version or installed_version()}.")
    title = element("title", f"{document.name or 'unnamed'}: {document.title}")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{html(title)}\n<style>{CSS}</style>\n</head>\n"
        f"<body>\n{html(main)}\n{html(footer)}\n</body>\n</html>\n"
    )


def drawn(picture: Picture) -> Element:
    """Return the figure of a picture, as an image that can be saved."""
    source = base64.b64encode(svg(picture.draw())).decode("ascii")
    link = f"data:image/svg+xml;base64,{source}"
    image = element("img", src=link, alt=picture.description)
    caption = element("figcaption", picture.caption)
    return element("figure", element("div", image, class_="scroll"), caption)


def write_html_report(
    path: FilePath,
    instance: Instance,
    result: Result,
    trace: Trace | None = None,
    command: str = "",
) -> None:
    """Write a page on a run to a file, wholly or not at all.

    It has the question, the clustering, the proof, and all that is needed to repeat the run. It is
    one file without scripts.

    Parameters
    ----------
    instance, result : the instance and its result
    trace : observer of the run, for the bounds over time and the nodes; None: without them
    command : command line of the run

    Raises
    ------
    BackendUnavailable
        Without matplotlib.
    OSError
        See `sdpbb.runtime.files.replacement`.
    """
    require_matplotlib()
    write_atomically(path, page(run_document(instance, result, trace), result.version, command))


def run_document(instance: Instance, result: Result, trace: Trace | None = None) -> Document:
    """Return the document of a result with sections on the instance and the run."""
    brief = result.document()
    parts = [*brief.parts, question(instance, result)]
    if result.partition is not None:
        parts.append(clustering(instance, result.partition))
    return Document(brief.title, [*parts, *course(result, trace)], instance.name)


def question(instance: Instance, result: Result) -> Section:
    """Return the section on the question, with the preparation of the data."""
    parts: list[Part] = []
    steps = [f"{step[:1].upper()}{step[1:]}." for step in instance.origin.preparation]
    if instance.weights is not None:
        least, most = instance.weights.min(), instance.weights.max()
        weights = f"Points have weights, {least:.4g} to {most:.4g}"
        steps.append(f"{weights}: squared distances count times these.")
    if steps:
        parts += [Text("What was done to the data:"), Text("\n".join(steps), "list")]
    kept = ", and every constraint is satisfied" if instance.has_constraints else ""
    text = (
        f"Divide {amount(instance.n_points, 'point')} into exactly "
        f"{amount(instance.k, 'cluster')}, none of them empty, so that the squared Euclidean "
        f"distances of the points to the means of their clusters have the least sum{kept}."
    )
    path, wanted = instance.origin.constraints_path, f"to a relative gap of {result.gap_asked:g}"
    facts = [("Constraints from", path)] if path else []
    facts.append(("Proof wanted", wanted))
    parts += [Text(text), *instance.document().parts, Facts(facts)]
    return Section("What was asked", parts)


def clustering(
    instance: Instance, partition: Partition, heading: str = "The clustering"
) -> Section:
    """Return the section of the clusters: constraints, table, picture and members."""
    n_violated = sum(len(violated) for violated in partition.violations(instance))
    n_pairs = len(instance.must_link) + len(instance.cannot_link)
    parts: list[Part] = []
    if n_violated:
        violated = f"{n_violated:,} of {n_pairs:,} are violated"
        parts.append(Text(f"Of the constraints on pairs, {violated}."))
    elif n_pairs:
        parts.append(Text(f"All constraints on pairs are satisfied ({n_pairs:,})."))
    points = amount(instance.n_points, "point")
    description = f"{points} in {amount(partition.n_clusters, 'cluster')} on a plane."
    caption = "Must-links are full lines, cannot-links dashed ones. " if n_pairs else ""
    if instance.n_features > 2:
        caption += (
            f"The {instance.n_features:,} features are projected onto the two directions of "
            "largest variance; clusters that seem to overlap may be apart in the others."
        )
    picture = Picture(description, caption, lambda: plot_clusters(instance, partition))
    table, note = _cluster_table(instance, partition), Text(NOTE, "note")
    parts += [table, note, picture, members(instance, partition)]
    if instance.n_points <= MOST_LABELS:
        parts.append(Download("clusters.csv", labels_file(partition.labels, instance.origin)))
    return Section(heading, parts)


def _cluster_table(instance: Instance, partition: Partition) -> Table:
    """Return sizes, scatter, silhouettes and means of the clusters, in the user's units."""
    labels, origin = partition.labels, instance.origin
    costs = within(instance, partition)
    spread = np.sqrt(costs / np.bincount(labels, instance.weights))
    means = origin.in_user_units(partition.means(instance.points, instance.weights))
    d, each = instance.n_features, None
    if instance.n_points <= MOST_SILHOUETTES:
        each = silhouettes(instance.points, labels)
    names = origin.feature_names or tuple(f"feature {j}" for j in range(1, d + 1))
    headings = [f"Mean {shortened(name, LONGEST)}" for name in names[:MOST_FEATURES]]
    rows = [
        [
            str(cluster),
            f"{np.count_nonzero(labels == cluster):,}",
            f"{costs[cluster]:.6g}",
            f"{spread[cluster]:.4g}",
            "" if each is None else f"{each[labels == cluster].mean():.3f}",
            *(f"{value:.5g}" for value in means[cluster, :MOST_FEATURES]),
        ]
        for cluster in range(partition.n_clusters)[:MOST_CLUSTERS]
    ]
    caption = "The clusters"
    if d > MOST_FEATURES:
        caption += f", with the means of {MOST_FEATURES} of {d:,} features"
    columns = ["Cluster", "Points", "Within sum of squares", "RMS distance", "Silhouette"]
    return Table([*columns, *headings], rows, caption, partition.n_clusters - len(rows))


def within(instance: Instance, partition: Partition) -> NDArray[np.float64]:
    """Return the sums of squares inside the clusters, (k,), weighted if points are."""
    points, weights = instance.points, instance.weights
    costs = [
        sum_of_squares(points[members], None if weights is None else weights[members])
        for members in members_of(partition.labels)
    ]
    return np.array(costs)


def members(instance: Instance, partition: Partition) -> Section:
    """Return the members of each cluster by name, folded away."""
    rows = []
    for cluster, found in enumerate(members_of(partition.labels)[:MOST_CLUSTERS]):
        named = (shortened(instance.origin.row(i), LONGEST) for i in found[:MOST_MEMBERS].tolist())
        more = len(found) - MOST_MEMBERS
        text = ", ".join(named) + (f", and {more:,} more" if more > 0 else "")
        rows.append((f"Cluster {cluster}: {amount(len(found), 'point')}", text))
    return Section("Members", [Facts(rows)], folded=True)


def course(result: Result, trace: Trace | None) -> list[Part]:
    """Return the sections on the bounds over time and the nodes, and on how to repeat."""
    folded = [] if trace is None else [*_course(trace)]
    facts = [
        ("sdpbb", result.version or "unknown"),
        ("Python", f"{platform.python_version()}, NumPy {np.__version__}, {platform.machine()}"),
    ]
    again: list[Part] = [Facts(facts)]
    if result.parameters:
        listing = Text(json.dumps(plain(result.parameters), indent=2), "verbatim")
        again.append(Section("All parameters (null: no limit)", [listing], folded=True))
    inner = Section("Nodes and bounds", folded, folded=True)
    proven = [Section("How it was proven", [inner])] if folded else []
    return [*proven, Section("How to do it again", again)]


def _course(trace: Trace) -> Iterator[Part]:
    """Yield the bounds over time, if there are several, and the numbers of nodes by their end."""
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
    counts = Counter(node.end for node in trace.nodes)
    if counts[NodeEnd.BRANCHED]:
        told = ", ".join(f"{counts[end]:,} {end.value}" for end in NodeEnd if counts[end])
        yield Text(BRANCHING.format(amount(len(trace.nodes), "node"), told))
