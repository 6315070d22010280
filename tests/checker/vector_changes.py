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


def _of(find: Callable[[Parts], Any], do: Callable[[Any], object], says: str) -> Change:
    """What find returns is changed, if it is there."""

    def changed(parts: Parts) -> str | None:
        if not (found := find(parts)):
            return None
        do(found)
        return says

    return changed


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


def _claim_of(name: str) -> Callable[[Parts], Any]:
    """The claim, if it has a value for this name other than 0."""
    return lambda parts: parts.claim if parts.claim[name] else None


def _labelled(parts: Parts) -> Parts | None:
    """Parts with the labels of several clusters."""
    return parts if parts.labels is not None and parts.claim["k"] > 1 else None


def _labels(of: Callable[[np.ndarray], np.ndarray | None]) -> Callable[[Parts], None]:
    return lambda parts: setattr(parts, "labels", of(parts.labels))


def _bound(parts: Parts) -> Step | None:
    """A bound above 0."""
    return next((step for step in parts.named_steps("bound") if step.words[1] > 0.0), None)


def _words(place: int, of: Callable[[Any], Any]) -> Callable[[Step], None]:
    return lambda step: step.words.__setitem__(place, of(step.words[place]))


CHANGES |= {
    "without_a_key": _of(
        lambda parts: parts.claim, lambda c: c.pop("tolerance"), "'tolerance' is missing"
    ),
    "claimed_infeasible": _of(
        lambda parts: parts if parts.claim["status"] != "infeasible" else None,
        lambda parts: parts.unclaimed().claim.update(status="infeasible", lower_bound=None),
        "lower_bound: states inf, the root proves",
    ),
    **{
        f"{side}_{name}": _of(
            _claim_of(claimed),
            lambda c, claimed=claimed, factor=factor: c.update({claimed: c[claimed] * factor}),
            f"{claimed}: states",
        )
        for side, name, claimed, factor in (
            ("higher", "bound", "lower_bound", 1 + 1e-9),
            ("lower", "bound", "lower_bound", 1 - 1e-15),
            ("higher", "cost", "cost", 1 + 1e-8),
        )
    },
    "closer_than_proven": _of(
        lambda parts: (
            parts.claim
            if (cost := parts.claim["cost"]) and cost - parts.claim["lower_bound"] >= 1e-6 * cost
            else None
        ),
        lambda c: c.update(tolerance=0.0, status="optimal"),
        "status: optimal to 0.0",
    ),
    "other_names_of_clusters": _of(
        _labelled,
        _labels(lambda c: np.where(c < 2, 1 - c, c).astype(np.int32)),
        "labels: expected clusters 0, 1, ... in the order of their first points",
    ),
    "a_cluster_fewer": _of(
        _labelled, _labels(lambda c: np.minimum(c, c.max() - 1)), " clusters; expected "
    ),
    "no_labels": _of(
        _labelled, _labels(lambda c: None), "labels: there is no such array in the file"
    ),
    "labels_of_fewer_points": _of(_labelled, _labels(lambda c: c[:-1]), "labels: an array of <i4"),
    "labels_that_are_reals": _of(
        _labelled, _labels(lambda c: c.astype(float)), "labels: an array of <f8"
    ),
    "a_line_fewer": _of(
        lambda parts: parts.steps,
        lambda steps: steps.pop(),
        "expected the end of each node|the root proves",
    ),
    "a_line_more": _of(
        lambda parts: parts.steps,
        lambda steps: steps.append(Step(["open"])),
        "a step after the end of the proof",
    ),
    "an_unknown_step": _of(
        lambda parts: parts.steps,
        lambda steps: steps.insert(0, Step(["trust"])),
        "a step before the first subset"
        "|'trust'; expected merge, equal, bound, fix, or the end of a node",
    ),
    "a_step_that_is_no_list": _of(
        lambda parts: parts.steps,
        lambda steps: setattr(steps[-1], "words", {"open": True}),
        "expected a list that begins with a word",
    ),
    "nothing_but_open": _of(
        lambda parts: parts if parts.claim["status"] == "optimal" and _bound(parts) else None,
        lambda parts: setattr(parts, "steps", [Step(["open"])]),
        "lower_bound: states",
    ),
    "raised_bound": _of(_bound, _words(1, lambda x: x * (1 + 1e-7)), "states a bound of"),
    "lowered_bound": _of(_bound, _words(1, lambda x: x * (1 - 1e-7)), "states a bound of"),
    "a_bound_that_is_no_number": _of(
        _bound, _words(1, lambda x: None), "bound: None; expected a finite number"
    ),
    "unknown_evidence": _of(
        _bound,
        lambda step: (step.words.__setitem__(2, ["faith"]), step.arrays.clear()),
        "evidence: 'faith'; expected",
    ),
}


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


def _add_cut(step: Step, group: list[Any], blocks: list[int]) -> None:
    """A group of one cut more, with the multiplier 1."""
    step.evidence[2].append(group)
    before, t = step.arrays.get("blocks", np.empty(0, np.int32)), step.arrays["multipliers"]
    step.arrays["blocks"] = np.append(before, blocks).astype(np.int32)
    step.arrays["multipliers"] = np.append(t, 1.0).astype(t.dtype)


@change
def a_template_that_is_false(parts: Parts) -> str | None:
    """A triangle without Z_jh: i may share the clusters of neither."""
    if not (found := parts.evidences("dual")) or parts.claim["k"] < 3:
        return None
    entries = [[0, 0, 1.0], [0, 1, -1.0], [0, 2, -1.0]]
    _add_cut(found[0], ["templates", 1, 3, entries, 0.0], [0, 0, 0])
    return "a cut is not valid"


@change
def two_groups_of_soft_pairs(parts: Parts) -> str | None:
    if (group := _group(parts, "soft pairs")) is None:
        return None
    step = next(s for s in parts.evidences("dual") if group in s.evidence[2])
    _add_cut(step, ["soft pairs", 1, group[2]], [0, 1, 2])
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


def _split(parts: Parts) -> Parts | None:
    return parts if parts.named_steps("split") else None


def _whole(parts: Parts) -> Parts | None:
    """Parts without subsets that claim a bound."""
    has_bound = parts.claim["lower_bound"] is not None
    return parts if has_bound and not parts.named_steps("subset") else None


def _exchange(parts: Parts) -> None:
    """The two branches of the first split."""
    at = parts.steps.index(parts.named_steps("split")[0]) + 1
    middle = parts.end_of_node(at) + 1
    last = parts.end_of_node(middle) + 1
    parts.steps[at:last] = parts.steps[middle:last] + parts.steps[at:middle]


def _insert_far(parts: Parts) -> None:
    far = np.array([[0, parts.claim["n"] - 1]], np.int32)
    first = 1 if parts.steps[0].name == "equal" else 0
    parts.steps.insert(first, Step(["fix", 1e300, None], {"far": far}))


def _duals(parts: Parts) -> list[Any] | None:
    """The first semidefinite evidence with an N that is not 0."""
    found = parts.evidences("dual")
    return found[0].evidence if found and found[0].arrays["N"].any() else None


def _subset(of: Callable[[np.ndarray], np.ndarray]) -> Callable[[list[Step]], None]:
    return lambda found: found[0].arrays.update(rows=of(found[0].arrays["rows"]))


CHANGES |= {
    "an_array_more": _of(
        lambda parts: parts.steps,
        lambda steps: steps[-1].arrays.update(thoughts=np.zeros(3)),
        "no step has such an array; expected none",
    ),
    "an_array_fewer": _of(
        lambda parts: next((step.arrays for step in parts.steps if step.arrays), None),
        lambda arrays: arrays.pop(next(iter(arrays))),
        ": there is no such array in the file|no number, for two blocks|the root proves",
    ),
    "a_unit_that_is_no_power_of_two": _of(
        _duals, lambda evidence: evidence.__setitem__(1, evidence[1] * 1.5), "not a power of two"
    ),
    "a_larger_unit": _of(
        _duals,
        lambda evidence: evidence.__setitem__(1, evidence[1] * 1024.0),
        "states a bound of|not proven",
    ),
    "a_split_of_a_point": _of(
        _split,
        lambda parts: _words(2, lambda _: parts.named_steps("split")[0].words[1])(
            parts.named_steps("split")[0]
        ),
        "which are linked already",
    ),
    "a_split_beyond": _of(
        _split,
        lambda parts: parts.named_steps("split")[0].words.__setitem__(1, parts.claim["n"]),
        "a point: ",
    ),
    "branches_exchanged": _of(lambda parts: _whole(parts) and _split(parts), _exchange, "line "),
    "equal_points_late": _of(
        lambda parts: parts.steps if parts.steps[0].name == "equal" else None,
        lambda steps: steps.insert(0, Step(["bound", 0.0, ["scatter"]])),
        "equal points; expected them first",
    ),
    "an_open_contradiction": _of(
        lambda parts: parts.steps[-1] if parts.steps[-1].words[1:] == ["conflict"] else None,
        lambda step: setattr(step, "words", ["open"]),
        "expected the end of the node, infeasible",
    ),
    "pairs_that_nothing_proves": _of(_whole, _insert_far, "are not proven to be apart"),
    "a_subset_twice": _of(
        lambda parts: parts if parts.named_steps("subset") else None,
        lambda parts: parts.steps.extend(parts.steps[: parts.end_of_node(1) + 1]),
        "is in subset 0, too",
    ),
    "a_subset_of_few": _of(
        lambda parts: parts.named_steps("subset"), _subset(lambda r: r[:1]), ".rows: an array of"
    ),
    "a_subset_beyond": _of(
        lambda parts: parts.named_steps("subset"),
        _subset(lambda r: r + 1000),
        "rows: expected increasing numbers of points",
    ),
}
