"""Certificates of instances whose sizes are limited."""

from itertools import product

import numpy as np
import pytest

import sdpbb
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.sizes import Measure, SizeLimits
from sdpbb.checker.packing import is_packable
from sdpbb.errors import CertificateError
from sdpbb.problem import Instance


@pytest.mark.parametrize(
    "others",
    [{"sizes": [50, 50, 50]}, {"min_size": 49}, {"max_size": 50}, {}],
)
def test_certificates_are_about_the_sizes_they_were_made_for(others, tmp_path):
    points = Instance.from_files("instances/iris.txt").points
    path = str(tmp_path / "iris.cert")
    stated = Instance(points, 3, min_size=50)
    result = sdpbb.solve(stated, certificate=path)
    verdict = sdpbb.verify_certificate(path, stated)
    assert verdict.status == "optimal"
    assert result.statistics.n_nodes == 1
    with pytest.raises(CertificateError, match="constraints on clusters"):
        sdpbb.verify_certificate(path, Instance(points, 3, **others))


@pytest.mark.parametrize("seed", range(60))
def test_packings_are_those_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    m, k = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    counts = rng.integers(1, 4, m)
    n = int(counts.sum())
    if seed % 2 and n >= k:
        sizes = (rng.multinomial(n - k, np.ones(k) / k) + 1).tolist()
        wide = rng.integers(0, 1 + seed % 3, k).tolist()
        listed = [(size, size + more) for size, more in zip(sizes, wide, strict=True)]
        limits = SizeLimits.of(n, k, listed=listed) or SizeLimits(n, k, 1, n - k + 1)
    else:
        least = int(rng.integers(1, max(2, n // k + 1)))
        limits = SizeLimits(n, k, least, int(rng.integers(max(1, n // k), n + 1)))
    adjacency = np.triu(rng.random((m, m)) < 0.3, 1)
    adjacency = adjacency | adjacency.T

    def fits(labels: tuple[int, ...]) -> bool:
        of_blocks = np.array(labels)
        sizes = np.bincount(of_blocks, counts, k).astype(int)
        apart = adjacency & (of_blocks[:, None] == of_blocks)
        return not apart.any() and not limits.is_empty and limits.keeps(sizes)

    expected = any(map(fits, product(range(k), repeat=m)))
    assert is_packable([Measure(counts, limits)], adjacency) is expected


def test_packings_are_given_up_in_time():
    counts = np.full(60, 7)
    limits = SizeLimits(420, 6, 69, 71)
    with pytest.raises(Rejected, match="could not be decided"):
        is_packable([Measure(counts, limits)], np.zeros((60, 60), bool), steps=20)
