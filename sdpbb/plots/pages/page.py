"""Page of a run, and its file."""

from __future__ import annotations

from collections.abc import Iterable

from sdpbb.plots.pages.clusters import clustering, conflict
from sdpbb.plots.pages.drawings import SCRIPT
from sdpbb.plots.pages.sections import ReportedRun, opening, proof, question, reproduction
from sdpbb.plots.pages.style import CSS
from sdpbb.plots.style import require_matplotlib
from sdpbb.problem import Instance
from sdpbb.runtime.files import FilePath, write_atomically
from sdpbb.runtime.markup import Markup, element, markup
from sdpbb.search.result import Result
from sdpbb.search.traces.trace import Trace


def html_report(
    instance: Instance, result: Result, trace: Trace | None = None, command: str = ""
) -> str:
    """Return a page on a run.

    It has question, clustering, proof, and what it takes to repeat the run. It refers to no other
    file; its one script zooms the picture of the clusters.

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
    run = ReportedRun(instance, result, trace, command)
    parts = [opening(run), question(run)]
    if result.infeasibility is not None:
        parts.append(conflict(run))
    if result.partition is not None:
        parts.append(clustering(run, result.partition))
    parts += [proof(run), reproduction(run)]
    title = f"{instance.name or 'unnamed'}: {result.status.value}"
    return page(title, parts, result.version)


def page(title: str, parts: Iterable[Markup], version: str) -> str:
    """Return a page of HTML with these parts, the first of which has its heading of first rank."""
    footer = element("footer", f"Written by sdpbb {version}.")
    main = element("main", Markup.joined(parts))
    script = f"<script>{SCRIPT}</script>\n" if 'class="zooms"' in main.html else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{markup(title).html}</title>\n<style>{CSS}</style>\n</head>\n"
        f"<body>\n{main.html}\n{footer.html}\n{script}</body>\n</html>\n"
    )


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
