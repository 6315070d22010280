"""The page on a run."""

import base64
import re
import tempfile
from colorsys import rgb_to_hsv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sdpbb.errors import InstanceNote
from sdpbb.plots.pages import write_html_report
from sdpbb.plots.pictures import RED
from sdpbb.problem import Instance, MaximumDiameter, MaximumSize, Origin, Partition
from sdpbb.problem.formats import labels_file, read_instance
from sdpbb.problem.origin import Scaling
from sdpbb.run.solver import solve
from sdpbb.runtime.document import element, html
from sdpbb.search.result import Result
from sdpbb.search.trace import Trace
from tests.pages import Page, checked, drawings, n_drawings
from tests.test_result import OPTIMAL
from tests.trees import HASTY, SMALL

pytest.importorskip("matplotlib")

INSTANCE = Instance([[0.0, 0.0], [5.0, 0.0], [5.0, 1.0]], 2, cannot_link=[(0, 1)], name="three")


def html_report(*arguments) -> str:
    """What `write_html_report` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        write_html_report(path, *arguments)
        return path.read_text("utf-8")


@pytest.fixture(scope="module")
def branched() -> str:
    trace = Trace()
    result = solve(SMALL, HASTY, observer=trace)
    return html_report(SMALL, result, trace, "sdpbb solve small.csv -k 6")


@pytest.mark.long
def test_a_run_that_branched_has_all_of_the_pictures(branched):
    page = checked(branched)
    assert n_drawings(branched) == 2
    headings = (
        *("What was asked", "The clustering", "The clusters"),
        *("How it was proven", "Nodes and bounds", "Bounds over time"),
        *("How to do it again", "The command"),
    )
    places = [page.texts.index(heading) for heading in headings]
    assert places == sorted(places)
    folded = re.search(r"<details><summary>Nodes and bounds</summary>.*?</details>", branched, re.S)
    assert "Bounds over time" in Page(folded[0]).texts
    assert "Bounds over time" not in Page(branched.replace(folded[0], "")).texts
    assert "sdpbb solve small.csv -k 6" in page.texts
    told = re.search(r"(\d+) nodes: (\d+) branched, (\d+) closed\.", page.text)
    assert told is not None
    n_nodes, n_branched, n_closed = map(int, told.groups())
    assert n_nodes == n_branched + n_closed == 2 * n_branched + 1 > 1


def test_the_table_of_clusters_adds_up(branched):
    rows = re.findall(r">(\d+)</th>\n<td>(\d+)</td>\n<td>(.*?)</td>", branched)
    assert [int(row[0]) for row in rows] == list(range(6))
    assert sum(int(row[1]) for row in rows) == 60
    assert sum(float(row[2]) for row in rows) == pytest.approx(327.11817, abs=1e-3)


def test_what_is_said_to_be_red_is_red():
    """Also on a dark screen, whose pages turn the light of pictures and keep their hues."""
    violated = replace(Result(**OPTIMAL), partition=Partition(np.array([0, 0, 1])))
    page = html_report(INSTANCE, violated)
    assert "img { filter: invert(1) hue-rotate(180deg); }" in page
    (picture,) = drawings(page)
    ground = re.search(r'<g id="patch_1">\s*<path [^>]*style="fill: (.*?)"', picture)
    assert ground[1] == "none"
    assert f"stroke: {RED}" in picture
    hue = rgb_to_hsv(*(int(RED[i : i + 2], 16) for i in (1, 3, 5)))[0]
    assert min(hue, 1.0 - hue) <= 15 / 360


def test_kept_and_violated_constraints_are_counted():
    result = Result(**OPTIMAL)
    text = checked(html_report(INSTANCE, result)).text
    assert "All constraints on pairs are satisfied (1)." in text
    violated = replace(result, partition=Partition(np.array([0, 0, 1])))
    text = checked(html_report(INSTANCE, violated)).text
    assert "Of the constraints on pairs, 1 of 1 are violated." in text


def test_what_was_asked_is_told():
    instance = replace(INSTANCE, cluster_constraints=(MaximumDiameter(9.0), MaximumSize(1)))
    result = replace(
        Result(**OPTIMAL),
        parameters={"gap": 1e-4, "time_limit": 60.0, "node_limit": None, "seed": 7, "workers": 2},
    )
    text = checked(html_report(instance, result)).text
    for told in (
        "Divide 3 points into exactly 2 clusters",
        "Points 3 Features 2 Clusters k = 2",
        '"time_limit": 60.0',
        '"seed": 7',
        "1 constraint on clusters, at most 1 point each",
        '"node_limit": null',
    ):
        assert told in text


def test_what_was_done_to_the_data_heads_what_was_asked(tmp_path):
    path = tmp_path / "data.csv"
    rows = "".join(f"p{i},{10 * i},{age},a,{i + 1}\n" for i, age in enumerate([31, "", 58, 35, 59]))
    path.write_text(f"name,income,age,class,w\n{rows}")
    options = {"index_column": "name", "weight_column": "w", "drop": ["class"], "missing": "median"}
    with pytest.warns(InstanceNote):
        instance = read_instance(path, 2, standardize=True, **options)
    text = checked(html_report(instance, solve(instance))).text
    assert (
        "What was asked What was done to the data: Column 'name' names the rows. Column 'w' holds "
        "the weights of the rows. Column left out: 'class'. 1 missing value filled in by the "
        "median of 1 column: 'age'. Columns are standardized to mean zero and variance one: costs "
        "and distances are in these units, means of clusters in units of the data. Points have "
        "weights, 1 to 5: squared distances count times these. Divide 5 points into"
    ) in text
    with pytest.warns(InstanceNote):
        instance = read_instance(path, 2, **options | {"missing": "drop-rows"})
    text = checked(html_report(instance, solve(instance))).text
    assert "1 row of 5 dropped, as values are missing: 'p1'." in text
    assert "standardized" not in text
    assert "What was done to the data" not in checked(html_report(INSTANCE, solve(INSTANCE))).text


def test_characters_that_html_must_not_hold_are_replaced():
    assert element("p", "a\0b\x1bc\ud800").text == "a\ufffdb\ufffdc\ufffd"
    assert html(element("p", "<", class_='"')) == '<p class="&quot;">&lt;</p>'


GROUPS = Instance(
    np.array([[0.0, 0.0], [0.2, 0.1], [0.1, 0.3], [5.0, 5.0], [5.1, 5.2], [4.9, 5.1], [2.6, 2.6]]),
    2,
    must_link=[(0, 6)],
    cannot_link=[(0, 3)],
    name="groups",
    origin=Origin(row_names=tuple("abcdefg"), feature_names=("width", "height")),
)


def test_clusters_are_told_by_names_and_in_the_units_of_the_user():
    scaling = Scaling(np.array([10.0, 0.0]), np.array([2.0, 1.0]))
    scaled = replace(GROUPS, origin=replace(GROUPS.origin, scaling=scaling))
    html = html_report(scaled, solve(scaled))
    page = checked(html)
    for text in ("Mean width", "Mean height", "Members", "Silhouette", "a, b, c, g"):
        assert text in page.texts
    first = np.array([[0.0, 0.0], [0.2, 0.1], [0.1, 0.3], [2.6, 2.6]]).mean(axis=0)
    assert f"<td>{10.0 + 2.0 * first[0]:.5g}</td>" in html


def test_labels_can_be_saved_from_the_page():
    result = solve(GROUPS)
    saved = re.search(
        r'<a href="data:text/csv;base64,([^"]*)" download="clusters.csv">',
        html_report(GROUPS, result),
    )
    assert base64.b64decode(saved[1]) == labels_file(result.labels, GROUPS.origin)
