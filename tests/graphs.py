"""Graphs and contractions that several test modules draw from."""

from itertools import product

import numpy as np

from sdpbb.problem import Contraction


def random_graph(rng: np.random.Generator, m: int, density: float) -> np.ndarray:
    upper = np.triu(rng.random((m, m)) < density, 1)
    return upper | upper.T


def complete(m: int) -> np.ndarray:
    return ~np.eye(m, dtype=bool)


def cycle(m: int) -> np.ndarray:
    adjacency = np.zeros((m, m), dtype=bool)
    i = np.arange(m)
    adjacency[i, (i + 1) % m] = adjacency[(i + 1) % m, i] = True
    return adjacency


def mycielski(adjacency: np.ndarray) -> np.ndarray:
    """One more colour is needed, and no larger clique arises. That of the cycle of five is the
    Grötzsch graph: triangle-free, of chromatic number 4."""
    m = len(adjacency)
    larger = np.zeros((2 * m + 1, 2 * m + 1), dtype=bool)
    larger[:m, :m] = larger[:m, m : 2 * m] = larger[m : 2 * m, :m] = adjacency
    larger[m : 2 * m, 2 * m] = larger[2 * m, m : 2 * m] = True
    return larger


def contraction_of(
    adjacency: np.ndarray, k: int, rng: np.random.Generator, r: int = 2, largest: int = 3
) -> Contraction:
    """Random blocks of up to `largest` points over a cannot-link graph, in centred coordinates."""
    m = len(adjacency)
    sizes = rng.integers(1, largest + 1, m)
    means = rng.normal(size=(m, r))
    means -= sizes @ means / sizes.sum()
    pairs = np.argwhere(np.triu(adjacency)).astype(np.intp)
    scatter = np.where(sizes > 1, rng.random(m), 0.0)
    block_of = np.repeat(np.arange(m), sizes)
    return Contraction(k, block_of, sizes.astype(float), means, scatter, pairs)


def proper(adjacency: np.ndarray, labels: np.ndarray) -> bool:
    i, j = np.nonzero(adjacency)
    return bool(np.all(labels[i] != labels[j]))


def proper_colourings(adjacency: np.ndarray, k: int) -> list[np.ndarray]:
    every = map(np.array, product(range(k), repeat=len(adjacency)))
    return [labels for labels in every if proper(adjacency, labels)]


def clusterings(adjacency: np.ndarray, k: int) -> list[np.ndarray]:
    """The proper colourings that use every colour."""
    return [x for x in proper_colourings(adjacency, k) if len(np.unique(x)) == k]
