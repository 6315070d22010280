"""Start of a process, and its signals: the first Ctrl-C or SIGTERM ends a run, the second at once.

Light: a command imports it first.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal

TYPE_CHECKING = False  # what typing needs is not imported: every moment until then is unprotected
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    T = TypeVar("T")

INTERRUPTED, TERMINATED = 130, 143
"""The exit statuses after Ctrl-C and SIGTERM; shells report the same for processes that these
signals themselves have ended."""

_STATUS = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}
_ended_by = signal.SIGINT  # the first signal of the last `finish_on_signal`


class Interrupted(KeyboardInterrupt):
    """Ctrl-C has ended what a Python program or a notebook had asked for.

    result : what was found until then, instead of what would have been returned
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


@contextlib.contextmanager
def lean_imports() -> Iterator[None]:
    """Context manager for the imports of a process of this project's own.

    Garbage is collected after the block: modules leave none, and looking for it takes a quarter of
    the time of all imports. Objects that are there by then are not looked at later either.
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if is_collecting:
            gc.enable()


def leave_on_signal() -> None:
    """Let Ctrl-C and SIGTERM end the process at once from here on.

    This is for the time when there is nothing to save.
    """
    # No KeyboardInterrupt: raised in the middle of an import it ends in somebody else's traceback.
    for signum in _STATUS:
        signal.signal(signum, _exit_process)


def ignore_signals() -> None:
    """Ignore Ctrl-C and SIGTERM in this process.

    They may be sent to all processes of a command: the one that has started this one takes them.
    """
    for signum in _STATUS:
        signal.signal(signum, signal.SIG_IGN)


@contextlib.contextmanager
def _handled(handler: Callable[[int, object], None], *signums: signal.Signals) -> Iterator[None]:
    """Context manager: a handler of signals within the block."""
    previous = {signum: signal.signal(signum, handler) for signum in signums}
    try:
        yield
    finally:
        for signum, before in previous.items():
            signal.signal(signum, before)


@contextlib.contextmanager
def finish_on_signal(interrupt: threading.Event) -> Iterator[None]:
    """Within the block the first Ctrl-C or SIGTERM sets the event.

    After it, a Ctrl-C ends the process at once. Another SIGTERM changes nothing: timeout(1) sends
    two, and whoever sends one and loses patience sends SIGKILL.

    Python runs handlers between two of its own instructions: the first one waits for the end of a
    call of compiled code.
    """
    global _ended_by
    _ended_by = signal.SIGINT

    def finish(signum: int, frame: object) -> None:
        global _ended_by
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if interrupt.is_set():
            return
        _ended_by = signal.Signals(signum)
        interrupt.set()
        if signum == signal.SIGTERM:
            _tell("\nterminated: finishing; press Ctrl-C to exit immediately\n")
        else:
            _tell("\ninterrupted: finishing; press Ctrl-C again to exit immediately\n")

    with _handled(finish, *_STATUS):
        yield


def exit_status() -> int:
    """Return the exit status of a process which has finished after a signal.

    The signal is that which has ended it since the last `finish_on_signal`.
    """
    return _STATUS[_ended_by]


def interruptible(given: threading.Event | None, work: Callable[[threading.Event], T]) -> T:
    """Return what work returns, called with the event that ends it.

    It is the given event; or, if there is none, one that the first Ctrl-C sets. Ctrl-C is left to
    whoever handles it otherwise: nothing is installed for a given event, in other threads than the
    main one, and where Ctrl-C would not raise KeyboardInterrupt anyway.

    Raises
    ------
    Interrupted
        With what work has returned, if it was ended by Ctrl-C.
    KeyboardInterrupt
        At the second Ctrl-C, at once.
    """
    import threading

    event = threading.Event() if given is None else given
    python_handles_it = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    in_main_thread = threading.current_thread() is threading.main_thread()
    if given is not None or not (in_main_thread and python_handles_it):
        return work(event)

    def finish(signum: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        event.set()

    with _handled(finish, signal.SIGINT):
        value = work(event)
    if event.is_set():
        raise Interrupted("the attribute `result` holds the best result so far", value)
    return value


def _exit_process(signum: int, frame: object) -> None:
    _tell(f"error: {'terminated' if signum == signal.SIGTERM else 'interrupted'}\n")
    os._exit(_STATUS[signal.Signals(signum)])


def _tell(text: str) -> None:
    # Not print: the signal may have come in the middle of another write.
    with contextlib.suppress(OSError):
        os.write(2, text.encode())
