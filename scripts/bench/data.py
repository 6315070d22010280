"""Data sets that several suites read: published sets with their constraints, and references."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scripts.bench import rows
from sdpbb.problem import Instance
from sdpbb.problem.formats import read_instance
from sdpbb.problem.origin import standardization

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
RESULTS = DOCS / "benchmarks"
SHARED_DATA = ROOT.parent / "shared" / "data"
"""Folder of published data, which may not be there."""


class PublishedSet(NamedTuple):
    """Constraint set of PC-SOS-SDP: kind is ML, CL or ML+CL, of n_constraints each."""

    dataset: str
    kind: str
    n_constraints: int
    seed: int
    name: str

    @property
    def configuration(self) -> tuple[str, str, int]:
        """The key of the published averages: data set in lower case, kind, constraints."""
        return (self.dataset.lower(), self.kind, self.n_constraints)

    @property
    def case(self) -> dict[str, Any]:
        """The set as a case."""
        return {"dataset": self.dataset, "set": self.name}


def published_set(dataset: str, name: str) -> PublishedSet:
    """Return the set that a name `ml_A_cl_B_S` stands for."""
    match = re.fullmatch(r"ml_(\d+)_cl_(\d+)_(\d+)", name)
    if match is None:
        raise ValueError(f"{name}: expected ml_A_cl_B_S")
    must_links, cannot_links, seed = map(int, match.groups())
    if must_links and cannot_links:
        return PublishedSet(dataset, "ML+CL", must_links, seed, name)
    kind, count = ("ML", must_links) if must_links else ("CL", cannot_links)
    return PublishedSet(dataset, kind, count, seed, name)


def published_sets(
    data: Path, draws: int, datasets: Iterable[str] | None = None
) -> list[PublishedSet]:
    """Return the first draws of each constraint set, of small data first; none without data."""
    if datasets is None:
        files = (data / "pc-sos-sdp" / "datasets").glob("*.txt")
        datasets = [path.stem for path in sorted(files, key=lambda path: path.stat().st_size)]
    found = []
    for dataset in datasets:
        names = (data / "pc-sos-sdp" / "constraints" / dataset).glob("*.txt")
        sets = sorted(published_set(dataset, path.stem) for path in names)
        found += [one for one in sets if one.seed < draws]
    return found


def published_instance(data: Path, dataset: str, name: str | None = None) -> Instance:
    """Return a data set of PC-SOS-SDP, with one of its constraint sets if it is named."""
    folder = data / "pc-sos-sdp"
    pairs = folder / "constraints" / dataset / f"{name}.txt" if name else None
    return read_instance(folder / "datasets" / f"{dataset}.txt", None, pairs)


def reference(data: Path, file: str) -> list[rows.Row]:
    """Return published results, which are in the folder beside the data; none without it."""
    return rows.read(data.parent / "reference" / file)


def published_averages(data: Path) -> dict[tuple[str, str, int], rows.Row]:
    """Return the published averages of PC-SOS-SDP by `PublishedSet.configuration`."""
    return {
        (row["dataset"].lower(), row["constraint_kind"], int(row["n_constraints"])): row
        for row in reference(data, "pc_sos_sdp_results.csv")
    }


def unequal_groups(rng: np.random.Generator, n: int, k: int, d: int) -> NDArray[np.float64]:
    """Return points (n, d) of k normal groups of unequal sizes in a box of side 10."""
    shares = rng.dirichlet(np.full(k, 5.0))
    centres = rng.uniform(0.0, 10.0, size=(k, d))
    return centres[rng.choice(k, n, p=shares)] + rng.normal(size=(n, d))


def standardised(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns of mean zero and variance one; constant ones are 0."""
    return standardization(points).applied(points)
