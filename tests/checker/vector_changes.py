"""Changes of the parts of a certificate to accept, each of which is to be rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.checker.parts import Parts, Step

Change = Callable[[Parts], str | None]
"""Changes parts in place; returns what the reason of the rejection says, None if it cannot."""
CHANGES: dict[str, Change] = {}


def change(function: Change) -> Change:
    CHANGES[function.__name__] = function
    return function


def _claims(name: str, value: Any, says: str) -> None:
    def changed(parts: Parts) -> str | None:
        if name in parts.claim and parts.claim[name] == value:
            return None
        parts.claim[name] = value
        return says

    CHANGES[f"claim_{name}_{len(CHANGES)}"] = changed


for _name, _says in (
    ("points", "is about other points"),
    ("must_link", "is about other must-links"),
    ("cannot_link", "is about other cannot-links"),
    ("rules", "is about other constraints on clusters"),
    ("weights", "is about other weights of points"),
    ("soft_must_link", "is about other soft must-links"),
    ("soft_cannot_link", "is about other soft cannot-links"),
):
    _claims(_name, "0" * 64, _says)
_claims("points", "ABC", "points: 'ABC'; expected 64 hexadecimal digits")
_claims("n", 2**31, "expected a whole number in 1..2147483647")
_claims("n", 7.0, "n: 7.0; expected a whole number")
_claims("d", True, "d: True; expected a whole number")
_claims("d", 7, "points and coordinates; the data have")
_claims("k", 0, "k: 0; expected a whole number")
_claims("certificate", 2, "format 2; expected 3")
_claims("written_by", 1, "written_by: expected text")
_claims("tolerance", 1.0, "tolerance: 1.0; expected a finite number")
_claims("status", "sure", "status: 'sure'; expected optimal or")
_claims("cost", "1", "expected")
_claims("colour", 1, "unknown key 'colour'")


@change
def without_a_key(parts: Parts) -> str:
    del parts.claim["tolerance"]
    return "'tolerance' is missing"


@change
def claimed_infeasible(parts: Parts) -> str | None:
    if parts.claim["status"] == "infeasible":
        return None
    parts.unclaimed().claim |= {"status": "infeasible", "lower_bound": None}
    return "lower_bound: states inf, the root proves"


@change
def higher_bound(parts: Parts) -> str | None:
    if not parts.claim["lower_bound"]:
        return None
    parts.claim["lower_bound"] *= 1 + 1e-9
    return "lower_bound: states"


@change
def lower_bound(parts: Parts) -> str | None:
    if not parts.claim["lower_bound"]:
        return None
    parts.claim["lower_bound"] *= 1 - 1e-15
    return "lower_bound: states"


@change
def higher_cost(parts: Parts) -> str | None:
    if not parts.claim["cost"]:
        return None
    parts.claim["cost"] *= 1 + 1e-8
    return "cost: states"


@change
def closer_than_proven(parts: Parts) -> str | None:
    lower, cost = parts.claim["lower_bound"], parts.claim["cost"]
    if cost is None or cost - lower < 1e-6 * cost:
        return None
    parts.claim |= {"tolerance": 0.0, "status": "optimal"}
    return "status: optimal to 0.0"


@change
def other_names_of_clusters(parts: Parts) -> str | None:
    if parts.labels is None or parts.claim["k"] < 2:
        return None
    parts.labels = np.array([1, 0, *range(2, parts.claim["k"])], np.int32)[parts.labels]
    return "labels: expected clusters 0, 1, ... in the order of their first points"


@change
def a_cluster_fewer(parts: Parts) -> str | None:
    if parts.labels is None or parts.claim["k"] < 2:
        return None
    parts.labels = np.minimum(parts.labels, parts.claim["k"] - 2)
    return f"labels: {parts.claim['k'] - 1} clusters; expected {parts.claim['k']}"


@change
def no_labels(parts: Parts) -> str | None:
    if parts.labels is None:
        return None
    parts.labels = None
    return "labels: there is no such array in the file"


@change
def labels_of_fewer_points(parts: Parts) -> str | None:
    if parts.labels is None:
        return None
    parts.labels = parts.labels[:-1]
    return "labels: an array of <i4"


@change
def labels_that_are_reals(parts: Parts) -> str | None:
    if parts.labels is None:
        return None
    parts.labels = parts.labels.astype(float)
    return "labels: an array of <f8"


@change
def a_line_fewer(parts: Parts) -> str:
    parts.steps.pop()
    return "expected the end of each node" if parts.steps else "the root proves"


@change
def a_line_more(parts: Parts) -> str:
    parts.steps.append(Step(["open"]))
    return "a step after the end of the proof"


@change
def an_unknown_step(parts: Parts) -> str:
    parts.steps.insert(0, Step(["trust"]))
    if any(step.name == "subset" for step in parts.steps):
        return "a step before the first subset"
    return "'trust'; expected merge, equal, bound, fix, or the end of a node"


@change
def a_step_that_is_no_list(parts: Parts) -> str:
    parts.steps[-1] = Step({"open": True})  # type: ignore[arg-type]
    return "expected a list that begins with a word"


@change
def nothing_but_open(parts: Parts) -> str | None:
    if parts.claim["status"] != "optimal" or not parts.claim["lower_bound"]:
        return None
    parts.steps = [Step(["open"])]
    return "lower_bound: states"


def _bound(parts: Parts, word: str | None = None) -> Step | None:
    found = [
        step for step in parts.named_steps("bound") if word is None or step.evidence[0] == word
    ]
    return next((step for step in found if step.words[1] > 0.0), None)


def _scaled_bound(factor: float) -> Change:
    def changed(parts: Parts) -> str | None:
        if (step := _bound(parts)) is None:
            return None
        step.words[1] *= factor
        return "states a bound of"

    return changed


CHANGES["raised_bound"] = _scaled_bound(1 + 1e-7)
CHANGES["lowered_bound"] = _scaled_bound(1 - 1e-7)


@change
def a_bound_that_is_no_number(parts: Parts) -> str | None:
    if (step := _bound(parts)) is None:
        return None
    step.words[1] = None
    return "bound: None; expected a finite number"


@change
def unknown_evidence(parts: Parts) -> str | None:
    if (step := _bound(parts)) is None:
        return None
    step.words[2], step.arrays = ["faith"], {}
    return "evidence: 'faith'; expected"


def _on_array(name: str, of: Callable[[np.ndarray], np.ndarray], says: str) -> Change:
    def changed(parts: Parts) -> str | None:
        step = next((s for s in parts.steps if name in s.arrays and s.arrays[name].size), None)
        if step is None:
            return None
        step.arrays[name] = of(step.arrays[name])
        return says

    return changed


def _with(place: int, value: float) -> Callable[[np.ndarray], np.ndarray]:
    def changed(array: np.ndarray) -> np.ndarray:
        copied = array.copy()
        copied.reshape(-1)[place] = value
        return copied

    return changed


CHANGES |= {
    "N_negative": _on_array("N", lambda N: N - abs(N).max() - 1, "N is negative, or no number"),
    "N_no_number": _on_array("N", _with(0, np.nan), "N is negative, or no number"),
    "N_infinite": _on_array("N", _with(0, np.inf), "dual values are too large"),
    "N_shorter": _on_array("N", lambda N: N[:-1], "N: an array of"),
    "N_of_halves": _on_array("N", lambda N: N.astype(np.float16), "N: an array of <f2"),
    "multipliers_negative": _on_array("multipliers", lambda t: -t - 1, "a multiplier is negative"),
    "multipliers_fewer": _on_array("multipliers", lambda t: t[:-1], "multipliers: an array of"),
    "multipliers_tenfold": _on_array("multipliers", lambda t: 10 * t, "states|not proven|proves"),
    "blocks_beyond": _on_array("blocks", lambda b: b + 1000, "a cut has a block outside of"),
    "blocks_negative": _on_array("blocks", lambda b: b - 1000, "a cut has a block outside of"),
    "blocks_fewer": _on_array("blocks", lambda b: b[:-1], "blocks: an array of"),
    "blocks_of_longs": _on_array("blocks", lambda b: b.astype(np.int64), "blocks: an array of"),
    "parts_none": _on_array("parts", lambda q: 0 * q, "a capacity cut on more of a block"),
    "parts_more": _on_array("parts", lambda q: q + 1, "a capacity cut on more of a block"),
    "estimates_of_none": _on_array("estimates", lambda e: 0 * e, "for no points"),
    "estimates_at_no_place": _on_array("estimates", lambda e: e + 99, "a place that there is not"),
    "prices_raised": _on_array("prices", lambda p: p + abs(p).max(), "worth less|states|prove"),
    "prices_lowered": _on_array("prices", lambda p: 0.5 * p, "worth less|states|prove"),
    "prices_no_numbers": _on_array("prices", _with(0, np.nan), "is not a number of at most"),
    "prices_fewer": _on_array("prices", lambda p: p[:-1], "prices: an array of"),
    "prices_single": _on_array("prices", lambda p: p.astype("<f4"), "prices: an array of <f4"),
    "penalties_negative": _on_array("penalties", lambda v: -1 - v, "a penalty is negative"),
    "triples_of_one": _on_array("triples", lambda t: 0 * t, "a triple is not of three"),
    "triples_more": _on_array("triples", lambda t: t[:-1], "triples: an array of"),
    "merged_others": _on_array(
        "rows", lambda r: r[:, ::-1] if r.ndim > 1 else r[::-1], "is not two cliques|increasing"
    ),
    "far_beyond": _on_array("far", lambda p: p + 1000, "a point beyond"),
    "far_itself": _on_array("far", lambda p: 0 * p, "far: points 0 and 0 are not proven"),
    "excluded_itself": _on_array("excluded", lambda p: 0 * p, "excluded: points 0 and 0 are not"),
    "equal_others": _on_array(
        "pairs", lambda p: p + np.array([[0, 1]], np.int32), "are not equal|a point beyond"
    ),
}


@change
def an_array_more(parts: Parts) -> str:
    parts.steps[-1].arrays["thoughts"] = np.zeros(3)
    return "no step has such an array; expected none"


@change
def an_array_fewer(parts: Parts) -> str | None:
    step = next((step for step in parts.steps if step.arrays), None)
    if step is None:
        return None
    name = next(iter(step.arrays))
    del step.arrays[name]
    return f".{name}: there is no such array in the file|no number, for two blocks|the root proves"


@change
def a_unit_that_is_no_power_of_two(parts: Parts) -> str | None:
    if not (found := parts.evidences("dual")):
        return None
    found[0].evidence[1] *= 1.5
    return "not a power of two"


@change
def a_larger_unit(parts: Parts) -> str | None:
    if not (found := parts.evidences("dual")) or not found[0].arrays["N"].any():
        return None
    found[0].evidence[1] *= 1024.0
    return "states a bound of|not proven"


def _group(parts: Parts, word: str) -> list[Any] | None:
    groups = [group for step in parts.evidences("dual") for group in step.evidence[2]]
    return next((group for group in groups if group[0] == word), None)


def _on_group(word: str, place: int, value: Any, says: str) -> Change:
    def changed(parts: Parts) -> str | None:
        if (group := _group(parts, word)) is None:
            return None
        group[place] = value
        return says

    return changed


CHANGES |= {
    "unknown_cuts": _on_group("vectors", 0, "wishes", "expected a group that begins with one of"),
    "cuts_more": _on_group("vectors", 1, 2**20, "the cuts have more than|an array of"),
    "cuts_none": _on_group("vectors", 1, 0, "count: 0; expected a whole number"),
    "vector_of_halves": _on_group("vectors", 2, [0.5, -0.5], "vector: 0.5; expected a whole"),
    "vector_of_none": _on_group("vectors", 2, [], "an integer vector of 0 places"),
    "template_of_many": _on_group("templates", 2, 9, "places: 9; expected a whole number in 1..8"),
    "template_of_none": _on_group("templates", 3, [], "a template without entries"),
    "template_side": _on_group("templates", 4, 0.75, "a cut is not valid"),
    "template_beyond": _on_group("templates", 3, [[0, 7, 1.0]], "an entry beyond its"),
    "traces_end": _on_group("traces", 1, [10**6], "an array of|the cuts have more than"),
    "sets_of_kilograms": _on_group("sets", 2, "kilograms", "unit: 'kilograms'; expected"),
    "soft_pairs_maybe": _on_group("soft pairs", 2, "maybe", "link: 'maybe'; expected cannot or"),
    "rows_of_all": _on_group("measure rows", 2, "all", "end: 'all'; expected most or least"),
    "listed_of_more": _on_group("listed cliques", 3, "middle", "end: 'middle'; expected largest"),
}


@change
def a_template_that_is_false(parts: Parts) -> str | None:
    """A triangle without Z_jh: i may share the clusters of neither."""
    if not (found := parts.evidences("dual")) or parts.claim["k"] < 3:
        return None
    step = found[0]
    entries = [[0, 0, 1.0], [0, 1, -1.0], [0, 2, -1.0]]
    step.evidence[2].append(["templates", 1, 3, entries, 0.0])
    blocks = step.arrays.get("blocks", np.empty(0, np.int32))
    step.arrays["blocks"] = np.append(blocks, [0, 0, 0]).astype(np.int32)
    t = step.arrays["multipliers"]
    step.arrays["multipliers"] = np.append(t, 1.0).astype(t.dtype)
    return "a cut is not valid"


@change
def two_groups_of_soft_pairs(parts: Parts) -> str | None:
    if (group := _group(parts, "soft pairs")) is None:
        return None
    step = next(s for s in parts.evidences("dual") if group in s.evidence[2])
    step.evidence[2].append(["soft pairs", 1, group[2]])
    step.arrays["blocks"] = np.append(step.arrays["blocks"], [0, 1, 2]).astype(np.int32)
    t = step.arrays["multipliers"]
    step.arrays["multipliers"] = np.append(t, 1.0).astype(t.dtype)
    return "two groups of soft pairs"


def _numbers(word: str, place: int, of: Callable[[float], float], says: str) -> Change:
    def changed(parts: Parts) -> str | None:
        if not (found := parts.evidences(word)):
            return None
        step = found[0]
        words = step.words[2] if step.name == "bound" else step.words
        at = place if step.name == "bound" else place + 1
        words[at] = of(words[at])
        return says

    return changed


CHANGES |= {
    "least_raised": _numbers("prices", 1, lambda x: x + abs(x) + 1, "worth less|prove"),
    "least_tenfold": _numbers("prices", 1, lambda x: 10 * x - 1, "states a bound|prove no"),
    "least_none": _numbers("prices", 1, lambda x: None, "least: None"),  # type: ignore[arg-type, return-value]
    "below_raised": _numbers("clusters", 1, lambda x: 1.5 * x, "costs less|more than|states|prove"),
    "below_nothing": _numbers("clusters", 1, lambda x: 0.0, "are enumerated below a cost of"),
}


def _split(parts: Parts) -> Step | None:
    return next(iter(parts.named_steps("split")), None)


@change
def a_split_of_a_point(parts: Parts) -> str | None:
    if (step := _split(parts)) is None:
        return None
    step.words[2] = step.words[1]
    return "which are linked already"


@change
def a_split_beyond(parts: Parts) -> str | None:
    if (step := _split(parts)) is None:
        return None
    step.words[1] = parts.claim["n"]
    return "a point: "


@change
def branches_exchanged(parts: Parts) -> str | None:
    if (step := _split(parts)) is None or parts.named_steps("subset"):
        return None
    at = parts.steps.index(step) + 1
    middle = parts.end_of_node(at) + 1
    last = parts.end_of_node(middle) + 1
    one, other = parts.steps[at:middle], parts.steps[middle:last]
    if [s.words for s in one] == [s.words for s in other]:
        return None
    parts.steps[at:last] = other + one
    return "line "


@change
def equal_points_late(parts: Parts) -> str | None:
    if not parts.named_steps("equal") or parts.steps[0].name != "equal":
        return None
    parts.steps.insert(0, Step(["bound", 0.0, ["scatter"]]))
    return "equal points; expected them first"


def _ends(words: list[Any], says: str) -> Change:
    def changed(parts: Parts) -> str | None:
        if not (found := parts.named_steps("open")) or parts.named_steps("subset"):
            return None
        step = found[0]
        step.words = [*words]
        if words[1:2] == ["clique"]:
            step.words.append(list(range(parts.claim["k"] + 1)))
        if words[1:2] == ["colouring"]:
            step.words.append(list(range(parts.claim["n"])))
        return says

    return changed


CHANGES |= {
    "end_conflict": _ends(["infeasible", "conflict"], "nothing contradicts itself"),
    "end_clique": _ends(["infeasible", "clique"], "the points are not of"),
    "end_colouring": _ends(["infeasible", "colouring"], "the blocks of the points can have"),
    "end_packing": _ends(["infeasible", "packing"], "can be put into clusters of allowed sizes"),
    "end_unknown": _ends(["infeasible", "luck"], "infeasible: 'luck'; expected"),
    "end_open_twice": _ends(["open", True], "expected an end of a node"),
}


@change
def an_open_contradiction(parts: Parts) -> str | None:
    if parts.steps[-1].words != ["infeasible", "conflict"]:
        return None
    parts.steps[-1] = Step(["open"])
    return "expected the end of the node, infeasible"


@change
def pairs_that_nothing_proves(parts: Parts) -> str | None:
    if parts.named_steps("subset") or parts.claim["lower_bound"] is None:
        return None
    first = 1 if parts.steps[0].name == "equal" else 0
    far = np.array([[0, parts.claim["n"] - 1]], np.int32)
    parts.steps.insert(first, Step(["fix", 1e300, None], {"far": far}))
    return "are not proven to be apart"


@change
def a_subset_twice(parts: Parts) -> str | None:
    if not parts.named_steps("subset"):
        return None
    parts.steps += parts.steps[: parts.end_of_node(1) + 1]
    return "is in subset 0, too"


@change
def a_subset_of_few(parts: Parts) -> str | None:
    if not (found := parts.named_steps("subset")):
        return None
    found[0].arrays["rows"] = found[0].arrays["rows"][:1]
    return ".rows: an array of"


@change
def a_subset_beyond(parts: Parts) -> str | None:
    if not (found := parts.named_steps("subset")):
        return None
    found[0].arrays["rows"] = found[0].arrays["rows"] + 1000
    return "rows: expected increasing numbers of points"
