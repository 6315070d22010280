"""What a worker does before its first task."""

from __future__ import annotations


def load_kernels() -> None:
    """Import the engine and load its compiled kernels, or compile them where there is no cache."""
    from sdpbb.compilation import prepare_kernels

    prepare_kernels(lambda: None)
