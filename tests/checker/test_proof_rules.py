"""The rules by which the checker proves cuts, on all partitions of a few blocks."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.sdp.cuts.sizes import difference_down
from sdpbb.checker.kernel.cuts.inequalities import NodeFacts
from sdpbb.checker.kernel.cuts.measures import extreme_sizes, least_entries, most_of_some
from sdpbb.checker.kernel.cuts.templates import Template, partitions
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.sizes import SizeLimits
from tests.enumeration import clustering_matrix, clusterings

seeds = st.integers(0, 10**6)
BELL = [1, 1, 2, 5, 15, 52, 203]


def matrices(weights: np.ndarray, ks) -> list[np.ndarray]:
    """Z of all clusterings of blocks of these weights into any of these numbers of clusters."""
    m = len(weights)
    return [clustering_matrix(row, weights) for k in ks for row in clusterings(m, k)]


def value(template: Template, Z: np.ndarray) -> float:
    """Left-hand side on the first blocks."""
    return float((template.coefficient * Z[template.p, template.q]).sum())


def test_partitions_are_all_there_are():
    for t, number in enumerate(BELL):
        none = np.zeros((t, t), bool)
        found = {frozenset(map(frozenset, parts)) for parts in partitions(t, t, none)}
        assert len(found) == number
    linked = np.zeros((4, 4), bool)
    linked[0, 3] = linked[3, 0] = True
    found = list(partitions(4, 2, linked))
    assert len(found) == len(set(map(str, found))) == 4
    assert all(len(parts) == 2 and not any({0, 3} <= part for part in parts) for parts in found)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=5), seeds)
def test_integer_vectors(y, seed):
    weights = np.random.default_rng(seed).uniform(0.1, 3.0, len(y))
    template = Template.of_vector(np.array(y))
    for Z in matrices(weights, range(1, len(y) + 1)):
        half = 0.5 * (np.array(y) @ Z @ np.array(y) - np.array(y) @ np.diag(Z))
        assert value(template, Z) == pytest.approx(half, abs=1e-12)
        assert value(template, Z) >= -1e-12


@given(seeds)
def test_enumeration(seed):
    """Templates that it accepts hold within the limits; others are rejected."""
    rng = np.random.default_rng(seed)
    t, k = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    m = max(t + 1, k)
    pairs = [(p, q) for p in range(t) for q in range(p, t)]
    entries = [(p, q, float(rng.integers(-2, 4))) for p, q in pairs]
    template = Template.of(entries, float(rng.choice([0.0, -0.5, 0.2])))
    apart = np.triu(rng.random((t, t)) < 0.2, 1)
    apart |= apart.T
    weights = rng.integers(1, 3, m).astype(float)
    least, most = int(rng.integers(1, 4)), int(rng.integers(3, 9))
    limits = SizeLimits(int(weights.sum()), k, least, most) if rng.random() < 0.7 else None
    node = NodeFacts(k, weights, np.zeros((m, m), bool), limits)
    kept = [
        Z
        for Z in matrices(weights, [k])
        if not Z[:t, :t][apart].any()
        and (limits is None or (least - 1e-9 <= 1 / np.diag(Z)).all())
        and (limits is None or (1 / np.diag(Z) <= most + 1e-9).all())
    ]
    least_value = min((value(template, Z) for Z in kept), default=np.inf)
    if least_value < template.side - 1e-9:
        with pytest.raises(Rejected):
            template.require_valid(apart, node)
        return
    try:
        template.require_valid(apart, node)
    except Rejected:
        return
    assert least_value >= template.side - 1e-9


def test_enumeration_needs_its_conditions():
    complement = Template.of([(0, 0, -1.0), (0, 1, 1.0), (0, 2, 1.0)])
    apart = np.zeros((3, 3), bool)
    apart[1, 2] = apart[2, 1] = True
    two, three = (NodeFacts(k, np.ones(5), np.zeros((5, 5), bool)) for k in (2, 3))
    complement.require_valid(apart, two)
    for linked, node in ((apart, three), (np.zeros((3, 3), bool), two)):
        with pytest.raises(Rejected, match="not valid"):
            complement.require_valid(linked, node)
    clique = Template.symmetric(np.ones((3, 3), int), np.zeros(3), 1 / 4)
    clique.require_valid(np.zeros((3, 3), bool), two)  # of 5 points in two clusters
    sharper = Template.symmetric(np.ones((3, 3), int), np.zeros(3), 1 / 4 + 1e-15)
    with pytest.raises(Rejected, match="not valid"):
        sharper.require_valid(np.zeros((3, 3), bool), two)
    limits = SizeLimits(5, 2, 2, 3)
    narrow = NodeFacts(2, np.ones(5), np.zeros((5, 5), bool), limits)
    pair = Template.of([(0, 0, 3.0), (1, 1, -2.0), (0, 1, -difference_down(3, 2))])
    pair.require_valid(np.zeros((2, 2), bool), narrow)
    with pytest.raises(Rejected, match="not valid"):
        pair.require_valid(np.zeros((2, 2), bool), two)
    wrong = Template.of([(0, 0, 1.0), (0, 1, -1.0), (0, 2, -1.0)])  # a triangle without Z_jh
    with pytest.raises(Rejected, match="not valid"):
        wrong.require_valid(np.zeros((3, 3), bool), two)
    with pytest.raises(Rejected, match="at most 8"):
        Template.symmetric(np.ones((9, 9), int), np.zeros(9)).require_valid(
            np.zeros((9, 9), bool), two
        )


@given(st.lists(st.integers(1, 4), min_size=2, max_size=4), st.data())
def test_traces_of_sizes_within_ranges(sizes, data):
    """Of any number of points of clusters whose sizes are within the limits."""
    n, k = sum(sizes), len(sizes)
    wide = data.draw(st.lists(st.integers(0, 2), min_size=k, max_size=k))
    ranges = [(max(1, size - more), size + more) for size, more in zip(sizes, wide, strict=True)]
    limits = SizeLimits.of(n, k, listed=ranges) or SizeLimits(n, k, 1, n - k + 1)
    most = most_of_some(limits)
    entries = np.sort(np.concatenate([np.full(size, 1.0 / size) for size in sizes]))
    for t in range(n + 1):
        assert least_entries(most, t) <= entries[:t].sum() + 1e-15 * k


@given(st.lists(st.integers(1, 4), min_size=2, max_size=4), st.data())
def test_traces_and_cliques_of_listed_sizes(sizes, data):
    """On every choice of points of clusters of these sizes."""
    n, listed = sum(sizes), tuple(sorted(sizes))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    entries = 1.0 / np.array(sizes, float)[labels]
    t = data.draw(st.integers(0, n))
    least = np.sort(entries)[:t].sum()
    most = np.concatenate([[0], np.cumsum(listed[::-1])]).tolist()
    assert least_entries(most, t) <= least + 1e-15 * len(sizes)
    assert least_entries(most, t) == pytest.approx(least, abs=1e-12)
    for is_largest in (True, False):
        if listed[0] == listed[-1]:
            return
        found = extreme_sizes(listed, is_largest)
        width = found.count + 1
        values = []
        for chosen in combinations(range(n), min(width, n)):
            own = labels[list(chosen)]
            pairs = sum(entries[i] for i, j in combinations(chosen, 2) if labels[i] == labels[j])
            values.append(found.on_pairs * pairs + found.on_entries * entries[list(chosen)].sum())
            assert len(own) <= width
        if width <= n:
            assert min(values) >= found.side - 1e-12


@given(seeds)
def test_the_lift(seed):
    rng = np.random.default_rng(seed)
    e = rng.integers(1, 4, 5).astype(float)
    for Z in matrices(e, range(1, 6)):
        together = Z > 0
        z = np.einsum("pq,ps,p->pqs", together, together, np.diag(Z))
        x = z @ e
        assert x == pytest.approx(together.astype(float))
        for a, b, c in permutations(range(5), 3):
            lower = Z[c, a] + Z[c, b] - Z[c, c]
            assert max(0.0, lower) - 1e-12 <= z[a, b, c] <= min(Z[a, b], Z[a, c], Z[b, c]) + 1e-12
        edges = sum(x[a, (a + 1) % 5] for a in range(5))
        chords = sum(x[a, (a + 2) % 5] for a in range(5))
        assert 2.0 - edges + chords >= -1e-12
        i, j = 0, 1
        apart = sum(e[h] * (Z[i, h] - z[i, j, h]) for h in range(5))
        assert apart == pytest.approx(1.0 - x[i, j])
        assert apart >= sum(e[h] * max(0.0, Z[i, h] - Z[j, h]) for h in range(5)) - 1e-12
