from sdpbb.bounds.sdp import kernels
from sdpbb.bounds.sdp.bounding import SdpBounding


def test_without_a_compiler_nothing_is_compiled(monkeypatch):
    # With NUMBA_DISABLE_JIT=1 kernels are plain functions.
    plain = getattr(kernels.spread, "py_func", kernels.spread)
    monkeypatch.setattr(kernels, "spread", plain)
    assert SdpBounding.are_kernels_cached()
