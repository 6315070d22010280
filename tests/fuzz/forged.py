"""Forged certificates: what a run proved, with other evidence, and what that proves claimed anew.

A change of a certificate mostly falls out of step with the numbers that the file states. Somebody
who means it states what the changed evidence proves, as far as the checker says so, and leaves the
clustering out, whose cost would contradict a bound above it. So does `forged`.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sdpbb.checker.certificate import Certificate
from sdpbb.checker.container import pack, unpack
from sdpbb.checker.cuts import FAMILIES
from sdpbb.checker.cuts.inequalities import Family
from sdpbb.checker.rejection import Rejected
from sdpbb.checker.verdict import CertificateVerdict
from sdpbb.problem import Instance
from sdpbb.run.verification import verdict_on

Arrays = list[np.ndarray]
Forgery = Callable[[np.random.Generator, dict[str, Any], Arrays], str | None]
"""Changes a document and its arrays in place; says what, or None where there is nothing to."""

# Numbers that are stated anew until a forged certificate is given up.
MOST_STATED = 60
_STATES = re.compile(
    r"(?:subset (\d+): )?node (\d+), step (\d+): states a bound of .*, proves (.*)"
)
_NEEDS = re.compile(r"(?:subset (\d+): )?node (\d+), step (\d+): needs .*, which proves (.*)")
# Links leave nothing of a node, or its split is decided.
_CONFLICT = re.compile(
    r"(?:subset (\d+): )?node (\d+), (?:step (\d+)|end): .*; expected the end of the node"
)
_LINKED = re.compile(r"(?:subset (\d+): )?node (\d+), end(): splits points .*, which are linked")
_ROOT = re.compile(r"lower_bound: states .*, the root proves (.*)")


def forged(
    data: bytes, instance: Instance, rng: np.random.Generator, number: int
) -> Iterator[tuple[str, CertificateVerdict | None]]:
    """What was changed in certificates, and what is accepted of each; None if it is rejected.

    Half of them change the one of the greatest bound so far, as somebody would who wants a greater
    one.
    """
    document, stored = unpack(data)
    first = document, [np.array(array) for array in stored]
    highest, most = first, -math.inf
    for _ in range(number):
        document, arrays = copy.deepcopy(first if rng.random() < 0.5 else highest)
        if rng.random() < 0.8:
            document |= {"status": "unknown", "labels": None, "cost": None}
        told = []
        for _ in range(int(rng.integers(1, 4))):
            what = None
            while what is None:
                what = FORGERIES[rng.integers(len(FORGERIES))](rng, document, arrays)
            told.append(what)
        verdict = accepted(document, arrays, instance)
        yield "; ".join(told), verdict
        if verdict is not None and verdict.lower_bound is not None and verdict.lower_bound >= most:
            highest, most = (document, arrays), verdict.lower_bound


def accepted(
    document: dict[str, Any], arrays: Arrays, instance: Instance
) -> CertificateVerdict | None:
    """The verdict on a document that states what its evidence proves; None if it is rejected."""
    for _ in range(MOST_STATED):
        try:
            return verdict_on(Certificate.read(packed(document, arrays)), instance)
        except Rejected as error:
            if not _stated_anew(document, str(error)):
                return None
    return None


def packed(document: dict[str, Any], arrays: Arrays) -> bytes:
    """The file, each array of which is used once, as the format has it."""
    used, copied = [], copy.deepcopy(document)

    def number(array: int) -> int:
        used.append(arrays[array] if 0 <= array < len(arrays) else np.empty(0))
        return len(used) - 1

    for holder, key in references(copied):
        if isinstance(holder[key], int):
            holder[key] = number(holder[key])
    return pack(copied, used)


def _stated_anew(document: dict[str, Any], message: str) -> bool:
    """State the number that the checker expects; whether it is one that can be stated."""
    if found := _ROOT.fullmatch(message):
        value = float(found[1])
        if math.isinf(value):
            document |= {"status": "infeasible", "labels": None, "cost": None}
        document["lower_bound"] = None if math.isinf(value) else value
        return True
    if message.startswith(("the lower bound", "status:")):
        document |= {"status": "unknown", "labels": None, "cost": None}
        return True
    for pattern in (_LINKED, _CONFLICT):
        if found := pattern.match(message):
            nodes = _nodes(document, found[1])
            _ended_anew(nodes, int(found[2]), pattern is _CONFLICT, int(found[3] or -1))
            return True
    for pattern, key in ((_STATES, "bound"), (_NEEDS, "below")):
        if found := pattern.fullmatch(message):
            nodes = _nodes(document, found[1])
            holder, value = nodes[int(found[2])]["steps"][int(found[3])], float(found[4])
            (holder if key == "bound" else holder["fix"])[key] = value
            return math.isfinite(value)
    return False


def _nodes(document: dict[str, Any], subset: str | None) -> list[dict[str, Any]]:
    return document["nodes"] if subset is None else document["subsets"][int(subset)]["nodes"]


def _ended_anew(nodes: list[dict[str, Any]], number: int, is_conflict: bool, step: int) -> None:
    """End a node that links leave nothing of, or let a child of it take its place."""
    node = nodes[number]
    if is_conflict:
        if step >= 0:
            del node["steps"][step:]
        node["end"] = {"infeasible": {"kind": "conflict"}}
    else:
        child = nodes[node["end"]["split"][2 + len(nodes) % 2]]
        node["steps"] += child["steps"]
        node["end"] = child["end"]
    _without_orphans(nodes)


def _children(node: dict[str, Any]) -> Iterator[tuple[list[Any], int]]:
    """What refers to other nodes: a list, and the position in it."""
    for step in node["steps"]:
        if "fix" in step:
            yield from ((refuted, 3) for refuted in step["fix"]["refuted"])
    if "split" in node["end"]:
        yield from ((node["end"]["split"], at) for at in (2, 3))


def _without_orphans(nodes: list[dict[str, Any]]) -> None:
    reached = {0}
    for number, node in enumerate(nodes):
        if number in reached:
            reached |= {holder[at] for holder, at in _children(node)}
    renumbered = {number: new for new, number in enumerate(sorted(reached))}
    for number in reached:
        if number < len(nodes):
            for holder, at in _children(nodes[number]):
                holder[at] = renumbered[holder[at]]
    nodes[:] = [node for number, node in enumerate(nodes) if number in reached]


def trees(document: dict[str, Any]) -> list[list[dict[str, Any]]]:
    if "nodes" in document:
        return [document["nodes"]]
    return [subset["nodes"] for subset in document["subsets"]]


def all_nodes(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [node for tree in trees(document) for node in tree]


def all_steps(document: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [step for node in all_nodes(document) for step in node["steps"] if kind in step]


def evidences(document: dict[str, Any]) -> list[dict[str, Any]]:
    """All evidence of a document, that of fixings and of infeasible nodes included."""
    found = [step["evidence"] for step in all_steps(document, "bound")]
    for step in all_steps(document, "fix"):
        if step["fix"]["excluded"] is not None:
            found.append(step["fix"]["excluded"]["evidence"])
    for node in all_nodes(document):
        end = node["end"].get("infeasible")
        if end is not None and end["kind"] == "prices":
            found.append(end)
    return [evidence for evidence in found if evidence["kind"] != "scatter"]


def references(document: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Everything that refers to an array: what holds it, and its key."""
    yield document, "labels"
    for subset in document.get("subsets") or []:
        yield subset, "rows"
    for step in all_steps(document, "merge"):
        yield step, "merge"
    for step in all_steps(document, "equal"):
        yield step, "equal"
    for step in all_steps(document, "fix"):
        yield step["fix"], "far"
        if step["fix"]["excluded"] is not None:
            yield step["fix"]["excluded"], "pairs"
    seen: set[int] = set()
    for evidence in evidences(document):
        if id(evidence) not in seen:
            seen.add(id(evidence))
            for key in evidence:
                if key not in ("kind", "unit", "least", "below"):
                    yield evidence, key


def _any(rng: np.random.Generator, things: list[Any]) -> Any:
    return things[rng.integers(len(things))] if things else None


def _number(rng: np.random.Generator, value: float) -> float:
    """Another number, not far off or of another size."""
    scale = rng.choice([0.0, 0.5, 0.9, 0.999, 1.001, 1.1, 2.0, 10.0, 1e3, 1e6, -1.0])
    shift = rng.choice([0.0, 0.0, 1e-6, 1e-3, 0.1, 1.0, 10.0]) * rng.normal()
    return float(value * scale + shift)


def _reals_changed(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """Scaled, some entries changed, in another order, or with values of others."""
    changed = array.astype(float)
    match rng.integers(6):
        case 0:
            changed = -changed
        case 1:
            changed = changed * rng.choice([0.5, 0.99, 1.01, 2.0, 10.0, 1e3, 1e6])
        case 2:
            at = rng.integers(changed.size, size=int(rng.integers(1, 4)))
            changed[at] = [_number(rng, value) for value in changed[at]]
        case 3:
            changed = rng.permutation(changed)
        case 4:
            changed[rng.integers(changed.size)] = rng.choice([1.0, 2.0, 100.0]) * abs(changed).max()
        case _:
            changed = changed + rng.exponential(abs(changed).mean() + 1e-9, changed.shape)
    return changed.astype(array.dtype)


def _blocks_of(evidence: dict[str, Any], arrays: Arrays) -> int:
    """How many blocks the evidence is about."""
    if evidence["kind"] == "semidefinite":
        return math.isqrt(2 * arrays[evidence["N"]].size)
    return arrays[evidence["prices"]].size


def change_reals(rng: np.random.Generator, document: dict[str, Any], arrays: Arrays) -> str | None:
    """Multipliers, entries of N, prices, shares or penalties."""
    evidence = _any(rng, evidences(document))
    if evidence is None:
        return None
    keys = [
        key
        for key in ("multipliers", "N", "prices", "share_prices", "penalties")
        if key in evidence and arrays[evidence[key]].size
    ]
    key = _any(rng, keys)
    if key is None:
        return None
    arrays[evidence[key]] = _reals_changed(rng, arrays[evidence[key]])
    return f"{evidence['kind']}: {key} changed"


def change_numbers(
    rng: np.random.Generator, document: dict[str, Any], arrays: Arrays
) -> str | None:
    """The least value of clusters, or what clusterings cost less than."""
    found = [
        (evidence, key)
        for evidence in evidences(document)
        for key in ("least", "below", "unit")
        if key in evidence
    ]
    found += [
        (step["fix"], "below")
        for step in all_steps(document, "fix")
        if step["fix"]["below"] is not None
    ]
    if not found:
        return None
    holder, key = _any(rng, found)
    factor = 2.0 ** rng.integers(-3, 10)
    holder[key] = holder[key] * factor if key == "unit" else _number(rng, holder[key])
    return f"{key} changed"


def change_members(
    rng: np.random.Generator, document: dict[str, Any], arrays: Arrays
) -> str | None:
    """Blocks of cuts and triples: others, in another order, or exchanged."""
    families = [key.name for family in FAMILIES for key in family.keys]
    found = [
        (evidence, key)
        for evidence in evidences(document)
        for key in (*families, "triples")
        if key in evidence and arrays[evidence[key]].size
    ]
    if not found:
        return None
    evidence, key = _any(rng, found)
    array, m = arrays[evidence[key]].copy(), _blocks_of(evidence, arrays)
    match rng.integers(4):
        case 0:
            at = rng.integers(array.size, size=int(rng.integers(1, 4)))
            array.reshape(-1)[at] = rng.integers(m, size=len(at))
        case 1:
            array = rng.permutation(array)
        case 2:
            array = rng.permutation(array.reshape(-1)).reshape(array.shape)
        case _:
            row = rng.integers(len(array))
            array[row] = array[rng.integers(len(array))]
    arrays[evidence[key]] = array
    return f"members of {key} changed"


def add_cuts(rng: np.random.Generator, document: dict[str, Any], arrays: Arrays) -> str | None:
    """Cuts of a family that the evidence has, or of one that it has not, with large multipliers."""
    semidefinite = [e for e in evidences(document) if e["kind"] == "semidefinite"]
    evidence = _any(rng, semidefinite)
    if evidence is None:
        return None
    m, k = _blocks_of(evidence, arrays), document["k"]
    multipliers, at = arrays[evidence["multipliers"]], 0
    chosen = int(rng.integers(len(FAMILIES)))
    for number, family in enumerate(FAMILIES):
        keys = family.names
        count = 0
        if keys[0] in evidence:
            count = family.count([arrays[evidence[key]].shape for key in keys])
        if number == chosen:
            break
        at += count
    family, new = FAMILIES[chosen], int(rng.integers(1, 4))
    if family.name == "pentagons":
        return None  # of estimates: `change_members` has them
    for key, rows in zip(family.keys, _drawn_cuts(rng, family, new, m, k), strict=True):
        if key.name not in evidence:
            arrays.append(np.concatenate([[0], rows]) if key.name.endswith("start") else rows)
            evidence[key.name] = len(arrays) - 1
        else:
            before = arrays[evidence[key.name]]
            first = before[-1] if key.name.endswith("start") else 0
            arrays[evidence[key.name]] = np.concatenate([before, first + rows])
        place = evidence[key.name]
        arrays[place] = arrays[place].astype(key.dtypes[0])
    size = float(abs(multipliers).max(initial=0.0)) or float(abs(arrays[evidence["N"]]).max())
    values = rng.choice([0.1, 1.0, 10.0]) * size * rng.random(new)
    changed = np.insert(multipliers, at + count, values)
    arrays[evidence["multipliers"]] = changed.astype(multipliers.dtype)
    _in_order_of_keys(evidence)
    return f"{new} cuts of {family.name} more"


def _drawn_cuts(rng: np.random.Generator, family: Family, new: int, m: int, k: int) -> Arrays:
    """Arrays of new cuts of m blocks, in the order of the keys: of lists the ends of each."""
    if len(family.keys) == 1:
        columns = family.keys[0].columns_for(k)
        rows = rng.integers(m, size=(new,) if columns is None else (new, columns))
        if columns is not None and columns <= m:
            rows = np.array([rng.permutation(m)[:columns] for _ in range(new)])
        return [np.sort(rows, axis=1) if rows.ndim == 2 and rng.random() < 0.5 else rows]
    width = int(rng.integers(1, max(2, m)))
    ends = width * np.arange(1, new + 1)
    lists = [rng.permutation(m)[:width] for _ in range(new)]
    if len(family.keys) == 2:
        return [ends, np.concatenate(lists)]
    # Sets that are mostly in order, and have what one point measures of most blocks.
    if rng.random() < 0.9:
        lists = [np.sort(blocks) for blocks in lists]
    if rng.random() < 0.1:
        ends[rng.integers(new)] += rng.choice([-width, -1, 1, width, 2**62])
    parts = np.ones(new * width, np.int64)
    if rng.random() < 0.5:
        some = rng.integers(len(parts), size=int(rng.integers(1, 4)))
        parts[some] = rng.choice([-1, 0, 2, 3, 5, 1_000, 2**31, 2**62], size=len(some))
    drawn = [ends, np.concatenate(lists), parts]
    if len(family.keys) == 3:
        return drawn
    # Leaves of capacity cliques, in some cases no more than the clusters that a set fills.
    width = int(rng.integers(1, max(2, min(m, k + 2))))
    leaves = np.concatenate([rng.permutation(m)[:width] for _ in range(new)])
    return [*drawn, width * np.arange(1, new + 1), leaves]


def _in_order_of_keys(evidence: dict[str, Any]) -> None:
    order = ["kind", "unit", "N", *(key.name for f in FAMILIES for key in f.keys), "multipliers"]
    ordered = {key: evidence[key] for key in order if key in evidence}
    evidence.clear()
    evidence.update(ordered)


def exchange_evidence(
    rng: np.random.Generator, document: dict[str, Any], arrays: Arrays
) -> str | None:
    """Evidence of another step, node or subset."""
    steps = all_steps(document, "bound")
    if len(steps) < 2:
        return None
    one, other = _any(rng, steps), _any(rng, steps)
    if rng.random() < 0.5:
        one["evidence"], other["evidence"] = other["evidence"], one["evidence"]
    else:
        one["evidence"], one["bound"] = copy.deepcopy(other["evidence"]), other["bound"]
    return "evidence of another node"


def change_steps(rng: np.random.Generator, document: dict[str, Any], arrays: Arrays) -> str | None:
    """Steps in another order, one left out, or one from elsewhere."""
    node = _any(rng, [node for node in all_nodes(document) if node["steps"]])
    if node is None:
        return None
    steps = node["steps"]
    match rng.integers(3):
        case 0:
            node["steps"] = [steps[i] for i in rng.permutation(len(steps))]
        case 1:
            del steps[rng.integers(len(steps))]
        case _:
            source = _any(rng, [other for other in all_nodes(document) if other["steps"]])
            step = copy.deepcopy(_any(rng, source["steps"]))
            steps.insert(int(rng.integers(len(steps) + 1)), step)
    return "steps changed"


def change_links(rng: np.random.Generator, document: dict[str, Any], arrays: Arrays) -> str | None:
    """Pairs that are fixed, merged or split: others, the other way round, or more of them."""
    n, made = document["n"], []
    for step in all_steps(document, "fix"):
        fix = step["fix"]
        made += [(fix["refuted"], at) for at in range(len(fix["refuted"]))]
        made += [(fix, "far")] if fix["far"] is not None else []
        made += [(fix["excluded"], "pairs")] if fix["excluded"] is not None else []
    for kind in ("merge", "equal"):
        made += [(step, kind) for step in all_steps(document, kind)]
    made += [(node["end"], "split") for node in all_nodes(document) if "split" in node["end"]]
    if not made:
        return None
    holder, key = _any(rng, made)
    value = holder[key]
    if isinstance(value, list):  # refuted, or a split
        what = rng.integers(3)
        if what == 0:
            value[int(rng.integers(2))] = int(rng.integers(n))
        elif key == "split":
            value[2], value[3] = value[3], value[2]
        elif what == 1:
            value[2] = {"together": "apart", "apart": "together"}[value[2]]
        else:
            value[3] = int(rng.integers(1, max(2, len(all_nodes(document)))))
        return "a link changed"
    rows = arrays[value]
    if rng.random() < 0.5 and len(rows):
        rows = rows.copy()
        rows[rng.integers(len(rows)), rng.integers(rows.shape[1])] = rng.integers(n)
    else:
        more = rng.integers(n, size=(1, rows.shape[1]))
        rows = np.concatenate([rows, more.astype(rows.dtype)])
    arrays[value] = rows
    return f"pairs of {key} changed"


def change_end(rng: np.random.Generator, document: dict[str, Any], arrays: Arrays) -> str | None:
    """An end that says that a node has no clustering."""
    node = _any(rng, [node for node in all_nodes(document) if "split" not in node["end"]])
    if node is None:
        return None
    kind = _any(rng, ["conflict", "clique", "colouring", "packing", "prices"])
    reason: dict[str, Any] = {"kind": kind}
    if kind in ("clique", "colouring"):
        some = rng.permutation(document["n"])[: document["k"] + 1 + 2 * (kind == "colouring")]
        reason["points"] = sorted(some.tolist())
    if kind == "prices":
        priced = [e for e in evidences(document) if e["kind"] != "semidefinite"]
        evidence = _any(rng, priced)
        if evidence is None:
            return None
        arrays.append(_reals_changed(rng, arrays[evidence["prices"]]))
        reason |= {"prices": len(arrays) - 1, "least": evidence["least"]}
    node["end"] = {"infeasible": reason}
    return f"a node ends by {kind}"


def change_subsets(
    rng: np.random.Generator, document: dict[str, Any], arrays: Arrays
) -> str | None:
    """Points of several subsets, subsets twice or fewer, and proofs of others."""
    subsets = document.get("subsets")
    if not subsets:
        return None
    one, other = _any(rng, subsets), _any(rng, subsets)
    match rng.integers(7):
        case 0:
            one["nodes"], other["nodes"] = other["nodes"], one["nodes"]
        case 1:
            one["rows"], other["rows"] = other["rows"], one["rows"]
        case 2:
            subsets.append(copy.deepcopy(one))
        case 3 if len(subsets) > 1:
            subsets.remove(one)
        case 4:
            subsets[subsets.index(other)] = copy.deepcopy(one)
        case 5:
            rows = arrays[one["rows"]].copy()
            rows[rng.integers(len(rows))] = rng.integers(document["n"])
            arrays[one["rows"]] = np.sort(rows)
        case _:
            rows = np.append(arrays[one["rows"]], rng.integers(document["n"]))
            arrays[one["rows"]] = np.unique(rows).astype(np.int32)
    return "subsets changed"


FORGERIES: tuple[Forgery, ...] = (
    *(change_reals, change_reals, change_numbers, change_members, change_members),
    *(add_cuts, add_cuts, exchange_evidence, change_steps, change_links, change_end),
    *(change_subsets, change_subsets),
)


def families_in(data: bytes) -> set[str]:
    """Kinds of evidence and of steps in a certificate, and families of cuts that have some."""
    document, stored = unpack(data)
    found = {evidence["kind"] for evidence in evidences(document)}
    found |= {"subsets"} if "subsets" in document else set()
    for kind in ("merge", "equal", "fix"):
        found |= {kind} if all_steps(document, kind) else set()
    for evidence in evidences(document):
        for family in FAMILIES:
            key = family.names[0]
            if key in evidence and family.count(
                [stored[evidence[name]].shape for name in family.names]
            ):
                found.add(family.name)
    return found
