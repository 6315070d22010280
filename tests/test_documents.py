"""Results of all kinds are documents: plain text, notebooks, pages, JSON and rows."""

import csv
import io
import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.problem import Origin
from sdpbb.questions.batch.outcome import BatchResult
from sdpbb.questions.check import check_constraints
from sdpbb.questions.study import Failure
from sdpbb.questions.sweep import SweepEntry, SweepReport
from sdpbb.runtime.document import (
    Document,
    Facts,
    Section,
    Table,
    Text,
    Tone,
    Verdict,
    notebook_html,
    plain_text,
)
from sdpbb.runtime.results import plain, values_of
from sdpbb.search.result import Result
from tests.batch import rows
from tests.examples import examples
from tests.pages import Page, checked, n_drawings
from tests.test_result import FEASIBLE, INFEASIBLE, OPTIMAL, UNKNOWN

BAD = "a<b>&\"c'<script>alert(1)</script>"
POINTS = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
ORIGIN = Origin(row_names=(BAD, "b" * 300, "c", "d", "e"), feature_names=(BAD,))
SOFT = sdpbb.Instance(
    POINTS,
    3,
    must_link=[(0, 1)],
    cannot_link=[(0, 2)],
    soft_must_link=[(0, 4, 0.5)],
    name=BAD,
    origin=ORIGIN,
)
INSTANCE = replace(SOFT, soft_must_link=())
CONTRADICTION = sdpbb.Instance(POINTS, 2, [(0, 1), (1, 2)], [(0, 2)], name=BAD, origin=ORIGIN)
FORCED = sdpbb.Instance(POINTS, 2, [(3, 4), (3, 4)], [(0, 2), (1, 2)], origin=ORIGIN)
FAILED = rows.failed(Failure.CRASHED, name=BAD, message=f"{BAD} " * 40, attempts=2)
MADE = {
    "instance": lambda: INSTANCE,
    "solve": lambda: sdpbb.solve(INSTANCE),
    "solve soft": lambda: sdpbb.solve(SOFT),
    "solve infeasible": lambda: sdpbb.solve(CONTRADICTION),
    "optimal": lambda: Result(**OPTIMAL),
    "feasible": lambda: replace(Result(**FEASIBLE), notes=(BAD,)),
    "unknown": lambda: Result(**UNKNOWN),
    "infeasible": lambda: Result(**INFEASIBLE),
    "gap": lambda: sdpbb.optimality_gap(SOFT, [0, 0, 1, 1, 2]),
    "gap of violating labels": lambda: sdpbb.optimality_gap(SOFT, [0, 1, 0, 1, 2]),
    "gap infeasible": lambda: sdpbb.optimality_gap(CONTRADICTION, [0, 0, 1, 1, 1]),
    "price": lambda: sdpbb.constraint_prices(SOFT),
    "price infeasible": lambda: sdpbb.constraint_prices(CONTRADICTION),
    "certainty": lambda: sdpbb.certainty(INSTANCE, 0.5),
    "certainty of nothing": lambda: sdpbb.certainty(CONTRADICTION),
    "check": lambda: check_constraints(INSTANCE, 10.0),
    "check forced": lambda: check_constraints(FORCED, 10.0),
    "check infeasible": lambda: check_constraints(CONTRADICTION, 10.0),
    "heuristic": lambda: sdpbb.heuristic("pccc").run(INSTANCE),
    "heuristic infeasible": lambda: sdpbb.heuristic("pccc").run(CONTRADICTION),
    "sweep": lambda: replace(sdpbb.sweep(INSTANCE, [2, 3, 5]), left=(7,)),
    "sweep failed": lambda: SweepReport((made("entry failed"),), (), True, 1.0, INSTANCE),
    "entry": lambda: made("sweep").entries[1],
    "entry failed": lambda: SweepEntry(2, None, None, message=f"{BAD} failed"),
    "suggest": lambda: sdpbb.suggest_queries(INSTANCE),
    "query": lambda: made("suggest").queries[0],
    "batch": lambda: BatchResult((rows.row(), rows.limited(name=BAD), FAILED), 4, 1.0),
    "batch of nothing": lambda: BatchResult((), 3, 1.0),
}
JSON_KEYS = {
    "solve": "status termination objective lower_bound gap k labels sizes centers names features "
    "wall_seconds n_nodes n_blocks n_iterations n_fixed n_lost root_lower_bound root_gap "
    "root_seconds n_subsets n_lost_subsets infeasibility conflict notes parameters version",
    "optimal": "status termination objective lower_bound gap k labels sizes centers "
    "wall_seconds n_nodes n_blocks n_iterations n_fixed n_lost root_lower_bound root_gap "
    "root_seconds n_subsets n_lost_subsets infeasibility conflict notes parameters version",
    "gap": "verdict proven_optimal comparable k n_clusters objective lower_bound gap saving "
    "violations soft best",
    "price": "status termination objective lower_bound gap labels is_complete interrupted prices "
    "unpriced problems conflict seconds parameters version",
    "certainty": "status termination objective lower_bound gap within is_complete interrupted "
    "labels anchors stable points problems seconds parameters version",
    "check": "instance n_points n_features k n_must_link n_cannot_link n_on_clusters min_size "
    "max_size sizes min_weight max_weight is_feasible conflict groups forced redundant "
    "warnings",
    "heuristic": "method seed status stop sum_of_squares penalised_objective violations "
    "infeasibility n_iterations seconds labels sizes centers",
    "sweep": "sweep left interrupted seconds row_names",
    "suggest": "ask n_asked_for queries note cost labels seed version",
    "batch": "instances missing interrupted wall_seconds counts rows",
}
INNER_KEYS = {
    ("solve soft", "soft"): "sum_of_squares penalty violated_must_link violated_cannot_link "
    "n_must_link n_cannot_link",
    ("infeasible", "infeasibility"): "kind points text",
    ("solve infeasible", "conflict"): "kind heading is_minimal is_exact members",
    ("solve infeasible", "conflict", "members", 0): "kind rows place argument position text",
    ("gap of violating labels", "violations", 0): "kind position points rows place constraint "
    "weight",
    ("check", "groups"): "n_groups n_blocks together apart stated_together stated_apart "
    "k_at_least k_at_most",
    ("heuristic", "violations"): "must_link cannot_link soft_must_link soft_cannot_link "
    "soft_weight empty",
}
COLUMNS = {
    "batch": "name status termination objective lower_bound gap n_nodes wall_seconds n_points "
    "n_features k n_must_link n_cannot_link n_blocks root_gap root_seconds attempts data "
    "constraints labels certificate bounding gap_asked seed time_limit node_limit memory_limit "
    "version key message",
    "price": "place kind row_i row_j weight violated price_lower price_upper difference "
    "objective_without lower_bound_without proven proof seconds",
    "certainty": "row cluster state costs_at_least costs_at_most may_join",
    "sweep": "k status objective lower_bound gap decrease decrease_lower decrease_upper silhouette "
    "agreement sizes n_nodes wall_seconds message",
    "suggest": "row_i row_j cluster_i cluster_j kind score likely_together reason",
}
REPRESENTATIONS = {
    "gap": "<GapReport: Proven optimal>",
    "batch of nothing": "<BatchResult: 0 of 3 instances are proven>",
    "heuristic": "<HeuristicResult: pccc, sum of squares ",
    "check": "<ConstraintReport: Feasible>",
    "price": "<PriceReport: Every price is known within the gap>",
    "certainty": "<CertaintyReport: ",
    "certainty of nothing": "<CertaintyReport: ",
    "sweep": "<SweepReport: 3 of 4 k are proven>",
    "entry": "<SweepEntry: k = 3: ",
    "entry failed": "<SweepEntry: k = 2: ",
    "suggest": "<QueryReport: ",
    "query": "<Query: ",
}


@cache
def made(kind):
    return MADE[kind]()


@pytest.mark.parametrize("kind", MADE)
def test_representations_are_a_short_line(kind):
    text = repr(made(kind))
    assert "\n" not in text
    assert len(text) < 200
    assert "array(" not in text
    assert text.startswith(REPRESENTATIONS.get(kind, "<"[: kind != "instance"]))


PARTS = ("entry", "entry failed", "query")
SHOWN = [kind for kind in MADE if kind not in PARTS]


@pytest.mark.parametrize("kind", SHOWN)
def test_plain_text_has_no_spaces_at_the_ends_of_lines(kind):
    text = plain_text(made(kind).document())
    assert text == "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
    assert text


@pytest.mark.parametrize("kind", SHOWN)
def test_notebooks_show_a_document_in_their_own_colours(kind):
    text = made(kind)._repr_html_()
    page = Page(text)
    assert not {"script", "style", "svg", "h1", "img"} & {*page.tags}
    assert not any("color" in (value or "") for _, value in page.attributes)
    assert {value for name, value in page.attributes if name == "style"} <= {"text-align:left"}
    assert len(text) < 10_000
    first = plain_text(made(kind).document()).splitlines()[0]
    assert " ".join(first.split()[1:]).lower() in page.text.lower()


@pytest.mark.parametrize("kind", SHOWN)
def test_pages_need_nothing_else_and_can_be_read_without_pictures(kind):
    pytest.importorskip("matplotlib")
    from sdpbb.plots.pages import page

    document = replace(made(kind).document(), name=BAD)
    html = page(document, BAD, BAD)
    found = checked(html)
    assert found.texts.count(BAD) >= 2  # the heading and the command
    assert f"Written by sdpbb {BAD}." in found.texts
    assert f"{BAD}: {document.title}" in found.texts
    assert n_drawings(html) == (kind in ("sweep", "certainty"))
    assert html == page(document, BAD, BAD)


@pytest.mark.parametrize("kind", JSON_KEYS)
def test_json_has_a_line_for_each_key(kind):
    values = made(kind).to_dict()
    assert list(values) == JSON_KEYS[kind].split()
    text = made(kind).to_json()
    assert json.loads(text) == json.loads(json.dumps(values, allow_nan=False))
    assert len(text.splitlines()) == len(values) + 2


@pytest.mark.parametrize("path", INNER_KEYS)
def test_keys_of_inner_values(path):
    kind, *keys = path
    values = made(kind).to_dict()
    for key in keys:
        values = values[key]
    assert list(values) == INNER_KEYS[path].split()


@pytest.mark.parametrize("kind", COLUMNS)
def test_rows_are_those_of_csv_and_pandas(kind):
    report = made(kind)
    values = report.to_rows()
    assert {tuple(row) for row in values} == {tuple(COLUMNS[kind].split())}
    read = list(csv.DictReader(io.StringIO(report.to_csv())))
    assert read == [{k: "" if v is None else str(v) for k, v in row.items()} for row in values]
    pytest.importorskip("pandas")
    assert report.to_pandas().columns.tolist() == COLUMNS[kind].split()
    assert len(report.to_pandas()) == len(values)


def test_partitions_are_shown_by_their_sizes():
    result = sdpbb.solve(POINTS[:4], 2, name="four")
    assert repr(result.partition) == "<Partition: 2 clusters of 2, 2 points>"


def test_values_of_all_kinds_are_plain():
    values = plain(
        {
            "number": np.float64("nan"),
            "count": np.intp(3),
            "list": [np.inf, (1, sdpbb.SolutionStatus.OPTIMAL)],
            "array": np.eye(2),
            "infinite": np.array([math.inf, 1.5]),
            "fields": Text("a"),
            "own": made("optimal").infeasibility,
        }
    )
    assert values == {
        "number": None,
        "count": 3,
        "list": [None, [1, "optimal"]],
        "array": [[1.0, 0.0], [0.0, 1.0]],
        "infinite": [None, 1.5],
        "fields": {"text": "a", "style": "paragraph"},
        "own": None,
    }
    assert values_of(Text("a"), "style") == {"style": "paragraph"}


# Any text, such as users write in names; and parts that hold some.
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
TABLES = st.integers(1, 4).flatmap(
    lambda n: st.builds(
        Table,
        st.lists(ANY, min_size=n, max_size=n),
        st.lists(st.lists(ANY, min_size=n, max_size=n), max_size=4),
        ANY,
        st.integers(0, 3),
    )
)
PARTS = st.recursive(
    st.builds(Verdict, ANY, st.builds(Tone, ANY, st.sampled_from(["good", "fair", "bad"])), ANY)
    | st.builds(Facts, st.lists(st.tuples(ANY, ANY), max_size=4))
    | TABLES
    | st.builds(Text, ANY, st.sampled_from(["paragraph", "note", "verbatim", "list"])),
    lambda part: st.builds(Section, ANY, st.lists(part, max_size=3), st.booleans()),
    max_leaves=8,
)


@given(st.builds(Document, ANY, st.lists(PARTS, max_size=4), ANY))
@examples(60)
def test_any_text_is_harmless_in_any_part(document):
    assert plain_text(document).replace("\n", "").isprintable()
    assert "script" not in Page(notebook_html(document)).tags


def test_columns_of_numbers_stand_at_the_right():
    table = Table(
        ["name", "cost", "gap", "note", "empty"],
        [["one", "1.5", "1.0e-05%", "", ""], ["eleven", "1,200", "-", "a b", ""]],
        more=3,
    )
    assert plain_text(Document("", [table])).splitlines() == [
        "name     cost       gap  note",
        "one       1.5  1.0e-05%",
        "eleven  1,200         -  a b",
        "... and 3 more",
    ]


def test_sections_are_indented_and_folded_ones_are_left_out():
    inner = Section("Inner", [Text("two\nlines")])
    parts = [
        Verdict("Status", Tone("Proven", "good"), "it is proven"),
        Facts([("A rather long name", "1")]),
        Section("Outer", [Text("text"), inner]),
        Section("Folded", [Text("more")], folded=True),
    ]
    document = Document("Title", parts)
    assert plain_text(document).splitlines() == [
        "Status             it is proven",
        "A rather long name 1",
        "",
        "Outer:",
        "  text",
        "",
        "  Inner:",
        "    two",
        "    lines",
    ]
    page = Page(notebook_html(document))
    assert page.texts.index("Title") < page.texts.index("Proven") < page.texts.index("Folded")
    assert "It is proven." in page.texts
    assert page.tags.count("details") == 1
