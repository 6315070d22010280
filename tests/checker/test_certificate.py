import copy
from dataclasses import replace

import numpy as np
import pytest

from sdpbb.checker import cuts
from sdpbb.checker.certificate import Certificate
from sdpbb.checker.container import pack, unpack
from sdpbb.checker.cuts.inequalities import Family
from sdpbb.checker.evidence import Scatter, Semidefinite
from sdpbb.checker.fields import ArrayKey
from sdpbb.checker.nodes import Bound, Fix, Open, Split
from sdpbb.checker.rejection import Rejected
from sdpbb.problem import Instance
from tests.checker.building import built
from tests.checker.drawn_cuts import family_named

POINTS = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.5], [9.0, 9.0], [9.0, 7.0]]
SOUND = built(Instance(POINTS, 3, must_link=[(0, 1)], cannot_link=[(2, 3)]), fixing=True)
OPEN = {"open": True}
# Of the arrays of this certificate: the reals of N, and the labels.
N, LABELS = 0, len(SOUND.arrays) - 1


def read(document) -> Certificate:
    return Certificate.of(*unpack(pack(document, SOUND.arrays)))


def test_values_are_those_of_the_document():
    certificate = read(SOUND.document)
    assert (certificate.n, certificate.d, certificate.k) == (6, 2, 3)
    assert certificate.labels.load().tolist() == SOUND.arrays[LABELS].tolist()
    bound, prices, clusters, fixed, refuted = certificate.nodes[0].steps[:5]
    assert isinstance(bound, Bound)
    assert bound.source.kind is Semidefinite
    evidence = bound.source.load(5)
    assert evidence.N.dtype == np.float32
    assert evidence.cuts.arrays["cliques"].shape == (1, 4)
    assert prices.source.load(5).prices.tolist() == [0.125] * 5
    assert evidence.cuts.arrays["estimates"].shape == (2, 3)
    assert clusters.source.load(5).triples.tolist() == [[0, 1, 2]]
    assert isinstance(fixed, Fix)
    assert fixed.below == SOUND.document["cost"]
    assert refuted.refuted
    assert all(entry.node in certificate.nodes[0].children for entry in refuted.refuted)
    kinds = {type(node.end) for node in certificate.nodes}
    assert {Open, Split} <= kinds
    leaf = next(node for node in certificate.nodes if isinstance(node.end, Open) and node.steps)
    assert leaf.steps[-1].source.kind is Scatter


def without(name):
    return lambda document: document.pop(name)


def put(*path_and_value):
    """Sets document[path...] = value."""
    *path, key, value = path_and_value

    def change(document):
        for name in path:
            document = document[name]
        document[key] = value

    return change


def step(value):
    return put("nodes", 0, "steps", 0, value)


def evidence(**changes):
    def change(document):
        document["nodes"][0]["steps"][0]["evidence"] |= changes

    return change


def end(value):
    return put("nodes", 0, "end", value)


def fixing(**changes):
    def change(document):
        document["nodes"][0]["steps"][3]["fix"] |= changes

    return change


def second_reference(document):
    split = next(node["end"]["split"] for node in document["nodes"] if "split" in node["end"])
    split[3] = split[2]


def backward_reference(document):
    nodes = document["nodes"]
    at = next(v for v in range(1, len(nodes)) if "split" in nodes[v]["end"])
    nodes[at]["end"]["split"][2] = 0


STEP0, STEP3, END = "node 0, step 0: ", "node 0, step 3: ", "node 0, end: "
WRONG = {
    "missing": (without("cost"), "'cost' is missing"),
    "unknown": (put("colour", 1), "unknown key 'colour'"),
    "written_by": (put("written_by", 1), "written_by: expected text"),
    "n": (put("n", 6.0), "n: 6.0; expected a whole number in 1..2147483647"),
    "many points": (put("n", 2**31), "n: 2147483648; expected a whole number in 1..2147483647"),
    "many coordinates": (put("d", 10**19), "expected a whole number in 1..2147483647"),
    "true": (put("k", True), "k: True; expected a whole number"),
    "k": (put("k", 0), "k: 0; expected a whole number in 1..6"),
    "many clusters": (put("k", 7), "k: 7; expected a whole number in 1..6"),
    "digest": (put("points", "ABC"), "points: 'ABC'; expected 64 hexadecimal digits"),
    "upper case": (put("points", "A" * 64), "expected 64 hexadecimal digits"),
    "tolerance": (put("tolerance", -1.0), "tolerance: -1.0; expected a finite number >= 0"),
    "tolerance of all": (
        put("tolerance", 1),
        "tolerance: 1.0; expected a finite number >= 0.0 and",
    ),
    "cost": (put("cost", "1"), "cost: '1'; expected a finite number"),
    "large": (put("cost", 10**19), "cost: 10000000000000000000; expected a finite number"),
    "status": (put("status", "sure"), "status: 'sure'; expected optimal or"),
    "status type": (put("status", ["optimal"]), "expected optimal or"),
    "no labels": (put("labels", None), "labels: expected a value where the status is 'optimal'"),
    "no bound": (put("lower_bound", None), "lower_bound: expected a value"),
    "unknown labels": (put("status", "unknown"), "labels: expected null"),
    "infeasible": (put("status", "infeasible"), "labels: expected null"),
    "labels dtype": (put("labels", N), "labels: an array of <f4"),
    "labels place": (put("labels", 99), "labels: 99; expected a whole number in 0.."),
    "labels index": (put("labels", -1), "labels: -1; expected a whole number in 0.."),
    "no nodes": (put("nodes", []), "nodes: none; expected at least the root"),
    "nodes": (put("nodes", {}), "nodes: {}; expected a list"),
    "node": (put("nodes", 0, []), "node 0: []; expected an object with steps, end"),
    "node key": (put("nodes", 0, "x", 1), "node 0: unknown key 'x'"),
    "steps": (put("nodes", 0, "steps", None), "node 0: steps: None; expected a list"),
    "step": (step(1), STEP0 + "1; expected merge, equal, bound or fix"),
    "other step": (step({"cut": 1}), STEP0 + "'fix' is missing"),
    "two steps": (step({"merge": 1, "bound": 1}), STEP0 + "unknown key 'bound'"),
    "merge": (step({"merge": LABELS}), STEP0 + "merge: an array of <i4 (6,)"),
    "bound": (step({"bound": None, "evidence": {}}), STEP0 + "bound: None"),
    "evidence": (step({"bound": 0.0, "evidence": {}}), STEP0 + "evidence: expected the kind"),
    "scatter": (
        step({"bound": 0.0, "evidence": {"kind": "scatter", "x": 0}}),
        STEP0 + "unknown key 'x'",
    ),
    "unit": (evidence(unit=None), STEP0 + "unit: None; expected a finite number"),
    "N": (evidence(N=LABELS), STEP0 + "N: an array of <i4 (6,); expected <f8 or <f4 (number,)"),
    "cliques": (evidence(cliques=4), STEP0 + "cliques: an array of <i4 (0, 3)"),
    "multipliers": (evidence(multipliers=True), STEP0 + "multipliers: True"),
    "evidence key": (evidence(x=1), STEP0 + "unknown key 'x'"),
    "kind": (evidence(kind="lagrangian"), STEP0 + "'prices' is missing"),
    "below": (fixing(below="x"), STEP3 + "below: 'x'; expected a finite number"),
    "far beyond infinity": (fixing(below=None, far=6), STEP3 + "below: null; expected a number"),
    "far": (fixing(far=LABELS), STEP3 + "far: an array of <i4 (6,)"),
    "refuted": (fixing(refuted=[[0, 2, "apart"]]), STEP3 + "refuted: [0, 2, 'apart']"),
    "link": (fixing(refuted=[[0, 2, "far", 1]]), STEP3 + "refuted: 'far'; expected together or"),
    "point": (fixing(refuted=[[0, 6, "apart", 1]]), STEP3 + "a point: 6; expected a whole number"),
    "excluded": (fixing(excluded={}), STEP3 + "'pairs' is missing"),
    "excluded evidence": (
        fixing(excluded={"pairs": 6, "evidence": {"kind": "scatter"}}),
        STEP3 + "excluded: expected semidefinite evidence",
    ),
    "end": (end(None), END + "None; expected open, split or infeasible"),
    "closed": (end({"open": False}), END + "open: False; expected true"),
    "one": (end({"open": 1}), END + "open: 1; expected true"),
    "split": (end({"split": [0, 2, 1]}), END + "split: [0, 2, 1]; expected a list of 4"),
    "split point": (end({"split": [0, -1, 1, 2]}), END + "a point: -1"),
    "reason": (end({"infeasible": True}), END + "True; expected an object with kind, points"),
    "reason kind": (end({"infeasible": {"kind": "x", "points": []}}), END + "kind: 'x'"),
    "conflict": (end({"infeasible": {"kind": "conflict", "points": []}}), END + "unknown key"),
    "clique": (
        end({"infeasible": {"kind": "clique", "points": [0, 1]}}),
        END + "a clique of 2 points; expected k + 1 = 4",
    ),
    "unreferenced node": (
        lambda document: document["nodes"].append({"steps": [], "end": OPEN}),
        "is not referred to",
    ),
    "node referred to twice": (second_reference, "as another place does"),
    "node that is the root": (backward_reference, "refers to node 0; expected a number in"),
    "child beyond all": (
        fixing(refuted=[[0, 2, "apart", 2**31]]),
        "refuted: 2147483648; expected a whole number in 0..2147483647",
    ),
    "child that is none": (fixing(refuted=[[0, 2, "apart", 10**9]]), "refers to node 1000000000"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_documents_are_rejected(name):
    change, why = WRONG[name]
    document = copy.deepcopy(SOUND.document)
    change(document)
    with pytest.raises(Rejected) as rejected:
        read(document)
    assert why in str(rejected.value)
    assert "\n" not in str(rejected.value)


def test_messages_hold_no_huge_numbers():
    """What is no number of a file, but might be given as a document."""
    for change in (put("k", 10**5000), put("nodes", 0, "steps", [10**5000])):
        document, arrays = copy.deepcopy(SOUND.document), unpack(SOUND.data)[1]
        change(document)
        with pytest.raises(Rejected, match="a value that is too long to be shown; expected"):
            Certificate.of(document, arrays)


def test_evidence_of_another_size_is_refused_before_it_is_loaded():
    certificate = read(SOUND.document)
    bound, prices, clusters = certificate.nodes[0].steps[:3]
    unreadable = {"place": range(0)}
    source = with_array(bound.source, "N", **unreadable)
    with pytest.raises(Rejected, match=r"N should be 10 numbers, not of shape \(15,\)"):
        source.load(4)
    with pytest.raises(Rejected, match="5 prices; expected one for each of 4 blocks"):
        prices.source.load(4)
    with pytest.raises(Rejected, match="prices of 5 and 5; expected one for each of 4 blocks"):
        clusters.source.load(4)
    with pytest.raises(Rejected, match="1 triples, 0 penalties; expected as many, at most 2000"):
        with_array(clusters.source, "penalties", shape=(0,), **unreadable).load(5)
    with pytest.raises(Rejected, match=r"3 cuts, but multipliers of shape \(0,\)"):
        with_array(bound.source, "multipliers", shape=(0,), **unreadable).load(5)
    many = with_array(bound.source, "cliques", shape=(64 * 100_025 // 4, 4), **unreadable)
    with pytest.raises(Rejected, match="the cuts have more than 6401600 entries"):
        many.load(5)


def with_array(source, name, **changes):
    """A source with one of its arrays changed."""
    return replace(source, values={**source.values, name: replace(source.values[name], **changes)})


def test_a_file_older_than_a_family_has_none_of_its_cuts(monkeypatch):
    evidence = read(SOUND.document).nodes[0].steps[0].source.load(5)
    complements = family_named("complements")
    later = Family("later", (ArrayKey("later", ("<i4",), 3),), complements.rule, "enumeration")
    monkeypatch.setattr(cuts, "FAMILIES", (*cuts.FAMILIES, later))
    older = read(SOUND.document).nodes[0].steps[0].source.load(5)
    assert len(older.cuts) == len(evidence.cuts)
    assert list(older.cuts.arrays) == list(evidence.cuts.arrays)
    document = copy.deepcopy(SOUND.document)
    newer = document["nodes"][0]["steps"][0]["evidence"]
    newer["later"] = newer["complements"]
    assert "later" in read(document).nodes[0].steps[0].source.load(5).cuts.arrays
    monkeypatch.undo()
    with pytest.raises(Rejected, match="unknown key 'later'"):
        read(document)


def test_every_array_is_referred_to():
    arrays = [*SOUND.arrays, np.zeros(3)]
    with pytest.raises(Rejected, match=rf"arrays\[{len(SOUND.arrays)}\] is not referred to"):
        Certificate.of(*unpack(pack(SOUND.document, arrays)))


def test_whole_numbers_may_stand_for_others():
    document = copy.deepcopy(SOUND.document) | {"tolerance": 0}
    assert read(document).tolerance == 0.0
