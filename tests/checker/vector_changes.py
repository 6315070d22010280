"""Changes of certificates to accept, each to be rejected: of their parts, and of their files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.checker.parts import Parts, Step

Change = Callable[[Parts], str | None]
"""Changes parts in place; returns what the reason of the rejection says, None if it cannot."""
CHANGES: dict[str, Change] = {}
FILES: dict[str, tuple[Callable[[bytes], bytes], str]] = {}
"""Functions of a file: another one, and what the reason of its rejection says."""


def _of(find: Callable[[Parts], Any], do: Callable[[Any], object], says: str) -> Change:
    """What find returns is changed, if it is there."""

    def changed(parts: Parts) -> str | None:
        if not (found := find(parts)):
            return None
        do(found)
        return says

    return changed


def _put(place: Any, of: Callable[[Any], Any]) -> Callable[[Any], None]:
    """What is at a place of a list or a dictionary becomes something else."""
    return lambda holder: holder.__setitem__(place, of(holder[place]))


def _set(place: Any, value: Any) -> Callable[[Any], None]:
    return lambda holder: holder.__setitem__(place, value)


def _claim(parts: Parts) -> dict[str, Any]:
    return parts.claim


def _claim_with(name: str) -> Callable[[Parts], Any]:
    """The claim, if it has a value for this name other than 0."""
    return lambda parts: parts.claim if parts.claim[name] else None


def _steps(parts: Parts) -> list[Step]:
    return parts.steps


def _named(name: str) -> Callable[[Parts], list[Step]]:
    return lambda parts: parts.named_steps(name)


def _bound_step(parts: Parts) -> Step | None:
    """A bound above 0."""
    return next((step for step in parts.named_steps("bound") if step.words[1] > 0.0), None)


def _bound(parts: Parts) -> list[Any] | None:
    return step.words if (step := _bound_step(parts)) else None


OTHER = "0" * 64
for _name, _value, _says in (
    ("points", OTHER, "is about other points"),
    ("must_link", OTHER, "is about other must-links"),
    ("cannot_link", OTHER, "is about other cannot-links"),
    ("rules", OTHER, "is about other constraints on clusters"),
    ("weights", OTHER, "is about other weights of points"),
    ("soft_must_link", OTHER, "is about other soft must-links"),
    ("soft_cannot_link", OTHER, "is about other soft cannot-links"),
    ("points", "ABC", "points: 'ABC'; expected 64 hexadecimal digits"),
    ("n", 2**31, "expected a whole number in 1..2147483647"),
    ("n", 7.0, "n: 7.0; expected a whole number"),
    ("d", True, "d: True; expected a whole number"),
    ("d", 7, "points and coordinates; the data have"),
    ("k", 0, "k: 0; expected a whole number"),
    ("certificate", 2, "format 2; expected 3"),
    ("written_by", 1, "written_by: expected text"),
    ("tolerance", 1.0, "tolerance: 1.0; expected a finite number"),
    ("status", "sure", "status: 'sure'; expected optimal or"),
    ("cost", "1", "expected"),
    ("colour", 1, "unknown key 'colour'"),
):
    CHANGES[f"claim_{_name}_{len(CHANGES)}"] = _of(_claim, _set(_name, _value), _says)


def _labelled(parts: Parts) -> Parts | None:
    """Parts with the labels of several clusters."""
    return parts if parts.labels is not None and parts.claim["k"] > 1 else None


def _labels(of: Callable[[np.ndarray], np.ndarray | None], says: str) -> Change:
    return _of(_labelled, lambda parts: setattr(parts, "labels", of(parts.labels)), says)


def _with_a_gap(parts: Parts) -> dict[str, Any] | None:
    cost = parts.claim["cost"]
    return parts.claim if cost and cost - parts.claim["lower_bound"] >= 1e-6 * cost else None


CHANGES |= {
    "without_a_key": _of(_claim, lambda c: c.pop("tolerance"), "'tolerance' is missing"),
    "claimed_infeasible": _of(
        lambda parts: parts if parts.claim["status"] != "infeasible" else None,
        lambda parts: parts.unclaimed().claim.update(status="infeasible", lower_bound=None),
        "lower_bound: states inf, the root proves",
    ),
    **{
        name: _of(
            _claim_with(claimed),
            _put(claimed, lambda value, factor=factor: value * factor),
            f"{claimed}: states",
        )
        for name, claimed, factor in (
            ("higher_bound", "lower_bound", 1 + 1e-9),
            ("lower_bound", "lower_bound", 1 - 1e-15),
            ("higher_cost", "cost", 1 + 1e-8),
        )
    },
    "closer_than_proven": _of(
        _with_a_gap, lambda c: c.update(tolerance=0.0, status="optimal"), "status: optimal to 0.0"
    ),
    "other_names_of_clusters": _labels(
        lambda c: np.where(c < 2, 1 - c, c).astype(np.int32),
        "labels: expected clusters 0, 1, ... in the order of their first points",
    ),
    "a_cluster_fewer": _labels(lambda c: np.minimum(c, c.max() - 1), " clusters; expected "),
    "no_labels": _labels(lambda c: None, "labels: there is no such array in the file"),
    "labels_of_fewer_points": _labels(lambda c: c[:-1], "labels: an array of <i4"),
    "labels_that_are_reals": _labels(lambda c: c.astype(float), "labels: an array of <f8"),
    "a_line_fewer": _of(_steps, list.pop, "expected the end of each node|the root proves"),
    "a_line_more": _of(
        _steps, lambda steps: steps.append(Step(["open"])), "a step after the end of the proof"
    ),
    "an_unknown_step": _of(
        _steps,
        lambda steps: steps.insert(0, Step(["trust"])),
        "a step before the first subset"
        "|'trust'; expected merge, equal, bound, fix, or the end of a node",
    ),
    "a_step_that_is_no_list": _of(
        _steps,
        lambda steps: setattr(steps[-1], "words", {"open": True}),
        "expected a list that begins with a word",
    ),
    "nothing_but_open": _of(
        lambda parts: parts if parts.claim["status"] == "optimal" and _bound(parts) else None,
        lambda parts: setattr(parts, "steps", [Step(["open"])]),
        "lower_bound: states",
    ),
    "raised_bound": _of(_bound, _put(1, lambda x: x * (1 + 1e-7)), "states a bound of"),
    "lowered_bound": _of(_bound, _put(1, lambda x: x * (1 - 1e-7)), "states a bound of"),
    "a_bound_that_is_no_number": _of(
        _bound, _set(1, None), "bound: None; expected a finite number"
    ),
    "unknown_evidence": _of(
        _bound_step,
        lambda step: (step.words.__setitem__(2, ["faith"]), step.arrays.clear()),
        "evidence: 'faith'; expected",
    ),
}


def _array(name: str, of: Callable[[np.ndarray], np.ndarray], says: str) -> Change:
    def with_some(parts: Parts) -> dict[str, np.ndarray] | None:
        found = (x.arrays for x in parts.steps if name in x.arrays and x.arrays[name].size)
        return next(found, None)

    return _of(with_some, _put(name, of), says)


def _entry(place: int, value: float) -> Callable[[np.ndarray], np.ndarray]:
    def changed(array: np.ndarray) -> np.ndarray:
        copied = array.copy()
        copied.reshape(-1)[place] = value
        return copied

    return changed


CHANGES |= {
    "N_negative": _array("N", lambda N: N - abs(N).max() - 1, "N is negative, or no number"),
    "N_no_number": _array("N", _entry(0, np.nan), "N is negative, or no number"),
    "N_infinite": _array("N", _entry(0, np.inf), "dual values are too large"),
    "N_shorter": _array("N", lambda N: N[:-1], "N: an array of"),
    "N_of_halves": _array("N", lambda N: N.astype(np.float16), "N: an array of <f2"),
    "multipliers_negative": _array("multipliers", lambda t: -t - 1, "a multiplier is negative"),
    "multipliers_fewer": _array("multipliers", lambda t: t[:-1], "multipliers: an array of"),
    "multipliers_tenfold": _array("multipliers", lambda t: 10 * t, "states|not proven|proves"),
    "blocks_beyond": _array("blocks", lambda b: b + 1000, "a cut has a block outside of"),
    "blocks_negative": _array("blocks", lambda b: b - 1000, "a cut has a block outside of"),
    "blocks_fewer": _array("blocks", lambda b: b[:-1], "blocks: an array of"),
    "blocks_of_longs": _array("blocks", lambda b: b.astype(np.int64), "blocks: an array of"),
    "parts_none": _array("parts", lambda q: 0 * q, "a capacity cut on more of a block"),
    "parts_more": _array("parts", lambda q: q + 1, "a capacity cut on more of a block"),
    "estimates_of_none": _array("estimates", lambda e: 0 * e, "for no points"),
    "estimates_at_no_place": _array("estimates", lambda e: e + 99, "a place that there is not"),
    "prices_raised": _array("prices", lambda p: p + abs(p).max(), "worth less|states|prove"),
    "prices_lowered": _array("prices", lambda p: 0.5 * p, "worth less|states|prove"),
    "prices_no_numbers": _array("prices", _entry(0, np.nan), "is not a number of at most"),
    "prices_fewer": _array("prices", lambda p: p[:-1], "prices: an array of"),
    "prices_single": _array("prices", lambda p: p.astype("<f4"), "prices: an array of <f4"),
    "penalties_negative": _array("penalties", lambda v: -1 - v, "a penalty is negative"),
    "triples_of_one": _array("triples", lambda t: 0 * t, "a triple is not of three"),
    "triples_more": _array("triples", lambda t: t[:-1], "triples: an array of"),
    "merged_others": _array(
        "rows", lambda r: r[:, ::-1] if r.ndim > 1 else r[::-1], "is not two cliques|increasing"
    ),
    "far_beyond": _array("far", lambda p: p + 1000, "a point beyond"),
    "far_itself": _array("far", lambda p: 0 * p, "far: points 0 and 0 are not proven"),
    "excluded_itself": _array("excluded", lambda p: 0 * p, "excluded: points 0 and 0 are not"),
    "equal_others": _array(
        "pairs", lambda p: p + np.array([[0, 1]], np.int32), "are not equal|a point beyond"
    ),
}


def _with_group(parts: Parts, word: str) -> tuple[Step, list[Any]] | None:
    """The first group of cuts of a form, and its step."""
    steps = parts.evidences("dual")
    found = ((step, x) for step in steps for x in step.evidence[2] if x[0] == word)
    return next(found, None)


for _name, _word, _place, _value, _says in (
    ("unknown_cuts", "vectors", 0, "wishes", "expected a group that begins with one of"),
    ("cuts_more", "vectors", 1, 2**20, "the cuts have more than|an array of"),
    ("cuts_none", "vectors", 1, 0, "count: 0; expected a whole number"),
    ("vector_of_halves", "vectors", 2, [0.5, -0.5], "vector: 0.5; expected a whole"),
    ("vector_of_none", "vectors", 2, [], "an integer vector of 0 places"),
    ("template_of_many", "templates", 2, 9, "places: 9; expected a whole number in 1..8"),
    ("template_of_none", "templates", 3, [], "a template without entries"),
    ("template_side", "templates", 4, 0.75, "a cut is not valid"),
    ("template_beyond", "templates", 3, [[0, 7, 1.0]], "an entry beyond its"),
    ("traces_end", "traces", 1, [10**6], "an array of|the cuts have more than"),
    ("sets_of_kilograms", "sets", 2, "kilograms", "unit: 'kilograms'; expected"),
    ("soft_pairs_maybe", "soft pairs", 2, "maybe", "link: 'maybe'; expected cannot or"),
    ("rows_of_all", "measure rows", 2, "all", "end: 'all'; expected most or least"),
    ("listed_of_more", "listed cliques", 3, "middle", "end: 'middle'; expected largest"),
):
    CHANGES[_name] = _of(
        lambda parts, word=_word: _with_group(parts, word),
        lambda found, place=_place, value=_value: found[1].__setitem__(place, value),
        _says,
    )


def _add_cut(step: Step, group: list[Any], blocks: list[int]) -> None:
    """A group of one cut more, with the multiplier 1."""
    step.evidence[2].append(group)
    before, t = step.arrays.get("blocks", np.empty(0, np.int32)), step.arrays["multipliers"]
    step.arrays["blocks"] = np.append(before, blocks).astype(np.int32)
    step.arrays["multipliers"] = np.append(t, 1.0).astype(t.dtype)


def _number(word: str, place: int, of: Callable[[Any], Any], says: str) -> Change:
    """A number of the first evidence of a kind becomes another one."""

    def put(steps: list[Step]) -> None:
        is_bound = steps[0].name == "bound"
        words = steps[0].words[2] if is_bound else steps[0].words
        _put(place if is_bound else place + 1, of)(words)

    return _of(lambda parts: parts.evidences(word), put, says)


# A triangle without Z_jh: i may share the clusters of neither.
FALSE = ["templates", 1, 3, [[0, 0, 1.0], [0, 1, -1.0], [0, 2, -1.0]], 0.0]
CHANGES |= {
    "a_template_that_is_false": _of(
        lambda parts: parts.evidences("dual") if parts.claim["k"] >= 3 else None,
        lambda steps: _add_cut(steps[0], FALSE, [0, 0, 0]),
        "a cut is not valid",
    ),
    "two_groups_of_soft_pairs": _of(
        lambda parts: _with_group(parts, "soft pairs"),
        lambda found: _add_cut(found[0], ["soft pairs", 1, found[1][2]], [0, 1, 2]),
        "two groups of soft pairs",
    ),
    "least_raised": _number("prices", 1, lambda x: x + abs(x) + 1, "worth less|prove"),
    "least_tenfold": _number("prices", 1, lambda x: 10 * x - 1, "states a bound|prove no"),
    "least_none": _number("prices", 1, lambda x: None, "least: None"),
    "below_raised": _number("clusters", 1, lambda x: 1.5 * x, "costs less|more than|states|prove"),
    "below_nothing": _number("clusters", 1, lambda x: 0.0, "are enumerated below a cost of"),
}


def _ends(says: str, *words: Any) -> Change:
    """A node that is open ends in another way."""

    def changed(parts: Parts) -> str | None:
        if not (found := parts.named_steps("open")) or parts.named_steps("subset"):
            return None
        points = {"clique": parts.claim["k"] + 1, "colouring": parts.claim["n"]}
        found[0].words = [*words, *(list(range(points[x])) for x in words if x in points)]
        return says

    return changed


CHANGES |= {
    "end_conflict": _ends("nothing contradicts itself", "infeasible", "conflict"),
    "end_clique": _ends("the points are not of", "infeasible", "clique"),
    "end_colouring": _ends("the blocks of the points can have", "infeasible", "colouring"),
    "end_packing": _ends("can be put into clusters of allowed sizes", "infeasible", "packing"),
    "end_unknown": _ends("infeasible: 'luck'; expected", "infeasible", "luck"),
    "end_open_twice": _ends("expected an end of a node", "open", True),
}


def _split(parts: Parts) -> list[Any] | None:
    """The words of the first split."""
    return next((step.words for step in parts.named_steps("split")), None)


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


def _rows(of: Callable[[np.ndarray], np.ndarray]) -> Callable[[list[Step]], None]:
    return lambda subsets: _put("rows", of)(subsets[0].arrays)


CHANGES |= {
    "an_array_more": _of(
        _steps,
        lambda steps: steps[-1].arrays.update(thoughts=np.zeros(3)),
        "no step has such an array; expected none",
    ),
    "an_array_fewer": _of(
        lambda parts: next((step.arrays for step in parts.steps if step.arrays), None),
        lambda arrays: arrays.pop(next(iter(arrays))),
        ": there is no such array in the file|no number, for two blocks|the root proves",
    ),
    "a_unit_that_is_no_power_of_two": _of(
        _duals, _put(1, lambda unit: unit * 1.5), "not a power of two"
    ),
    "a_larger_unit": _of(
        _duals, _put(1, lambda unit: unit * 1024.0), "states a bound of|not proven"
    ),
    "a_split_of_a_point": _of(
        _split, lambda words: _set(2, words[1])(words), "which are linked already"
    ),
    "a_split_beyond": _of(
        lambda parts: parts if _split(parts) else None,
        lambda parts: _set(1, parts.claim["n"])(_split(parts)),
        "a point: ",
    ),
    "branches_exchanged": _of(lambda parts: _split(parts) and _whole(parts), _exchange, "line "),
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
    "a_subset_of_few": _of(_named("subset"), _rows(lambda r: r[:1]), ".rows: an array of"),
    "a_subset_beyond": _of(
        _named("subset"), _rows(lambda r: r + 1000), "rows: expected increasing numbers of points"
    ),
}


def _with_member(data: bytes, name: str, content: bytes, old: str | None = None) -> bytes:
    """The archive with a member more, in place of an old one."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as read, zipfile.ZipFile(file, "w") as written:
        for entry in read.infolist():
            if entry.filename != old:
                written.writestr(zipfile.ZipInfo(entry.filename), read.read(entry))
        written.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def _member(array: Any, name: str = "log.npy", old: str | None = "log.npy") -> Any:
    """A function of a file: with this array instead of an old one."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return lambda data: _with_member(data, name, file.getvalue(), old)


def _log(of: Callable[[str], str]) -> Callable[[bytes], bytes]:
    """A function of a file: with another log."""

    def changed(data: bytes) -> bytes:
        with np.load(io.BytesIO(data)) as found:
            text = of(found["log"].tobytes().decode())
        return _member(np.frombuffer(text.encode(), np.uint8))(data)

    return changed


OBJECTS, COLUMNS = np.array([{"a": 1}], dtype=object), np.asfortranarray(np.ones((2, 3)))
FILES |= {
    "an_empty_file": (lambda data: b"", "the file is empty"),
    "a_text": (lambda data: b"0 1\n2 3\n", "is not a certificate of sdpbb"),
    "an_old_format": (lambda data: b"sdpbb-certificate 2\n" + data, "is in format 2"),
    "half_of_the_file": (lambda data: data[: len(data) // 2], "is damaged, or not all of it"),
    "objects_that_are_pickled": (_member(OBJECTS), "does not begin as an array"),
    "arrays_in_columns": (_member(COLUMNS), "does not begin as an array"),
    "an_array_twice": (_member(np.zeros(1), old=None), "has an array twice"),
    "no_log": (_member(np.zeros(1), "diary.npy"), "log: there is no such"),
    "a_line_that_is_not_json": (_log(lambda x: x.replace("{", "{{", 1)), "a line is not JSON"),
    "a_claim_that_is_a_list": (_log(lambda x: "[]" + x[x.index("\n") :]), "the claim is []"),
    "a_key_twice": (_log(lambda x: x.replace("{", '{"n":1,', 1)), "names a key twice"),
    "a_number_that_is_not_finite": (
        _log(lambda x: x.replace("}", ',"x":NaN}', 1)),
        "expected finite",
    ),
    "a_line_cut_off": (_log(lambda x: x[:-1]), "the log ends within a line"),
}
