"""Start of a process, and its signals: the first ends a run cleanly, the second at once.

Commands import this module first, so it imports little itself.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal

TYPE_CHECKING = False  # not imported from typing, which is slow: signals are not handled before
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    T = TypeVar("T")

INTERRUPTED, TERMINATED = 130, 143
"""Exit statuses after Ctrl-C and SIGTERM, as shells report them for killed processes."""

_STATUS = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}
_ended_by = signal.SIGINT  # the first signal of the last `finish_on_signal`


class Interrupted(KeyboardInterrupt):
    """Ctrl-C has ended a call in a Python program or a notebook.

    result : the best result so far, of the type that the call returns
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


@contextlib.contextmanager
def lean_imports() -> Iterator[None]:
    """Context manager for the imports of a process that belongs to this project.

    The garbage collector is off within the block: imports leave no garbage, and collecting takes a
    quarter of their time. Objects that exist at the end are never collected.
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
    """Let Ctrl-C and SIGTERM end the process at once, as there is nothing to save yet."""
    # A KeyboardInterrupt during an import would print a traceback of other code.
    for signum in _STATUS:
        signal.signal(signum, _exit_process)


def ignore_signals() -> None:
    """Ignore Ctrl-C and SIGTERM in this process.

    They may be sent to all processes of a command; the parent process handles them.
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

    A Ctrl-C after it ends the process at once. Another SIGTERM changes nothing: timeout(1) sends
    two of them, and SIGKILL remains.

    Python runs handlers between two of its own instructions, so after the present call of compiled
    code.
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
            _print("\nterminated: finishing; press Ctrl-C to exit immediately\n")
        else:
            _print("\ninterrupted: finishing; press Ctrl-C again to exit immediately\n")

    with _handled(finish, *_STATUS):
        yield


def exit_status() -> int:
    """Return the exit status of a process that has finished after a signal.

    The signal is the first one since the last `finish_on_signal`.
    """
    return _STATUS[_ended_by]


def interruptible(given: threading.Event | None, work: Callable[[threading.Event], T]) -> T:
    """Return work(event), where the event ends the work.

    It is the given event, or a new one that the first Ctrl-C sets. No handler of Ctrl-C is
    installed for a given event, outside of the main thread, or if the program has its own handler.

    Raises
    ------
    Interrupted
        With the value of the work, if Ctrl-C has ended it.
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
    _print(f"error: {'terminated' if signum == signal.SIGTERM else 'interrupted'}\n")
    os._exit(_STATUS[signal.Signals(signum)])


def _print(text: str) -> None:
    # Not print: the signal may have come in the middle of another write.
    with contextlib.suppress(OSError):
        os.write(2, text.encode())
