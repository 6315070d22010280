"""How commands read an instance."""

import warnings
from pathlib import Path

import pytest

from sdpbb.app.cli.app import COMMANDS, application
from sdpbb.app.cli.files import InstanceOptions, reading_files
from sdpbb.errors import InstanceWarning

CSV = "id,x,class\na,0,u\nb,1,u\nc,5,v\nd,9,v\n"


def file(folder: Path, content: str, name: str) -> str:
    (folder / name).write_text(content)
    return str(folder / name)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_on_an_instance_reads_all_formats(name):
    arguments = application()[name].assemble_argument_collection()
    options = {option for argument in arguments for option in argument.names}
    if "--constraints" in options:
        assert {"--constraints-format", "--one-based", "--index-column", "--drop"} <= options


def test_a_warning_is_a_line_on_standard_error(tmp_path, capsys):
    data = file(tmp_path, CSV, "points.csv")
    constraints = file(tmp_path, "# none\n", "constraints.txt")
    InstanceOptions(k=1, constraints=constraints, index_column="id", drop=("class",)).read(data)
    assert capsys.readouterr() == (
        "",
        f"warning: {constraints}: has no constraints; is it the right file?\n",
    )


def test_other_warnings_stay_warnings():
    with pytest.warns(UserWarning, match="^of another kind$") as caught, reading_files():
        warnings.warn("of another kind", UserWarning, stacklevel=1)
    assert not any(issubclass(warning.category, InstanceWarning) for warning in caught)


@pytest.mark.parametrize("command", ["solve", "heuristic pccc", "check", "suggest", "gap"])
def test_quiet_commands_tell_no_notes_but_warnings(run, tmp_path, command):
    data = file(tmp_path, "id,x,y\na,0,100\nb,4,\nc,9,50\nd,10,60\n", "points.csv")
    lines = file(tmp_path, "ML 1 2\nML 2 1\nCL 1 3\n", "lines.txt")
    arguments = [
        *command.split(),
        data,
        "-k",
        2,
        "--constraints",
        lines,
        "--drop",
        "id",
        "--standardize",
    ]
    arguments += ["--missing", "mean"]
    if command == "gap":
        arguments.insert(2, file(tmp_path, "0\n0\n0\n1\n", "labels.txt"))
    err = run(*arguments)[2]
    assert "note: columns are standardized" in err
    assert "note: " in err.replace("note: columns", "")
    quiet = run(*arguments, "--quiet")[2]
    assert quiet == "".join(line for line in err.splitlines(True) if line.startswith("warning: "))
