"""Enumeration instead of the tree.

That is column generation with it and without, and the semidefinite bound beside the hybrid one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

import sdpbb
from scripts.bench import rows
from scripts.bench.generation_cases import case, instance_of, name_of, of_tables, small
from scripts.bench.measuring import solved, warm_up
from scripts.bench.suite import SOLVED, Case, Options
from scripts.bench.suites import trees
from scripts.bench.tables import geometric_mean, markdown
from sdpbb.bounds.lagrangian import enumeration as colgen_enumeration

KEY = "instance k constraints draw"
COLUMNS = "setting status objective gap root_gap nodes seconds"
OPTIONS = {"time_limit": 60.0}
GAP = 1e-4


def cases(options: Options) -> list[Case]:
    """Return grids "grid-r-s" and "normal-n-d" of `trees`, public sets, and others.

    Clusterings of a grid that cost the same leave gaps to the linear relaxation.
    """
    grids = ((7, 6), (7, 8), (8, 7), (8, 10), (9, 11))
    public = (("glass", 6, "ml_50_cl_50", 2), ("accent", 6, "ml_75_cl_75", 0))
    return [
        *(case("grids", f"grid-{side}-{side}", k) for side, k in grids),
        *(case("trees", f"normal-{n}-{d}", k, 0, s) for n, d, k, s in trees.CLOUDS[3:5]),
        *(case("public", *one) for one in public if (options.data / "pc-sos-sdp").is_dir()),
        *(small("planar", 100, 12, constraints=25) + small("blobs4", 100, 12)),
        *of_tables("iris", 5, 240),
    ]


def measure(options: Options, **given: Any) -> Iterator[dict[str, Any]]:
    """Solve by column generation with and without enumeration, and by sdp and hybrid.

    Trees and public sets are solved by the second two only, and what leaves no tree by the first
    two only.
    """
    suite, name = given["suite"], given["instance"].split("-")
    if suite == "grids":
        instance = sdpbb.Instance(np.argwhere(np.ones((int(name[1]), int(name[2])))), given["k"])
    elif suite == "trees":
        instance = trees.cloud(int(name[1]), int(name[2]), given["k"], given["draw"])
    else:
        instance = instance_of(options.data, **given)
    without, max_gap = "colgen, no enumeration", colgen_enumeration.MAX_GAP
    settings: dict[str, dict[str, Any]] = {}
    if suite not in ("trees", "public"):
        settings[without] = {"bounding": "colgen"}
        settings["colgen"] = {"bounding": "colgen"}
    if suite in ("trees", "public", "grids"):
        settings |= {bounding: {"bounding": bounding} for bounding in ("sdp", "hybrid")}
    for setting, chosen in settings.items():
        warm_up(chosen["bounding"])
        colgen_enumeration.MAX_GAP = 0.0 if setting == without else max_gap
        parameters = sdpbb.SolverParameters(gap=GAP, time_limit=options.time_limit, **chosen)
        yield solved(instance, parameters)[1] | {"setting": setting}


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return pairs of settings of every instance, then the geometric means of their ratios.

    The means are over those that both solved and one of which branched. One that was not solved has
    `>` and its gap.
    """
    lines = []
    ratios: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for found in rows.grouped(known, "instance", "k", "constraints", "draw").values():
        for first, second in zip(found[::2], found[1::2], strict=True):
            settings = f"{first['setting']} : {second['setting']}"
            cells = [name_of(first), settings]
            for row in (first, second):
                is_solved = row["status"] in SOLVED
                mark = "" if is_solved else ">"
                gap = "" if is_solved else f" ({float(row['gap'] or 'nan'):.1e})"
                cells += [f"{mark}{row['nodes']}", f"{mark}{float(row['seconds']):.2f}{gap}"]
            if first["status"] in SOLVED and second["status"] in SOLVED:
                nodes, seconds = (float(first[c]) / float(second[c]) for c in ("nodes", "seconds"))
                cells += [f"{nodes:.2f}", f"{seconds:.2f}"]
                if max(int(first["nodes"]), int(second["nodes"])) > 1:
                    ratios[settings].append((nodes, seconds))
            else:
                cells += ["-", "-"]
            lines.append(cells)
    head = ["instance", "compared", "nodes", "seconds", "nodes", "seconds", "ratio of nodes"]
    lines_of = markdown([*head, "of seconds"], lines, text=(0, 1))
    means = [
        f"- {settings}: {geometric_mean(n for n, _ in found):.2f} of nodes,"
        f" {geometric_mean(s for _, s in found):.2f} of seconds ({len(found)} instances)"
        for settings, found in ratios.items()
    ]
    told = "Geometric means of the ratios where both solved it and one of them branched:"
    return [*lines_of, "", told, "", *(means or ["- none"])]


TABLES = {"enumeration": table}
