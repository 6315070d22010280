"""The published strategies that ours is measured against are fair opponents."""

import numpy as np
import pytest

from scripts.bench.query_strategies import PUBLISHED

NAMES = ("random pairs", "explore-consolidate", "min-max", "NPU")


def blobs(n_each: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(3), n_each)
    return 6.0 * classes[:, None] + rng.normal(size=(len(classes), 2)), classes


def asked(name: str, points: np.ndarray, classes: np.ndarray, most: int = 1000) -> list:
    """The pairs that a strategy asks about, with the answers of the classes."""
    asking = PUBLISHED[name](points, 3, np.random.default_rng(1), lambda: classes)
    pairs, answer = [], None
    try:
        while len(pairs) < most:
            i, j = asking.send(answer)
            answer = bool(classes[i] == classes[j])
            pairs.append((i, j, answer))
    except StopIteration:
        pass
    return pairs


@pytest.mark.parametrize("name", NAMES)
def test_no_pair_is_asked_twice_and_all_points_come(name):
    points, classes = blobs(4)
    pairs = asked(name, points, classes)
    assert len({frozenset(pair[:2]) for pair in pairs}) == len(pairs)
    assert {point for pair in pairs for point in pair[:2]} == set(range(12))
    # Each point but the first at most k - 1, and three at most to find all neighbourhoods.
    assert name == "random pairs" or len(pairs) <= 2 * 11 + 1


def test_npu_asks_about_points_between_clusters_once_it_knows_some():
    points, classes = blobs(8)
    points = np.vstack([points, [[3.0, 3.0]], [[3.2, 2.8]]])
    classes = np.append(classes, [0, 1])
    pairs = asked("NPU", points, classes, 12)
    assert {24, 25} & {point for pair in pairs for point in pair[:2]}
