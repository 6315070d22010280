"""Constraint sets that are drawn: the right number, true, every set of pairs equally likely."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb import constraint_sets
from sdpbb.constraint_sets import (
    Drawing,
    LinkedPairs,
    by_kinds,
    by_number,
    by_percentage,
    number_by_percentage,
    with_confidence,
    with_noise,
)

DRAWS = 2000
# Of 8 points with alternating labels, by seed 5.
BY_NUMBER = [[[2, 6]], [[0, 1], [3, 6], [4, 5]]]
BY_PERCENTAGE = [[[0, 2], [1, 3], [1, 5]], [[2, 5], [3, 4], [4, 7]]]
BY_KINDS = [[[0, 4], [1, 3]], [[0, 3], [6, 7]]]


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def keys(pairs: np.ndarray) -> set[tuple[int, int]]:
    return set(map(tuple, pairs.tolist()))


def assert_true(labels, drawn: LinkedPairs) -> None:
    """Different pairs i < j, sorted within their kind, linked as the labels say."""
    labels = np.asarray(labels)
    for pairs, is_ml in zip(drawn, (True, False), strict=True):
        assert pairs.shape == (len(pairs), 2)
        assert pairs.tolist() == sorted(pairs.tolist())
        assert (pairs[:, 0] < pairs[:, 1]).all()
        assert len(keys(pairs)) == len(pairs)
        assert ((labels[pairs[:, 0]] == labels[pairs[:, 1]]) == is_ml).all()


labelled = st.lists(st.integers(0, 3), min_size=1, max_size=12)


@given(labels=labelled, data=st.data(), seed=st.integers(0, 9))
def test_as_many_as_asked_for_in_all_or_of_each_kind(labels, data, seed):
    same = sum(a == b for a, b in combinations(labels, 2))
    different = len(labels) * (len(labels) - 1) // 2 - same
    numbers = (data.draw(st.integers(0, same)), data.draw(st.integers(0, different)))
    drawn = by_kinds(labels, *numbers, generator(seed))
    assert (len(drawn.must_link), len(drawn.cannot_link)) == numbers
    assert_true(labels, drawn)
    drawn = by_number(labels, sum(numbers), generator(seed))
    assert len(drawn.must_link) + len(drawn.cannot_link) == sum(numbers)
    assert_true(labels, drawn)


@pytest.mark.parametrize(
    ("n", "percentage"), [(100, 7), (30, 33), (12, 80), (9, 100), (50, 0), (1, 100)]
)
def test_by_percentage(n, percentage):
    labels = generator().integers(4, size=n)
    drawn = by_percentage(labels, percentage, generator(1))
    c = {7: 7, 33: 10, 80: 10, 100: n, 0: 0}[percentage]
    assert number_by_percentage(n, percentage) == c * (c - 1) // 2
    assert len(drawn.must_link) + len(drawn.cannot_link) == c * (c - 1) // 2
    assert_true(labels, drawn)


@pytest.mark.parametrize("listed", [constraint_sets._LISTED, 0], ids=["listed", "drawn"])
@pytest.mark.parametrize(
    ("draw", "of_same", "of_different"),
    [
        (lambda labels, rng: by_number(labels, 3, rng), 3 / 15, 3 / 15),
        (lambda labels, rng: by_number(labels, 11, rng), 11 / 15, 11 / 15),
        (lambda labels, rng: by_percentage(labels, 50, rng), 3 / 15, 3 / 15),
        (lambda labels, rng: by_percentage(labels, 80, rng), 10 / 15, 10 / 15),
        (lambda labels, rng: by_kinds(labels, 1, 2, rng), 1 / 4, 2 / 11),
        (lambda labels, rng: by_kinds(labels, 3, 9, rng), 3 / 4, 9 / 11),
    ],
)
def test_every_pair_of_a_kind_is_drawn_equally_often(
    monkeypatch, listed, draw, of_same, of_different
):
    monkeypatch.setattr(constraint_sets, "_LISTED", listed)
    labels = np.array([0, 1, 0, 2, 0, 1])  # 4 pairs of the same label, 11 of different ones
    rng, count = generator(2), np.zeros((6, 6))
    for _ in range(DRAWS):
        for pairs in draw(labels, rng):
            count[tuple(pairs.T)] += 1
    for i, j in combinations(range(6), 2):
        p = of_same if labels[i] == labels[j] else of_different
        assert abs(count[i, j] / DRAWS - p) < 4.5 * np.sqrt(p * (1 - p) / DRAWS)


def test_few_pairs_of_a_kind_are_found_among_many():
    n = 100_000
    labels = np.zeros(n, int)
    labels[17] = 1
    drawn = by_kinds(labels, 5, n - 1, generator())
    assert keys(drawn.cannot_link) == {(min(i, 17), max(i, 17)) for i in range(n) if i != 17}
    assert_true(labels, drawn)
    alone = np.arange(n)
    alone[-1] = 3
    assert by_kinds(alone, 1, 0, generator()).must_link.tolist() == [[3, n - 1]]


LABELS = np.repeat(np.arange(3), 20)


@given(noise=st.floats(0, 1), seed=st.integers(0, 9))
def test_noise_states_a_share_of_either_kind_the_other_way(noise, seed):
    drawn = by_number(LABELS, 200, generator(seed))
    noisy = with_noise(drawn, noise, generator(seed))
    assert keys(noisy.must_link) | keys(noisy.cannot_link) == keys(np.concatenate(drawn))
    wrong = [
        len(keys(given) & keys(other)) for given, other in zip(drawn, noisy[::-1], strict=True)
    ]
    assert wrong == [round(noise * len(pairs)) for pairs in drawn]
    assert len(noisy.must_link) + len(noisy.cannot_link) == 200


@pytest.mark.parametrize("least", [0.5, 0.8, 1.0])
def test_a_constraint_is_right_with_the_probability_that_its_weight_tells(least):
    drawn = by_number(np.arange(120) % 4, 7000, generator())
    soft = with_confidence(drawn, least, generator(1))
    right, weights = [], []
    for pairs, kind in (
        (drawn.must_link, "soft_must_link"),
        (drawn.cannot_link, "soft_cannot_link"),
    ):
        stated = getattr(soft, kind)
        true = keys(pairs)
        right += [tuple(pair) in true for pair in stated.pairs.tolist()]
        weights += stated.weights.tolist()
    right, weights = np.array(right), np.array(weights)
    assert len(right) == 7000
    assert ((weights > 0) & (weights <= 1)).all()
    assert weights.min() >= 2 * (least - 0.5)
    assert weights.mean() == pytest.approx(least, abs=0.02)  # of w = 2 (o - 1/2), o uniform
    # Where weights are about w, a share (1 + w) / 2 is right.
    for low in np.linspace(0, 1, 6)[:-1]:
        chosen = (weights >= low) & (weights <= low + 0.2)
        if chosen.any():
            p = (1 + weights[chosen].mean()) / 2
            assert abs(right[chosen].mean() - p) <= 4.5 * np.sqrt(p * (1 - p) / chosen.sum())


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        (Drawing(pairs=4, seed=5), BY_NUMBER),
        (Drawing(percentage=40, seed=5), BY_PERCENTAGE),
        (Drawing(must_links=2, cannot_links=2, seed=5), BY_KINDS),
        (Drawing(cannot_links=2, seed=5), [[], [[0, 3], [2, 3]]]),
    ],
)
def test_the_same_seed_draws_the_same_pairs_for_ever(drawing, expected):
    drawn = drawing.of(np.arange(8) % 2)
    assert [drawn.must_link.tolist(), drawn.cannot_link.tolist()] == expected
    assert not drawing.is_soft


def test_a_drawing_of_soft_constraints():
    hard = Drawing(pairs=30).of(LABELS)
    soft = Drawing(pairs=30, soft=True).of(LABELS)
    assert np.array_equal(soft.soft_must_link.pairs, hard.must_link)
    assert np.array_equal(soft.soft_cannot_link.pairs, hard.cannot_link)
    assert set(soft.soft_cannot_link.weights) == {1.0}
    assert not len(soft.must_link) + len(soft.cannot_link)
    confident = Drawing(pairs=30, confidence=0.6).of(LABELS)
    assert len(confident.soft_must_link) + len(confident.soft_cannot_link) == 30
    noisy = Drawing(pairs=30, noise=0.5).of(LABELS)
    assert keys(noisy.must_link) != keys(hard.must_link)


@pytest.mark.parametrize("unknown", [-1, None, np.nan, ""])
def test_rows_of_unknown_label_take_no_part(unknown):
    """The draw is that of the known rows alone, whatever stands for an unknown label."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 3, 40)
    known = np.flatnonzero(rng.random(40) < 0.5)
    partial = np.full(40, unknown, dtype=object)
    partial[known] = labels[known]
    for drawing in (
        Drawing(pairs=30),
        Drawing(percentage=50),
        Drawing(must_links=5, cannot_links=6),
    ):
        drawn, alone = drawing.of(partial), drawing.of(labels[known])
        assert np.array_equal(drawn.must_link, known[alone.must_link])
        assert np.array_equal(drawn.cannot_link, known[alone.cannot_link])
