import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import ParameterError
from sdpbb.plots import plot_tree
from sdpbb.plots.tree import layered
from sdpbb.run.solver import solve
from sdpbb.search.events import Branched, NodeEnd, NodeLeft
from sdpbb.search.trace import Trace
from tests.trees import HASTY, SMALL

matplotlib = pytest.importorskip("matplotlib")

# 33 nodes.
BRANCHING = replace(HASTY, bounding="sdp")


def trace_of(*events) -> Trace:
    trace = Trace()
    for event in events:
        trace(event)
    return trace


FIVE = trace_of(
    Branched(0, 10.0, (3, 5), 1, 2),
    Branched(1, 11.0, (4, 6), 3, 4),
    NodeLeft(3, 20.25, NodeEnd.CLOSED),
    NodeLeft(4, math.inf, NodeEnd.INFEASIBLE),
    NodeLeft(2, 12.0, NodeEnd.LOST),
)


@st.composite
def forests(draw) -> list[int | None]:
    parents: list[int | None] = [None]
    for node in range(1, draw(st.integers(1, 40))):
        parents.append(draw(st.none() | st.integers(0, node - 1)))
    return parents


@given(forests())
def test_leaves_stand_beside_each_other_and_parents_above_their_children(parents):
    places = layered(parents)
    children = {
        node: [child for child, parent in enumerate(parents) if parent == node]
        for node in range(len(parents))
    }
    leaves = [node for node, below in children.items() if not below]
    assert sorted(places[leaves, 0]) == list(range(len(leaves)))
    for node, below in children.items():
        if below:
            assert places[node, 0] == pytest.approx(np.mean(places[below, 0]))
            assert (places[below, 1] == places[node, 1] + 1).all()
    assert all(places[node, 1] == 0 for node, parent in enumerate(parents) if parent is None)


def places_drawn(ax) -> dict[str, int]:
    """Nodes, by the text of the legend up to their number."""
    return {
        points.get_label().split(" (")[0]: len(points.get_offsets())
        for points in ax.collections
        if len(points.get_offsets()) and points.get_label().endswith(")")
    }


def edges_drawn(ax) -> dict[str, int]:
    from matplotlib.collections import LineCollection

    return {
        lines.get_label(): len(lines.get_segments())
        for lines in ax.collections
        if isinstance(lines, LineCollection)
    }


def test_every_node_and_every_edge_is_drawn():
    ax = plot_tree(FIVE)
    assert places_drawn(ax) == {
        "branched": 2,
        "closed by its bound": 1,
        "infeasible": 1,
        "lost with its worker": 1,
    }
    assert edges_drawn(ax) == {"must-link": 2, "cannot-link": 2}


def test_must_link_children_are_on_the_left():
    from matplotlib.collections import LineCollection

    for lines in plot_tree(FIVE).collections:
        if isinstance(lines, LineCollection):
            side = -1 if lines.get_label() == "must-link" else 1
            for parent, child in lines.get_segments():
                assert np.sign(child[0] - parent[0]) == side
                assert child[1] == parent[1] + 1


@pytest.mark.long
def test_a_run_is_drawn_whole():
    trace = Trace()
    solve(SMALL, BRANCHING, observer=trace)
    ax = plot_tree(trace)
    assert sum(places_drawn(ax).values()) == len(trace.nodes)
    assert sum(edges_drawn(ax).values()) == len(trace.nodes) - 1
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the root is above


def test_without_nodes_there_is_no_tree():
    with pytest.raises(ParameterError, match="there is no tree"):
        plot_tree(Trace())
