import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import InstanceError
from sdpbb.problem import Instance, SoftPairs

N = 6
POINTS = np.arange(float(N))[:, None]
KINDS = ["soft_must_link", "soft_cannot_link"]
rows = st.integers(0, N - 1)
triples = st.lists(
    st.tuples(rows, rows, st.floats(0, 1, exclude_min=True)).filter(lambda t: t[0] != t[1])
)


def instance(kind: str, values: object) -> Instance:
    return Instance(POINTS, 2, **{kind: values})


@pytest.mark.parametrize("kind", KINDS)
@given(triples=triples)
def test_all_spellings_are_the_same_pairs(kind, triples):
    soft = getattr(instance(kind, triples), kind)
    assert soft.pairs.tolist() == [sorted(triple[:2]) for triple in triples]
    assert soft.weights.tolist() == [triple[2] for triple in triples]
    assert len(soft) == len(triples)
    pairs = np.array([triple[:2] for triple in triples], np.intp).reshape(-1, 2)
    weights = np.array([triple[2] for triple in triples])
    for values in (
        iter(triples),
        tuple(map(list, triples)),
        np.array(triples, float).reshape(-1, 3),
        np.array(triples, object).reshape(-1, 3),
        SoftPairs(pairs, weights),
        SoftPairs(pairs[:, ::-1], weights.astype(object)),
        soft,
    ):
        other = getattr(instance(kind, values), kind)
        assert np.array_equal(other.pairs, soft.pairs)
        assert np.array_equal(other.weights, soft.weights)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("none", [None, (), [], np.empty(0), np.empty((0, 3)), SoftPairs()])
def test_no_soft_pairs(kind, none):
    made = instance(kind, none)
    assert not made.has_soft_constraints
    soft = getattr(made, kind)
    assert soft.pairs.shape == (0, 2)
    assert soft.weights.shape == (0,)
    assert "soft" not in repr(made)


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_are_read_only_copies(kind):
    given_pairs, given_weights = np.array([[1, 0]]), np.array([0.5])
    made = instance(kind, SoftPairs(given_pairs, given_weights))
    given_pairs[0], given_weights[0] = 3, 0.25
    soft = getattr(made, kind)
    assert soft.pairs.tolist() == [[0, 1]]
    assert soft.weights.tolist() == [0.5]
    with pytest.raises(ValueError, match="read-only"):
        soft.weights[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        soft.pairs[0, 0] = 1


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_of_weight_0_are_none_and_of_infinite_weight_hard(kind):
    made = instance(kind, [(0, 1, 0.0), (3, 2, np.inf), (4, 5, 7.5)])
    assert getattr(made, kind).pairs.tolist() == [[4, 5]]
    assert getattr(made, kind).weights.tolist() == [7.5]
    hard = {"must_link": made.must_link, "cannot_link": made.cannot_link}
    assert hard.pop(kind.removeprefix("soft_")).tolist() == [[2, 3]]
    assert all(not len(others) for others in hard.values())


@pytest.mark.parametrize("triple", [(True, False, 2.0), (0, float(10**25), 1.0), (0, np.inf, 1.0)])
def test_rows_that_are_no_row_numbers_are_refused(triple):
    with pytest.raises(InstanceError, match=r"^soft_must_link"):
        instance("soft_must_link", [triple])
