import sys
from collections.abc import Callable

import pytest
from hypothesis import settings

# The first example of a test pays for imports and compilation, so a deadline would be a dice roll.
settings.register_profile("default", deadline=None, max_examples=30)
# For a night: pytest --hypothesis-profile=thorough
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("default")


@pytest.fixture
def run(monkeypatch, capsys) -> Callable[..., tuple[int, str, str]]:
    """Run the command in this process: its exit status, standard output and standard error."""
    from sdpbb.cli import main

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sdpbb", *map(str, arguments)])
        with pytest.raises(SystemExit) as exited:
            main()
        out, err = capsys.readouterr()
        return int(exited.value.code or 0), out, err

    return run
