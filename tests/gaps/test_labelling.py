import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import InstanceError
from sdpbb.problem import Origin, PairLines
from sdpbb.questions.gaps.gap import label_numbers

# Labels of -1 are noted, which tests/problem/test_wrong_turns.py looks at.
pytestmark = pytest.mark.filterwarnings("ignore:labels.* are -1:sdpbb.errors.InstanceNote")

LABELS = [7, -1, 7, 3, -1]
NUMBERS = [0, 1, 0, 2, 1]


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        tuple(LABELS),
        np.array(LABELS),
        np.array(LABELS, np.int8),
        np.array(LABELS, float),
        np.array(LABELS, object),
        [str(label) for label in LABELS],
        np.array(LABELS).astype(str),
        ["7", "", "7", 7, ""],
        [True, False, True, 2, 0],
        map(float, LABELS),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_labels_of_any_kind(labels):
    numbers = label_numbers(labels, 5)
    assert numbers.dtype == np.intp
    assert numbers.tolist() == NUMBERS


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_series(library):
    series = pytest.importorskip(library).Series
    for values in (LABELS, [str(label) for label in LABELS]):
        assert label_numbers(series(values), 5).tolist() == NUMBERS


def test_a_number_and_its_text_are_two_labels():
    assert label_numbers([1, "1", 1.0], 3).tolist() == [0, 1, 0]


ONE = "expected one integer, number or text per point"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 0], "labels: 3 of them; expected 5, one per point"),
        ([0, 1, None, 0, 1], f"labels[2] is of type NoneType; {ONE}"),
        ([0, 1, 0, float("nan"), 1], f"labels[3] is nan; {ONE}"),
        (None, f"labels: of type NoneType; {ONE}"),
        ([0, [1], 0, 0, 1], f"labels[1] is of type list; {ONE}"),
        (np.zeros((5, 1)), "labels: an array of shape (5, 1); expected (n,)"),
        (np.array(3), "labels: an array of shape (); expected (n,)"),
        ("01001", f"labels: of type str; {ONE}"),
        ({0: 1}, f"labels: of type dict; {ONE}"),
        (5, f"labels: of type int; {ONE}"),
    ],
)
def test_what_labels_are_not(labels, message):
    with pytest.raises(InstanceError, match=f"^{re.escape(message)}$"):
        label_numbers(labels, 5)


def test_missing_labels_of_pandas():
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series([0, 1, None], dtype="Int64")
    with pytest.raises(InstanceError, match=r"^labels\[2\] is of type NAType; "):
        label_numbers(labels, 3)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_is_no_column(library):
    frame = pytest.importorskip(library).DataFrame({"cls": LABELS})
    with pytest.raises(InstanceError, match=r"frame; expected one column of it, \['cls'\] say$"):
        label_numbers(frame, 5)


@given(st.integers(0, 10**9))
def test_the_first_place_of_each_pair_is_found(seed):
    rng = np.random.default_rng(seed)
    pairs = np.array([sorted(rng.choice(6, 2, replace=False)) for _ in range(rng.integers(0, 12))])
    pairs = pairs.astype(np.intp).reshape(-1, 2)
    stated = PairLines(pairs, np.arange(len(pairs)) * 3 + 1, len(pairs))
    origin = Origin(constraints_path="c.txt", cannot_link=stated)
    for i in range(8):
        for j in range(i):
            lines = [3 * at + 1 for at, pair in enumerate(pairs.tolist()) if pair == [j, i]]
            expected = f"c.txt:{lines[0]}" if lines else ""
            assert origin.place("cannot_link", i, j) == expected
