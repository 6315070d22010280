"""What results, reports and instances say of themselves: short lines, and tables in notebooks."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import sdpbb
from sdpbb.problem import Origin
from sdpbb.questions.batch.outcome import BatchResult
from sdpbb.questions.sweeps.report import SweepEntry
from sdpbb.run.explanation.check import constraint_report
from sdpbb.runtime.markup import markup
from sdpbb.search.result import Result
from tests.test_result import INFEASIBLE, OPTIMAL, UNKNOWN

NAME = "<script>alert(1)</script>"
POINTS = np.array([[0.0], [0.1], [5.0], [5.1]])
INSTANCE = sdpbb.Instance(POINTS, 2, must_link=[(0, 1)], cannot_link=[(0, 2)], name=NAME)
NAMED = replace(INSTANCE, origin=Origin(feature_names=(NAME,)))
NAMED_ROWS = replace(INSTANCE, origin=Origin(row_names=(NAME, "b" * 300, "c", "d")))
CONTRADICTION = sdpbb.Instance(POINTS, 2, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])


class Elements(HTMLParser):
    """The elements of a text, each of which has to be closed."""

    def __init__(self, text):
        super().__init__()
        self.names, self.open, self.attributes = set(), [], set()
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}
        assert not any("color" in (value or "") or "url" in (value or "") for _, value in attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def prices():
    return sdpbb.constraint_prices(INSTANCE)


SHOWN = {
    "instance": lambda: INSTANCE,
    "named columns": lambda: NAMED,
    "optimal": lambda: Result(**OPTIMAL),
    "unknown": lambda: Result(**UNKNOWN),
    "infeasible": lambda: Result(**INFEASIBLE),
    "gap": lambda: sdpbb.optimality_gap(INSTANCE, [0, 0, 1, 1]),
    "gap of none": lambda: sdpbb.optimality_gap(CONTRADICTION, [0, 0, 1, 1]),
    "prices": prices,
    "check": lambda: constraint_report(INSTANCE, 10.0),
    "conflict": lambda: constraint_report(CONTRADICTION, 10.0),
    "heuristic": lambda: sdpbb.heuristic("pccc").run(INSTANCE),
    "no heuristic": lambda: sdpbb.heuristic("pccc").run(CONTRADICTION),
    "sweep": lambda: sdpbb.sweep(INSTANCE, [2, 3]),
    "one k": lambda: sdpbb.sweep(INSTANCE, [2, 3])[3],
    "failed k": lambda: SweepEntry(2, None, None, message=f"{NAME} failed"),
    "infeasible k": lambda: sdpbb.sweep(CONTRADICTION, [2])[2],
    "queries": lambda: sdpbb.suggest_queries(NAMED_ROWS),
    "query": lambda: sdpbb.suggest_queries(NAMED_ROWS).queries[0],
    "batch": lambda: BatchResult((), 3, 1.0),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown_is_short_and_harmless(name):
    shown = SHOWN[name]()
    assert "\n" not in repr(shown)
    assert len(repr(shown)) < 200
    assert "array(" not in repr(shown)
    text = shown._repr_html_()
    found = Elements(text)
    assert found.names <= {"div", "strong", "table", "tbody", "tr", "th", "td", "pre"}
    assert found.attributes <= {"style", "scope"}
    assert len(text) < 5_000


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gap", "<GapReport: optimal, sum of squares 0.01, gap 0.0"),
        ("batch", "<BatchResult: 0 of 3 instances, 1.0 s>"),
        ("heuristic", "<HeuristicResult: pccc, sum of squares 0.01, 2 clusters of 2, 2 points>"),
        ("check", "<ConstraintReport: feasible, 0 implied by others, 0 warnings>"),
        ("prices", "<PriceReport: 2 constraints priced>"),
        ("sweep", "<SweepReport: k = 2, 3; 2 of 2 proven>"),
        ("one k", "<SweepEntry: k = 3, optimal, cost 0.0"),
        ("failed k", "<SweepEntry: k = 2, failed>"),
        ("queries", "<QueryReport: "),
        ("query", "<Query: "),
    ],
)
def test_representations(name, expected):
    assert repr(SHOWN[name]()).startswith(expected)


def test_a_trace_and_a_partition():
    trace = sdpbb.Trace()
    assert repr(trace) == "<Trace: unnamed, no end yet, 0 points, 0 nodes>"
    result = sdpbb.solve(POINTS, 2, observer=trace, name="four")
    assert repr(trace).startswith("<Trace: four, optimal, ")
    assert repr(result.partition) == "<Partition: 2 clusters of 2, 2 points>"


def test_a_heuristic_takes_points():
    found = sdpbb.heuristic("cop-kmeans").run(POINTS, k=2, must_link=[(0, 1)], seed=1)
    assert (found.labels.tolist(), found.sizes.tolist()) == ([0, 0, 1, 1], [2, 2])
    with pytest.raises(TypeError, match=r"no argument 'must_lnk'; did you mean must_link\?"):
        sdpbb.heuristic("cop-kmeans").run(POINTS, k=2, must_lnk=[(0, 1)])


def test_rows_of_prices_in_pandas():
    pytest.importorskip("pandas")
    rows = prices().to_pandas()
    assert rows["kind"].tolist() == [price.statement.kind.name.lower() for price in prices().prices]


def test_a_notebook_shows_means_and_sizes_before_bounds():
    origin = replace(INSTANCE.origin, feature_names=(NAME,))
    instance = sdpbb.Instance([[0.0], [0.5], [5.0], [5.5]], 2, origin=origin)
    text = sdpbb.solve(instance)._repr_html_()
    assert Elements(text).names <= {"div", "strong", "table", "tbody", "tr", "th", "td", "pre"}
    shown = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", text))
    named = re.sub(r"\s+", " ", markup(NAME).html)
    assert f"Means cluster 0 cluster 1 {named} 0.25 5.25 " in shown
    places = [shown.index(word) for word in ("2 clusters of 2, 2", "Means", "Lower bound", "Nodes")]
    assert places == sorted(places)
    many = sdpbb.solve(np.eye(12), 2)._repr_html_()
    assert "Means" not in many
