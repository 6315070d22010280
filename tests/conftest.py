import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import settings

from tests.examples import examples
from tests.warm import WarmProcess, path_of_warm

settings.register_profile("default", examples())
settings.load_profile("default")


def pytest_addoption(parser):
    parser.addoption("--fast", action="store_true", help="leave out long tests and processes")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--fast"):
        return
    long = [x for x in items if x.get_closest_marker("long") or x.get_closest_marker("alone")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in set(long)]


@pytest.fixture(autouse=True)
def no_processes(request, monkeypatch):
    """With --fast, a test that starts a process is skipped there."""
    if request.config.getoption("--fast"):

        def skip(*_arguments, **_named):
            pytest.skip("starts a process")

        monkeypatch.setattr(subprocess.Popen, "__init__", skip)
        monkeypatch.setattr(subprocess.Popen, "__del__", lambda process: None)
        monkeypatch.setattr(os, "fork", skip)


@pytest.fixture(autouse=True)
def warm_workers(request):
    """Workers that this process starts are forks of one that has loaded all they need; those of
    tests/executors start as they do for users."""
    with pytest.MonkeyPatch.context() as patch:
        if os.name == "posix" and "executors" not in request.path.parts:
            if not request.config.getoption("--fast"):
                path_of_warm()  # before the test: its time limits do not wait for it
            patch.setattr(
                "sdpbb.runtime.executors.processes._start_process",
                lambda errors: WarmProcess(path_of_warm(), errors),
            )
        yield


@pytest.fixture
def pools():
    """The schedulers that runs make: first that of this process, then that of other workers."""
    from sdpbb.runtime.executors.scheduler import Scheduler

    made = []

    def pool(executor, **options):
        made.append(Scheduler(executor, **options))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sdpbb.search.workforce.Scheduler", pool)
        yield made


@pytest.fixture
def run(monkeypatch, capsys) -> Callable[..., tuple[int, str, str]]:
    """Run the command in this process: its exit status, standard output and standard error."""
    from sdpbb.app.cli import main

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sdpbb", *map(str, arguments)])
        with pytest.raises(SystemExit) as exited:
            main()
        out, err = capsys.readouterr()
        return int(exited.value.code or 0), out, err

    return run


@pytest.fixture
def engine(monkeypatch):
    """Replace the engine by one that remembers what it was asked and returns `engine.result`."""
    from sdpbb.search.events import Finished
    from sdpbb.search.result import Result
    from tests.test_result import OPTIMAL

    class Engine:
        result = Result(**OPTIMAL)
        error: Exception | None = None
        calls = ()
        events = ()

        def __call__(self, instance, parameters, observer, interrupt, checkpoint, certificate=None):
            self.calls += ((instance, parameters),)
            for event in self.events:
                observer(event)
            if self.error is not None:
                raise self.error
            observer(Finished(self.result))
            return self.result

    engine = Engine()
    monkeypatch.setattr("sdpbb.run.solver.solve", engine)
    return engine
