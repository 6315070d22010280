from sdpbb import compilation
from sdpbb.bounds.colgen.bounding import ColgenBounding
from sdpbb.bounds.sdp import kernels
from sdpbb.bounds.sdp.bounding import SdpBounding


def test_without_a_compiler_nothing_is_compiled(monkeypatch):
    # With NUMBA_DISABLE_JIT=1 kernels are plain functions.
    plain = getattr(kernels.spread, "py_func", kernels.spread)
    monkeypatch.setattr(kernels, "spread", plain)
    assert SdpBounding.are_kernels_cached()


def test_a_process_compiles_once(monkeypatch):
    monkeypatch.setattr(compilation, "_ready", set())
    for method in (SdpBounding, ColgenBounding):
        monkeypatch.setattr(method, "are_kernels_cached", staticmethod(lambda: False))
    told = []
    for bounding in ("sdp", "sdp", "hybrid", "hybrid", "colgen"):
        compilation.prepare_kernels(lambda bounding=bounding: told.append(bounding), bounding)
    assert told == ["sdp", "hybrid"]
