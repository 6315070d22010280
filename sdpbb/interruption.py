"""Ctrl-C: one line and an exit status, whatever the process is doing. Light: imported first."""

from __future__ import annotations

import contextlib
import os
import signal

TYPE_CHECKING = False  # what typing needs is not imported: every moment until then is unprotected
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

INTERRUPTED = 130
"""The exit status; shells report the same for a process that the signal itself has ended."""


def leave_on_ctrl_c() -> None:
    """From here on Ctrl-C ends the process at once: for the time when there is nothing to save."""
    # No KeyboardInterrupt: raised in the middle of an import it ends in somebody else's traceback.
    signal.signal(signal.SIGINT, _leave)


@contextlib.contextmanager
def finish_on_ctrl_c(interrupt: threading.Event) -> Iterator[None]:
    """Within the block the first Ctrl-C sets the event, and the second ends the process at once.

    Python runs handlers between two of its own instructions, so never within a long call of
    compiled code. The first Ctrl-C waits for the end of such a call; the second must not, and is
    left to the operating system.
    """

    def finish(signum: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        interrupt.set()
        _tell("\ninterrupted: finishing; press Ctrl-C again to leave at once\n")

    previous = signal.getsignal(signal.SIGINT)
    _install_for_one_signal(finish)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


@contextlib.contextmanager
def interrupt_on_ctrl_c(given: threading.Event | None) -> Iterator[threading.Event]:
    """The event that ends a run which a Python program or a notebook has asked for: the given one,
    or one that the first Ctrl-C within the block sets. The second raises KeyboardInterrupt.

    Ctrl-C is left to whoever handles it otherwise: nothing is installed for a given event, in other
    threads than the main one, and where Ctrl-C would not raise KeyboardInterrupt anyway.
    """
    import threading

    event = threading.Event() if given is None else given
    python_handles_it = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    in_main_thread = threading.current_thread() is threading.main_thread()
    if given is not None or not (in_main_thread and python_handles_it):
        yield event
        return

    def finish(signum: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        event.set()

    signal.signal(signal.SIGINT, finish)
    try:
        yield event
    finally:
        if signal.getsignal(signal.SIGINT) is finish:  # nobody else has installed theirs meanwhile
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(signum: int, frame: object) -> None:
    _tell("error: interrupted\n")
    os._exit(INTERRUPTED)


def _tell(text: str) -> None:
    # Not print: the signal may have come in the middle of another write.
    with contextlib.suppress(OSError):
        os.write(2, text.encode())


def _install_for_one_signal(handler: Callable[[int, object], None]) -> None:
    """Install a handler that the operating system itself takes off as the first signal comes."""
    import ctypes

    signal.signal(signal.SIGINT, handler)
    try:
        libc = ctypes.CDLL(None)
        libc.signal.restype = ctypes.c_void_p
        libc.signal.argtypes = libc.sysv_signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    except (AttributeError, OSError, TypeError):
        return  # no System V signals: the second Ctrl-C, too, waits for compiled code
    python_handler = libc.signal(signal.SIGINT, None)  # None is 0, which is SIG_DFL
    libc.sysv_signal(signal.SIGINT, python_handler)
