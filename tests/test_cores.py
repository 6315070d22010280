import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.problem import Instance, contract
from sdpbb.runtime.cores import in_pieces, row_pieces, using_cores


@given(st.integers(1, 2000), st.booleans())
def test_pieces_are_all_rows_in_their_order(m, is_large):
    pieces = row_pieces(m, 1e12 if is_large else 0.0)
    assert pieces[0][0] == 0
    assert pieces[-1][1] == m
    assert all(last == first for (_, last), (first, _) in pairwise(pieces))
    assert is_large or len(pieces) == 1


@given(st.integers(1, 4), st.integers(0, 9))
def test_values_come_in_the_order_of_the_pieces(n, n_pieces):
    pieces = [(i, i + 1) for i in range(n_pieces)]
    with using_cores(n):
        assert in_pieces(lambda first, last: (first, last), pieces) == pieces


def test_several_threads_work_with_one_blas_thread_each():
    meeting = threading.Barrier(3)

    def step(first, last):
        meeting.wait(60)
        blas = [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]
        return threading.get_ident(), max(blas)

    with threadpool_limits(1), using_cores(3):
        found = in_pieces(step, [(0, 1), (1, 2), (2, 3)])
    assert len({ident for ident, _ in found}) == 3
    assert {blas for _, blas in found} == {1}


def test_threads_end_with_the_block():
    before = threading.active_count()
    with using_cores(3):
        in_pieces(lambda first, last: time.sleep(0.01), [(i, i + 1) for i in range(6)])
        assert threading.active_count() > before
        with using_cores(1):
            assert len({*in_pieces(lambda *_: threading.get_ident(), [(0, 1), (1, 2)])}) == 1
    assert threading.active_count() == before


@pytest.mark.parametrize("bad", range(4))
def test_an_error_of_a_piece_is_raised(bad):
    done = []

    def step(first, last):
        if first == bad:
            raise MemoryError(str(bad))
        time.sleep(0.05)
        done.append(first)

    with using_cores(3):
        with pytest.raises(MemoryError, match=str(bad)):
            in_pieces(step, [(i, i + 1) for i in range(4)])
        assert len(done) == 3  # nothing is under way any more


@pytest.mark.long
def test_a_bound_is_the_same_with_any_number_of_cores(monkeypatch):
    monkeypatch.setattr("sdpbb.runtime.cores.LEAST_WORK", 0.0)
    rng = np.random.default_rng(0)
    contraction = contract(Instance(rng.normal(size=(300, 3)), 5, cannot_link=[(0, 1), (2, 3)]))
    bounds = []
    for n in (1, 2, 3):
        run = SdpBounding().start(contraction, None)
        with threadpool_limits(1), using_cores(n):
            bounds.append([run.advance(np.inf).bound.value for _ in range(2)])
    assert bounds[0] == bounds[1] == bounds[2]
