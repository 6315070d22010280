from sdpbb import compilation
from sdpbb.bounds.sdp import kernels


def test_without_a_compiler_nothing_is_compiled(monkeypatch):
    # With NUMBA_DISABLE_JIT=1 kernels are plain functions.
    plain = getattr(kernels.spread, "py_func", kernels.spread)
    monkeypatch.setattr(kernels, "spread", plain)
    compilation._is_cached.cache_clear()
    try:
        assert compilation._is_cached()
    finally:
        compilation._is_cached.cache_clear()
