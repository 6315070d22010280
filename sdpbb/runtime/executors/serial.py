"""Tasks in this process."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from sdpbb.runtime.executors.executor import TaskExecutor


class SerialExecutor(TaskExecutor):
    """Executor in this process: no pickling, no processes, the same order every time."""

    @property
    def n_workers(self) -> int:
        return 1

    def submit(self, function: Callable[[], Any], seconds: float = math.inf) -> Future[Any]:
        """Run the function now; its exceptions go into the future, interrupts to the caller."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        try:
            value = function()
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(value)
        return future
