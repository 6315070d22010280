"""Make the vectors of the format of certificates: small ones to accept, and others to reject.

    python -m tests.checker.make_vectors FOLDER

FOLDER/vectors.csv has a row for each: its file, its instance, whether it is to be accepted, and the
status that is verified, or what the reason of the rejection says. The points of an instance are in
FOLDER/instances/NAME.txt, its constraints in NAME.constraints and its weights in NAME.weights, if
it has any, as the checker reads them. Whoever writes a checker of their own begins here.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import sdpbb
from sdpbb.bounds.sdp.cuts import FAMILIES
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.checker.command import REJECTED
from sdpbb.checker.command import main as check
from sdpbb.problem.files.constraints import Constraints
from sdpbb.problem.formats import constraints_text
from sdpbb.run.parameters import DecompositionParameters
from tests.checker.building import built
from tests.checker.forged import changed
from tests.checker.parts import Parts

WEAK = SdpParameters(max_iterations=60)
SDP = sdpbb.SolverParameters(bounding="sdp", sdp=WEAK, gap=1e-6)
COLGEN = sdpbb.SolverParameters(bounding="colgen", gap=1e-6)
HYBRID = sdpbb.SolverParameters(gap=1e-6)
SUBSETS = sdpbb.SolverParameters(
    bounding="decomposition", decomposition=DecompositionParameters(smallest=12), gap=0.2
)
COLUMNS = ("file", "instance", "outcome", "says")
STATED = (
    *("must_link", "cannot_link", "soft_must_link", "soft_cannot_link", "cluster_constraints"),
    *("min_size", "max_size", "sizes", "min_weight", "max_weight"),
)
# Changes of each certificate that are tried, and files of a reason.
TRIES, PER_REASON = 400, 2

WHEEL = [(i, (i + 1) % 5) for i in range(5)] + [(i, 5) for i in range(5)]
# Without triangles, and not to be coloured with three colours (Grötzsch).
TRIANGLE_FREE = [(i, (i + 1) % 5) for i in range(5)]
TRIANGLE_FREE += [(i, 5 + (i + step) % 5) for i in range(5) for step in (1, 4)]
TRIANGLE_FREE += [(5 + i, 10) for i in range(5)]


@dataclass
class Vector:
    """An instance and its certificate."""

    name: str
    instance: sdpbb.Instance
    parameters: sdpbb.SolverParameters | None = HYBRID

    def certificate(self, folder: Path) -> bytes:
        if self.parameters is None:
            return built(self.instance, fixing=True).data
        path = folder / "certificate"
        sdpbb.solve(self.instance, self.parameters, certificate=path)
        data = path.read_bytes()
        path.unlink()
        return data

    def write_instance(self, folder: Path) -> None:
        points = "\n".join(" ".join(map(repr, row)) for row in self.instance.points.tolist())
        (folder / f"{self.name}.txt").write_text(points + "\n", encoding="utf-8")
        stated = {name: getattr(self.instance, name) for name in STATED}
        if text := constraints_text(Constraints(**stated)):
            (folder / f"{self.name}.constraints").write_text(text, encoding="utf-8")
        if self.instance.weights is not None:
            text = "\n".join(map(repr, self.instance.weights.tolist())) + "\n"
            (folder / f"{self.name}.weights").write_text(text, encoding="utf-8")

    def verdict(self, folder: Path, file: Path) -> tuple[int, str]:
        """The exit status of the checker, and what it says."""
        told = io.StringIO()
        with redirect_stdout(told), redirect_stderr(io.StringIO()):
            return check(arguments(folder, self.name, file)), told.getvalue()


def arguments(folder: Path, instance: str, file: Path) -> list[str]:
    """The words of the command that checks a file about an instance."""
    found = [str(file), str(folder / "instances" / f"{instance}.txt"), "--json"]
    for kind in ("constraints", "weights"):
        path = folder / "instances" / f"{instance}.{kind}"
        found += [f"--{kind}", str(path)] if path.exists() else []
    return found


def scattered(n: int, d: int) -> np.ndarray:
    """Points without structure, the same to the last bit on every machine."""
    numbers = np.arange(1, n * d + 1, dtype=np.int64) * 7919
    return (numbers * numbers % 10007 / 100.0).reshape(n, d)


def grouped(n: int, k: int, apart: float = 10.0) -> np.ndarray:
    return scattered(n, 2) / 20.0 + apart * (np.arange(n) % k)[:, None]


def of(name: str, points: Any, k: int, by: Any = HYBRID, **more: Any) -> Vector:
    return Vector(name, sdpbb.Instance(points, k, **more), by)


def vectors() -> list[Vector]:
    pairs = {"must_link": [(0, 1), (2, 3)], "cannot_link": [(0, 2), (4, 5), (5, 6), (4, 6)]}
    few = {"must_link": [(0, 1)], "cannot_link": [(2, 3)]}
    cliques = [(0, 1), (1, 2), (0, 2), (3, 1), (3, 2), (4, 1), (4, 2)]
    twos, grid = np.repeat(scattered(8, 2), 2, axis=0), [(i, j) for i in range(7) for j in range(6)]
    weights = 1.0 + np.arange(16) % 3
    soft = {"soft_must_link": [(0, 2, 9.0), (0, 1, 20.0)], "soft_cannot_link": [(2, 3, 70.0)]}
    uneven = np.repeat([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]], [7, 5, 3], axis=0)
    uneven = uneven + scattered(15, 2) / 50.0
    parts = {"must_link": [(0, 3), (1, 7), (2, 50)], "cannot_link": [(0, 1), (30, 40)]}
    halves = {"sizes": [5, 5], "must_link": [(i, i + 1) for i in range(0, 10, 2)]}
    hasty = sdpbb.SolverParameters(
        bounding="sdp", sdp=SdpParameters(max_iterations=20), node_limit=1
    )
    four = [(i, j) for i in range(4) for j in range(i)]
    sdp = partial(of, by=SDP)
    colgen = partial(of, by=COLGEN)
    weighed = partial(sdp, points=scattered(16, 2), k=3, weights=weights)
    return [
        sdp("root", scattered(16, 3), 3),
        sdp("tree", scattered(22, 5), 4, **pairs),
        sdp("two_clusters", scattered(18, 3), 2, cannot_link=[(0, 1), (2, 3)]),
        sdp("far", grouped(18, 3, 400.0), 4),
        of("merges", scattered(12, 2), 3, cannot_link=cliques),
        sdp("equal", twos, 3),
        sdp("pentagons", scattered(14, 2), 4, cannot_link=[(0, 1), (2, 3)]),
        colgen("columns", scattered(20, 2), 6, **pairs),
        colgen("columns_high", scattered(14, 5), 5),
        colgen("grid", grid, 5),
        of("most", scattered(20, 2), 4, cluster_constraints=[sdpbb.MaximumSize(6)]),
        sdp("sizes", uneven, 3, sizes=[5, 5, 5]),
        sdp("sizes_listed", uneven, 3, sizes=[4, 5, 6]),
        sdp("sizes_within", uneven, 3, min_size=4, max_size=6),
        sdp("ranges", uneven, 3, sizes=[(3, 4), (4, 6), (5, 9)]),
        colgen("sizes_priced", uneven, 3, sizes=[4, 5, 6]),
        weighed("weights"),
        weighed("weights_within", min_weight=9.0, max_weight=12.0),
        weighed("weights_sizes", min_size=5, max_size=6),
        sdp("soft", scattered(12, 2), 3, **soft),
        colgen("soft_priced", scattered(12, 2), 3, **soft),
        of("subsets", grouped(64, 3), 3, by=SUBSETS, **parts),
        of("subsets_free", grouped(48, 2), 2, by=SUBSETS),
        of("conflict", scattered(6, 2), 2, cannot_link=[(0, 1), (1, 2), (0, 2)]),
        of("clique", scattered(6, 2), 3, cannot_link=four),
        of("wheel", scattered(6, 2), 3, cannot_link=WHEEL),
        of("colouring", scattered(11, 2), 3, cannot_link=TRIANGLE_FREE),
        of("packing", scattered(10, 2), 2, **halves),
        of("many_steps", scattered(6, 2), 3, by=None, **few),
        of("many_steps_two", scattered(6, 2), 2, by=None, cannot_link=[(2, 3)]),
        of("limit", scattered(40, 4), 5, by=hasty),
    ]


def _with_member(data: bytes, name: str, content: bytes, old: str | None = None) -> bytes:
    """The archive with a member more, instead of an old one."""
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


OBJECTS, IN_COLUMNS = np.array([{"a": 1}], dtype=object), np.asfortranarray(np.ones((2, 3)))
FILES: dict[str, Callable[[bytes], bytes]] = {
    "an_empty_file": lambda data: b"",
    "a_text": lambda data: b"0 1\n2 3\n",
    "a_line_before": lambda data: b"sdpbb-certificate 2\n" + data,
    "half_of_the_file": lambda data: data[: len(data) // 2],
    "objects_that_are_pickled": _member(OBJECTS),
    "arrays_in_columns": _member(IN_COLUMNS),
    "an_array_twice": _member(np.zeros(1), old=None),
    "no_log": _member(np.zeros(1), "diary.npy"),
    "a_line_that_is_not_json": _log(lambda x: x.replace("{", "{{", 1)),
    "a_claim_that_is_a_list": _log(lambda x: "[]" + x[x.index("\n") :]),
    "a_key_twice": _log(lambda x: x.replace("{", '{"n":1,', 1)),
    "a_number_that_is_not_finite": _log(lambda x: x.replace("}", ',"x":NaN}', 1)),
    "a_line_cut_off": _log(lambda x: x[:-1]),
}
"""Functions of a file: another one, to be rejected."""


def kind_of(reason: str) -> str:
    """A reason without the values that it quotes."""
    named = re.sub(r"^(.*\b[a-z_]+: ).*(?=; expected)", r"\1_", reason)
    return re.sub(r"'.*'|\[.*\]|-?\b\d[\d.e+-]*|\binf\b|\bnan\b", "_", named)


def words_of(reason: str) -> str:
    """The longest part of a reason without numbers, which may be rounded otherwise elsewhere."""
    return max(re.split(r"-?\b\d[\d.e+-]*", reason), key=len).strip(" :,;")


def rejects(vector: Vector, folder: Path, data: bytes, used: Counter[str]) -> Iterator[list[str]]:
    """Make files that are rejected of one to accept; yield their rows.

    used : how often each reason was given
    """
    parts, rng = Parts.of(data), np.random.default_rng(len(data))
    for number in range(TRIES):
        of_file = list(FILES.items())[number : number + 1]
        changes = parts.copy()
        if not of_file:
            changed(rng, changes)
        with suppress(ValueError):  # no number of JSON
            content = of_file[0][1](data) if of_file else changes.data
            file = folder / "reject" / f"{vector.name}.{number}.npz"
            file.write_bytes(content)
            status, text = vector.verdict(folder, file)
            reason = json.loads(text).get("reason", "")
            if status != REJECTED or used[kind_of(reason)] >= PER_REASON:
                file.unlink()
                continue
            used[kind_of(reason)] += 1
            yield [f"reject/{file.name}", vector.name, "reject", words_of(reason)]


def make(folder: Path) -> None:
    for name in ("instances", "accept", "reject"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for old in (folder / name).iterdir():
            old.unlink()
    FAMILIES.update({name: family._replace(after=0) for name, family in FAMILIES.items()})
    rows, used = list[list[str]](), Counter[str]()
    for vector in vectors():
        vector.write_instance(folder / "instances")
        data = vector.certificate(folder)
        file = folder / "accept" / f"{vector.name}.npz"
        file.write_bytes(data)
        status, text = vector.verdict(folder, file)
        assert status == 0, (vector.name, text)
        rows.append([f"accept/{file.name}", vector.name, "accept", json.loads(text)["status"]])
        rows += rejects(vector, folder, data, used)
    with open(folder / "vectors.csv", "w", newline="", encoding="utf-8") as written:
        csv.writer(written, lineterminator="\n").writerows([COLUMNS, *rows])
    accepted = sum(row[2] == "accept" for row in rows)
    print(f"{accepted} to accept, {len(rows) - accepted} to reject")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
