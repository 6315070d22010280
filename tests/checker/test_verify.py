import copy
import hashlib
import json
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker import digests
from sdpbb.checker.blocks import Blocks
from sdpbb.checker.certificate import Certificate
from sdpbb.checker.container import CERTIFICATE, pack
from sdpbb.checker.geometry import Geometry
from sdpbb.checker.rejection import Rejected
from sdpbb.checker.tree import tree_value
from sdpbb.checker.verify import verify
from sdpbb.problem import Instance
from tests.checker.building import Built, built, fix, random_instance
from tests.enumeration import optimum
from tests.examples import examples

POINTS = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.5], [9.0, 9.0], [9.0, 7.0]]


@pytest.fixture
def sound() -> Built:
    return built(Instance(POINTS, 3, must_link=[(0, 1)], cannot_link=[(2, 3), (4, 2)]))


def changed(sound: Built, change: Callable[[dict[str, Any], list[np.ndarray]], None]) -> Built:
    document, arrays = copy.deepcopy(sound.document), list(sound.arrays)
    change(document, arrays)
    return Built(sound.instance, document, arrays)


def leaf(document: dict[str, Any], kind: str = "open") -> int:
    return next(v for v, node in enumerate(document["nodes"]) if kind in node["end"])


@examples(30)
@given(st.integers(0, 2**32), st.integers(1, 4), st.booleans())
def test_the_verdict_is_the_truth(seed, k, fixing):
    instance = random_instance(np.random.default_rng(seed), k=k)
    certificate = built(instance, fixing)
    verdict = certificate.verified()
    truth = optimum(instance)
    if truth is None:
        assert (verdict.status, verdict.cost, verdict.lower_bound) == ("infeasible", None, None)
        return
    assert verdict.status == "optimal"
    assert verdict.cost == pytest.approx(truth, rel=1e-12, abs=1e-28)
    assert verdict.lower_bound <= truth * (1 + 1e-12) + 1e-28
    assert verdict.gap <= 1e-9
    assert verdict.n_nodes == len(certificate.document["nodes"])
    assert verdict.n_leaves == (verdict.n_nodes + 1) // 2 or fixing


def test_refuted_pairs_are_used():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(7, 2)) + 5.0 * np.array([0, 0, 0, 1, 1, 2, 2])[:, None]
    certificate = built(Instance(points, 3), fixing=True)
    steps = certificate.document["nodes"][0]["steps"]
    assert "bound" in steps[0]
    assert len(certificate.arrays[steps[3]["fix"]["far"]]) > 0
    assert len(steps[4]["fix"]["refuted"]) > 0
    assert certificate.verified().n_fixings > 0


def test_the_verdict_prints_itself(sound):
    verdict = sound.verified()
    assert "Verified: the clustering is optimal" in str(verdict)
    assert "k = 3" in str(verdict)
    values = verdict.to_dict()
    assert values["verified"] is True
    assert values["cost"] == verdict.cost


def test_weaker_claims_are_accepted(sound):
    def change(document, arrays):
        document["status"] = "feasible"

    assert changed(sound, change).verified().status == "feasible"

    def change_more(document, arrays):
        document |= {"status": "unknown", "labels": None, "cost": None}
        del arrays[-1]  # the labels

    assert changed(sound, change_more).verified().status == "unknown"


def test_an_open_node_proves_nothing(sound):
    def change(document, arrays):
        document["nodes"] = [{"steps": [], "end": {"open": True}}]
        document |= {"status": "feasible", "lower_bound": 0.0}

    verdict = changed(sound, change).verified()
    assert (verdict.lower_bound, verdict.gap) == (0.0, pytest.approx(1.0))


def swap_clusters(document, arrays):
    arrays[-1] = np.array([1, 0, 2], np.int32)[arrays[-1]]


def other_label(document, arrays):
    arrays[-1] = arrays[-1].copy()
    arrays[-1][5] = 0


def fewer_clusters(document, arrays):
    arrays[-1] = np.minimum(arrays[-1], 1)


def tight_tolerance(document, arrays):
    document["nodes"].append(document["nodes"][0])
    node = {"steps": [], "end": {"open": True}}
    document["nodes"] = [node]
    document["lower_bound"] = 0.0


def raised_bound(document, arrays):
    node = document["nodes"][leaf(document)]
    node["steps"][0]["bound"] *= 1 + 1e-7


def lowered_bound(document, arrays):
    node = document["nodes"][leaf(document)]
    node["steps"][0]["bound"] *= 1 - 1e-7


def higher_lower_bound(document, arrays):
    document["lower_bound"] *= 1 + 1e-9


def lower_lower_bound(document, arrays):
    document["lower_bound"] *= 1 - 1e-15


def higher_cost(document, arrays):
    document["cost"] *= 1 + 1e-8


def lower_cost(document, arrays):
    document["cost"] *= 1 - 1e-8


def no_conflict(document, arrays):
    node = document["nodes"][leaf(document)]
    node |= {"steps": [], "end": {"infeasible": {"kind": "conflict"}}}


def no_clique(document, arrays):
    node = document["nodes"][leaf(document)]
    node |= {"end": {"infeasible": {"kind": "clique", "points": [0, 2, 3, 4]}}}


def clique_of_a_block(document, arrays):
    document["nodes"][0] = {
        "steps": [],
        "end": {"infeasible": {"kind": "clique", "points": [0, 1, 2, 3]}},
    }
    del document["nodes"][1:]


def colourable(document, arrays):
    document["nodes"] = [
        {"steps": [], "end": {"infeasible": {"kind": "colouring", "points": [0, 1, 2, 3, 4, 5]}}}
    ]


def unproven_merge(document, arrays):
    arrays.append(np.array([[0, 4, 2, 3]], np.int32))
    document["nodes"][0]["steps"] = [{"merge": len(arrays) - 1}]


def unproven_far_pair(document, arrays):
    arrays.append(np.array([[0, 2]], np.int32))
    document["nodes"][0]["steps"] = [fix(1e3, far=len(arrays) - 1)]


def far_pair_in_a_block(document, arrays):
    arrays.append(np.array([[0, 1]], np.int32))
    document["nodes"][0]["steps"] = [fix(1e-3, far=len(arrays) - 1)]


def far_point_that_is_none(document, arrays):
    arrays.append(np.array([[0, 6]], np.int32))
    document["nodes"][0]["steps"] = [fix(1e-3, far=len(arrays) - 1)]


def negative_far_point(document, arrays):
    arrays.append(np.array([[0, -1]], np.int32))
    document["nodes"][0]["steps"] = [fix(1e-3, far=len(arrays) - 1)]


def refuted_without_a_proof(document, arrays):
    fixing = fix(document["cost"], [[0, 2, "together", 1]])
    document["nodes"] = [
        {"steps": [fixing], "end": {"open": True}},
        {"steps": [], "end": {"open": True}},
    ]


def raised_below(document, arrays):
    refuted_without_a_proof(document, arrays)
    stated = 0.5 * (1 - 1e-12)
    document["nodes"][1]["steps"] = [{"bound": stated, "evidence": {"kind": "scatter"}}]
    document["nodes"][0]["steps"][0]["fix"]["below"] = float(np.nextafter(stated, 1))


def refuted_by_infinity(document, arrays):
    raised_below(document, arrays)
    document["nodes"][0]["steps"][0]["fix"]["below"] = None


def split_of_linked_points(document, arrays):
    document["nodes"][0]["end"]["split"][:2] = [2, 3]


def split_of_a_block(document, arrays):
    document["nodes"][0]["end"]["split"][:2] = [0, 1]


def swapped_children(document, arrays):
    split = document["nodes"][0]["end"]["split"]
    split[2:] = split[:1:-1]


def open_contradiction(document, arrays):
    refuted_without_a_proof(document, arrays)
    document["nodes"][0]["steps"] = [fix(1.0, [[2, 3, "apart", 1]])]


def steps_after_a_contradiction(document, arrays):
    open_contradiction(document, arrays)
    document["nodes"][1]["steps"] = [{"bound": 0.0, "evidence": {"kind": "scatter"}}]


def infeasible_status(document, arrays):
    document |= {"status": "infeasible", "labels": None, "cost": None, "lower_bound": None}
    del arrays[-1]


def other_k(document, arrays):
    document |= {"k": 4, "nodes": [{"steps": [], "end": {"open": True}}]}


def other_points(document, arrays):
    document["points"] = "0" * 64


def other_must_links(document, arrays):
    document["must_link"] = "0" * 64


def other_cannot_links(document, arrays):
    document["cannot_link"] = "0" * 64


def other_n(document, arrays):
    document["d"] = 3


FALSE = {
    swap_clusters: "labels: expected clusters 0, 1, ... in the order of their first points",
    other_label: "cost: states",
    fewer_clusters: "labels: 2 clusters; expected 3",
    tight_tolerance: "status: optimal to 1e-09",
    raised_bound: ", step 0: states a bound of",
    lowered_bound: ", step 0: states a bound of",
    higher_lower_bound: "lower_bound: states",
    lower_lower_bound: "lower_bound: states",
    higher_cost: "cost: states",
    lower_cost: "cost: states",
    no_conflict: ", end: nothing contradicts itself",
    no_clique: ", end: the points are not all of blocks that are cannot-linked",
    clique_of_a_block: "node 0, end: the points are not all",
    colourable: "node 0, end: the blocks of the points can be coloured with 3 colours",
    unproven_merge: "node 0, step 0: row 0 of the merges is not two cliques",
    unproven_far_pair: "node 0, step 0: far: points 0 and 2 are not proven to be apart",
    far_pair_in_a_block: "node 0, step 0: far: points 0 and 1 are not proven to be apart",
    far_point_that_is_none: "node 0, step 0: a point beyond 0..5",
    negative_far_point: "node 0, step 0: a point beyond 0..5",
    refuted_without_a_proof: "node 0, step 0: needs",
    raised_below: "node 0, step 0: needs 0.49999999999950007 from node",
    refuted_by_infinity: "node 0, step 0: needs inf from node",
    split_of_linked_points: "node 0, end: splits points 2 and 3, which are linked already",
    split_of_a_block: "node 0, end: splits points 0 and 1, which are linked already",
    swapped_children: "node ",
    steps_after_a_contradiction: "node 1, step 0: two points that share a block are cannot-linked",
    open_contradiction: "node 1, end: two points that share a block are cannot-linked; expected",
    infeasible_status: "lower_bound: states inf, the root proves",
    other_k: "is about k = 4; k is 3",
    other_points: "is about other points; expected a file that holds exactly the same numbers",
    other_must_links: "is about other must-links",
    other_cannot_links: "is about other cannot-links",
    other_n: "is about (6, 3) points and coordinates; the data have (6, 2)",
}


@pytest.mark.parametrize(("change", "why"), FALSE.items(), ids=lambda x: getattr(x, "__name__", ""))
def test_false_claims_are_rejected(sound, change, why):
    certificate = changed(sound, change)
    with pytest.raises(Rejected) as rejected:
        certificate.verified()
    assert why in str(rejected.value)
    assert "\n" not in str(rejected.value)


def array_of(document: dict[str, Any], name: str) -> int:
    return document["nodes"][0]["steps"][0]["evidence"][name]


EVIDENCE = {
    "N": (lambda N: N - 1, "N is negative"),
    "multipliers": (lambda t: -t, "a multiplier is negative"),
    "star_blocks": (lambda star: star + 9, "a cut has a block outside of"),
    "star_start": (lambda start: start * 2, "the starts of stars: expected numbers in"),
    "cliques": (lambda cliques: cliques - 1, "a cut has a block outside of"),
    "complements": (lambda _: np.array([[0, 1, 2]], np.int32), ""),
}


@pytest.mark.parametrize("name", EVIDENCE)
def test_false_evidence_is_rejected(name):
    certificate = built(Instance(POINTS, 3, must_link=[(0, 1)], cannot_link=[(2, 3)]), fixing=True)
    assert certificate.verified().status == "optimal"
    assert certificate.verified().n_fixings > 0

    def change(document, arrays):
        at = array_of(document, name)
        arrays[at] = EVIDENCE[name][0](arrays[at])

    with pytest.raises(Rejected, match=f"node 0, step 0: {EVIDENCE[name][1]}"):
        changed(certificate, change).verified()


@pytest.mark.parametrize("least", [-0.1, 0.0, 1e300])
def test_clusters_worth_less_are_found(least):
    certificate = built(Instance(POINTS, 3, must_link=[(0, 1)], cannot_link=[(2, 3)]), fixing=True)

    def change(document, arrays):
        document["nodes"][0]["steps"][1]["evidence"]["least"] = least

    with pytest.raises(Rejected, match="node 0, step 1: "):
        changed(certificate, change).verified()


def test_labels_keep_the_constraints(sound):
    for label, why in (([0, 1, 1, 2, 2, 2], "must link"), ([0, 0, 1, 1, 2, 2], "cannot link")):

        def change(document, arrays, label=label):
            arrays[-1] = np.array(label, np.int32)

        with pytest.raises(Rejected, match=why):
            changed(sound, change).verified()


def test_an_odd_cycle_needs_odd_length():
    square = Instance(POINTS, 2, cannot_link=[(0, 1), (1, 2), (2, 3), (3, 0)])
    certificate = built(square)
    assert certificate.verified().status == "optimal"
    infeasible = [{"steps": [], "end": {"infeasible": {"kind": "conflict"}}}]

    def change(document, arrays):
        document["nodes"] = infeasible
        infeasible_status(document, arrays)

    with pytest.raises(Rejected, match="nothing contradicts itself"):
        changed(certificate, change).verified()
    triangle = built(Instance(POINTS, 2, cannot_link=[(0, 1), (1, 2), (2, 0)]))
    assert triangle.document["nodes"] == infeasible
    assert triangle.verified().status == "infeasible"


def test_a_colouring_that_does_not_exist_is_a_proof():
    cycle = [(i, (i + 1) % 5) for i in range(5)]
    wheel = Instance(np.arange(6.0)[:, None], 3, cannot_link=cycle + [(i, 5) for i in range(5)])
    certificate = built(wheel)
    end = {"infeasible": {"kind": "colouring", "points": [0, 1, 2, 3, 4, 5]}}
    certificate.document["nodes"] = [{"steps": [], "end": end}]
    certificate.arrays.clear()
    assert certificate.verified().status == "infeasible"
    end["infeasible"]["points"] = [0, 1, 2, 3, 4]
    with pytest.raises(Rejected, match="can be coloured with 3 colours"):
        certificate.verified()


def test_merges_leave_one_cluster():
    points = np.array([[0.0], [0.1], [5.0], [9.0], [14.0]])
    cannot_link = [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    certificate = built(Instance(points, 3, cannot_link=cannot_link))
    builder_rows = np.array([[0, 1, 3, 2]], np.int32)
    after = built(Instance(points, 3, must_link=[(0, 1)], cannot_link=cannot_link))
    certificate.document["nodes"] = after.document["nodes"]
    certificate.arrays[:] = [builder_rows, after.arrays[-1]]
    certificate.document |= {"labels": 1, "lower_bound": after.document["lower_bound"]}
    certificate.document["nodes"][0]["steps"] = [{"merge": 0}]
    assert certificate.verified().status == "optimal"


def test_infinity_is_what_infeasible_nodes_refute():
    """0 and 1 share a cluster in no clustering: apart from what they cost."""
    points = np.arange(4.0)[:, None]
    instance = Instance(points, 3, cannot_link=[(0, 2), (1, 3), (2, 3), (0, 3)])
    certificate = built(instance)
    assert certificate.verified().status == "optimal"
    conflict = {"steps": [], "end": {"infeasible": {"kind": "clique", "points": [0, 1, 2, 3]}}}
    fixing = fix(None, [[1, 2, "together", 1]])
    certificate.document["nodes"] = [
        {"steps": [fixing], "end": {"open": True}},
        conflict,
    ]
    certificate.document |= {"status": "feasible", "lower_bound": 0.0}
    with pytest.raises(Rejected, match="node 1, end: the points are not all"):
        certificate.verified()
    apart = built(Instance(points, 3, cannot_link=[(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)]))
    apart.document["nodes"] = [
        {"steps": [fix(None, [[1, 2, "together", 1]])], "end": {"open": True}},
        conflict,
    ]
    apart.document |= {"status": "feasible", "lower_bound": 0.0}
    assert apart.verified().n_fixings == 1


def test_deep_trees_need_no_recursion():
    n = 50
    points = np.arange(float(n))[:, None]
    nodes: list[dict[str, Any]] = []
    for i, j in zip(*np.triu_indices(n, 1), strict=True):
        split = [int(i), int(j), len(nodes) + 1, len(nodes) + 2]
        nodes.append({"steps": [], "end": {"split": split}})
        nodes.append({"steps": [], "end": {"open": True}})
    nodes.append({"steps": [], "end": {"open": True}})
    document = built(Instance(points[:4], 3)).document | {
        "n": n,
        "points": digests.of_points(points),
        "status": "unknown",
        "labels": None,
        "cost": None,
        "lower_bound": 0.0,
        "nodes": nodes,
    }
    assert Built(Instance(points, 3), document, []).verified().n_nodes == n * (n - 1) + 1


def certified(points, k, labels, tolerance=1e-4) -> Built:
    """A certificate that calls labels optimal, and proves nothing."""
    points = np.array(points)
    instance = Instance(points, k)
    cost = Geometry.of(points).cost_at_most(np.array(labels))
    document = {
        "written_by": "a test",
        "n": len(points),
        "d": points.shape[1],
        "k": k,
        "points": digests.of_points(points),
        "must_link": digests.of_pairs([]),
        "cannot_link": digests.of_pairs([]),
        "rules": digests.of_rules(()),
        "tolerance": tolerance,
        "status": "optimal",
        "labels": 0,
        "cost": cost,
        "lower_bound": 0.0,
        "nodes": [{"steps": [], "end": {"open": True}}],
    }
    return Built(instance, document, [np.array(labels, np.int32)])


def test_a_far_point_by_itself_makes_nothing_optimal():
    """However far it is: the best clustering costs 0.5, and not 2, as this one does."""
    outlier = certified([[0.0], [1.0], [3.0], [1e17]], 3, [0, 1, 1, 2])
    with pytest.raises(Rejected, match=r"status: optimal to 0\.0001; the cost is 2\.0"):
        outlier.verified()
    outlier.document["status"] = "feasible"
    verdict = outlier.verified()
    assert (verdict.status, verdict.gap) == ("feasible", 1.0)
    assert "gap          100%\n" in str(verdict)


@pytest.mark.parametrize(("far", "step"), [(2.0**51, 1.0), (1e10, 1e-6), (1e17, 16.0)])
def test_no_size_of_other_coordinates_makes_a_cost_optimal(far, step):
    """The best clustering costs a quarter of this one, wherever the two points are that it has in
    a cluster of their own."""
    points = [[far], [far], [0.0], [step], [2 * step], [3 * step]]
    wrong = certified(points, 3, [0, 0, 1, 2, 1, 2])
    with pytest.raises(Rejected, match=r"status: optimal to 0\.0001; the cost is "):
        wrong.verified()


def test_a_cost_of_0_is_that_of_points_that_coincide():
    equal = certified([[1e17], [1e17], [0.0]], 2, [0, 0, 1])
    verdict = equal.verified()
    assert (verdict.status, verdict.gap, verdict.cost) == ("optimal", 0.0, 0.0)
    next_to_equal = certified([[1e17], [1e17 + 16], [0.0]], 2, [0, 0, 1])
    with pytest.raises(Rejected, match="status: optimal"):
        next_to_equal.verified()
    next_to_equal.document["cost"] = 0.0
    with pytest.raises(Rejected, match=r"cost: states 0\.0, the labels cost 128"):
        next_to_equal.verified()


def test_a_tolerance_of_all_of_the_cost_is_none():
    with pytest.raises(Rejected, match=r"tolerance: 1\.0; expected a finite number"):
        certified(POINTS, 3, [0, 0, 1, 1, 2, 2], tolerance=1.0).verified()


def bomb(shape: list[int], dtype: str = "<i4") -> tuple[bytes, list[Any]]:
    """Zeros of so many: bytes, and their entry in the table."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    compressor = zlib.compressobj(9)
    parts = [compressor.compress(bytes(min(2**22, size - at))) for at in range(0, size, 2**22)]
    data = b"".join([*parts, compressor.flush()])
    return data, [dtype, shape, len(data)]


def sealed(document: dict[str, Any], arrays: list[tuple[bytes, list[Any]]]) -> bytes:
    text = json.dumps({**document, "arrays": [entry for _, entry in arrays]}).encode()
    content = b"".join(
        [CERTIFICATE.first_line, b"%d\n" % len(text), text, *(data for data, _ in arrays)]
    )
    return content + hashlib.sha256(content).digest()


BOMBS = {
    "merge": ({"merge": 0}, [bomb([2**21, 4])], "merges: 2097152 rows; expected at most 6"),
    "far": (fix(1.0, far=0), [bomb([2**22, 2])], "far: 4194304 rows; expected at most 15"),
    "N": (
        {
            "bound": 0.0,
            "evidence": {
                "kind": "semidefinite",
                "unit": 1.0,
                "N": 0,
                "star_start": 1,
                "star_blocks": 2,
                "cliques": 3,
                "complements": 4,
                "pentagons": 6,
                "estimate_start": 7,
                "estimates": 8,
                "multipliers": 5,
            },
        },
        [
            bomb([2**22], "<f8"),
            bomb([1], "<i8"),
            bomb([0]),
            bomb([0, 4]),
            bomb([0, 3]),
            bomb([0], "<f8"),
            bomb([0, 5]),
            bomb([1], "<i8"),
            bomb([0, 3]),
        ],
        r"N should be 21 numbers, not of shape \(4194304,\)",
    ),
    "prices": (
        {"bound": 0.0, "evidence": {"kind": "lagrangian", "prices": 0, "least": 0.0}},
        [bomb([2**22], "<f8")],
        "4194304 prices; expected one for each of 6 blocks",
    ),
    "triples": (
        {
            "bound": 0.0,
            "evidence": {
                "kind": "enumerated",
                "below": 1.0,
                "prices": 0,
                "least": 0.0,
                "share_prices": 0,
                "triples": 1,
                "penalties": 2,
            },
        },
        [bomb([6], "<f8"), bomb([2**21, 3]), bomb([2**21], "<f8")],
        "2097152 triples, 2097152 penalties; expected as many, at most 2000",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_small_files_take_little_memory(name):
    step, arrays, why = BOMBS[name]
    document = certified(POINTS, 3, [0, 0, 1, 1, 2, 2]).document | {
        "status": "unknown",
        "labels": None,
        "cost": None,
        "nodes": [{"steps": [step], "end": {"open": True}}],
    }
    data = sealed(document, arrays)
    assert len(data) < 2**16
    tracemalloc.start()
    try:
        with pytest.raises(Rejected, match=why):
            verify(Certificate.read(data), POINTS, 3, (), ())
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


def test_states_that_wait_take_little_memory():
    """One waits for each of 200 nodes on the way; a matrix of 300 blocks is of 90,000 bytes."""
    n, depth = 300, 200
    points = np.arange(float(n))[:, None]
    nodes: list[dict[str, Any]] = []
    for number in range(depth):
        here = len(nodes)
        # The first child is looked at first, and it is the deep one.
        nodes.append({"steps": [], "end": {"split": [0, number + 1, here + 2, here + 1]}})
        nodes.append({"steps": [], "end": {"open": True}})
    nodes.append({"steps": [], "end": {"open": True}})
    document = certified(points, 3, [0, 1, *[2] * (n - 2)]).document | {
        "status": "unknown",
        "labels": None,
        "cost": None,
        "nodes": nodes,
    }
    certificate = Certificate.read(pack(document, []))
    root = Blocks.of(n, 3, *[np.empty((0, 2), np.int64)] * 2)
    geometry = Geometry.of(points)
    tracemalloc.start()
    try:
        assert tree_value(certificate, root, geometry) == 0.0
        assert tracemalloc.get_traced_memory()[1] < depth * n**2 // 8
    finally:
        tracemalloc.stop()


def test_order_and_repetition_of_constraints_do_not_matter(sound):
    certificate = Certificate.read(sound.data)
    verdict = verify(certificate, POINTS, 3, [(1, 0), (0, 1)], [(2, 4), (3, 2), (2, 3)])
    assert verdict.status == "optimal"


@pytest.mark.parametrize(
    ("points", "must_link", "says"),
    [
        (np.zeros(6), (), "points"),
        (np.full((6, 2), np.nan), (), "points"),
        (POINTS, [(0, 0)], "must_link"),
        (POINTS, [(0, 6)], "must_link"),
        (POINTS, [(0.0, 1.0)], "must_link"),
    ],
)
def test_what_is_no_instance_is_an_error(sound, points, must_link, says):
    with pytest.raises(ValueError, match=says):
        verify(Certificate.read(sound.data), points, 3, must_link, [])


def test_a_bound_above_the_cost_of_the_labels_is_a_contradiction(sound, monkeypatch):
    """No proof can come to that: were the mathematics wrong somewhere, it would be told."""
    monkeypatch.setattr("sdpbb.checker.evidence.scatter.scatter_bound", lambda *_: 99.0)

    def change(document, arrays):
        for node in document["nodes"]:
            for step in node["steps"]:
                step["bound"] = 99.0
        document["lower_bound"] = 99.0

    with pytest.raises(Rejected, match=r"the lower bound 99\.0 is above the cost"):
        changed(sound, change).verified()
