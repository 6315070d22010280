"""Tables of `colgen_measurements.py`, in Markdown."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable

from rows import Row, markdown

YES = "True"


def instance_name(row: Row) -> str:
    constraints = f", {row['constraints']}" if row["constraints"] != "0" else ""
    draw = f" #{row['draw']}" if row["draw"] != "0" else ""
    return f"{row['instance']}{draw}, k={row['k']}{constraints}"


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = [math.log(value) for value in values]
    return math.exp(math.fsum(logarithms) / len(logarithms))


def pricing_table(rows: list[Row]) -> list[str]:
    """Return the nodes of both methods and their ratio.

    A search at its limit has `>`, and its ratio is a bound; where neither was finished there is
    none. Where only ours was not, the ratio is not part of the mean: it may be anything below.
    """
    lines: list[list[str]] = []
    ratios: list[float] = []
    seconds: list[float] = []
    marks: set[str] = set()
    for row in rows:
        mark, paper_mark = (
            "" if row[field] == YES else ">" for field in ("finished", "paper_finished")
        )
        ratio = int(row["paper_nodes"]) / int(row["nodes"])
        told = "-" if mark and paper_mark else f"{'<' if mark else paper_mark}{ratio:.3g}"
        if not mark:
            ratios.append(ratio)
            seconds.append(float(row["paper_seconds"]) / float(row["seconds"]))
            marks.add(paper_mark)
        lines.append(
            [
                *(instance_name(row), row["problem"], row["blocks"]),
                f"{mark}{int(row['nodes']):,}",
                f"{paper_mark}{int(row['paper_nodes']):,}",
                told,
                f"{mark}{float(row['seconds']):.3f}",
                f"{paper_mark}{float(row['paper_seconds']):.3f}",
                "yes" if row["same"] == YES else "NO",
            ]
        )
    head = ["instance", "problem", "blocks", "nodes", "nodes (paper)", "ratio", "seconds"]
    table = markdown([*head, "seconds (paper)", "same"], lines, n_text=2)
    if not ratios:
        return table
    least = "at least " if ">" in marks else ""
    return [
        *table,
        "",
        f"Geometric mean of the ratios: {least}{geometric_mean(ratios):.3g}"
        f" ({len(ratios)} problems of {len(rows)}); 10 or more:"
        f" {sum(ratio >= 10 for ratio in ratios)}; less than 1:"
        f" {sum(ratio < 1 for ratio in ratios)}. Of the seconds: {least}"
        f"{geometric_mean(seconds):.3g}.",
    ]


def total(row: Row, field: str) -> float:
    """Return a number of the row; its seconds are with those of the centre."""
    extra = float(row["centre_seconds"]) if field == "seconds" else 0.0
    return float(row[field]) + extra


def scheme_cell(row: Row | None) -> str:
    if row is None:
        return "-"
    mark = "" if row["solved"] == YES else ">"
    parts = (row["programmes"], row["exact_calls"], row["exact_nodes"], row["columns"])
    return f"{mark}{' / '.join(parts)} / {total(row, 'seconds'):.2f}"


def enumeration_table(rows: list[Row]) -> list[str]:
    """Return pairs of settings of every instance, then the geometric means of their ratios.

    The means are over those that both solved and one of which branched. One that was not solved has
    `>` and its gap.
    """
    by_instance: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_instance[instance_name(row)].append(row)
    pairs = (
        (name, *pair)
        for name, found in by_instance.items()
        for pair in zip(found[::2], found[1::2], strict=True)
    )
    lines = []
    ratios: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for name, first, second in pairs:
        settings = f"{first['setting']} : {second['setting']}"
        cells = [name, settings]
        for row in (first, second):
            mark = "" if is_solved(row) else ">"
            gap = "" if is_solved(row) else f" ({float(row['gap'] or 'nan'):.1e})"
            cells += [f"{mark}{row['nodes']}", f"{mark}{float(row['seconds']):.2f}{gap}"]
        if is_solved(first) and is_solved(second):
            nodes, seconds = (float(first[f]) / float(second[f]) for f in ("nodes", "seconds"))
            cells += [f"{nodes:.2f}", f"{seconds:.2f}"]
            if max(int(first["nodes"]), int(second["nodes"])) > 1:
                ratios[settings].append((nodes, seconds))
        else:
            cells += ["-", "-"]
        lines.append(cells)
    head = ["instance", "compared", "nodes", "seconds", "nodes", "seconds", "ratio of nodes"]
    table = markdown([*head, "of seconds"], lines, n_text=2)
    means = [
        f"- {settings}: {geometric_mean(n for n, _ in found):.2f} of nodes,"
        f" {geometric_mean(s for _, s in found):.2f} of seconds ({len(found)} instances)"
        for settings, found in ratios.items()
    ]
    told = "Geometric means of the ratios where both solved it and one of them branched:"
    return [*table, "", told, "", *(means or ["- none"])]


def is_solved(row: Row) -> bool:
    return row["status"] in ("optimal", "infeasible")


TABLES: dict[str, Callable[[list[Row]], list[str]]] = {
    "pricing": pricing_table,
    "enumeration": enumeration_table,
}
