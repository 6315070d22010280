"""The command `sdpbb`.

app.py               what all commands belong to, and errors of the command line as one line
solve.py, resume.py, heuristic.py, ...
                     a command each
running.py           a run of the engine, told of while it lasts
options.py           arguments and options, derived from declarations where there are any
engine.py            options of the engine, and its parameters
help.py              the layout of help texts
inputs.py            the instance
exits.py             the exit status, and errors as one line
outputs.py           the files asked for
streams.py           standard streams, whose failure does not cost the result
"""

from sdpbb.app.cli.app import main
from sdpbb.app.cli.exits import EXIT_CODES, ExitCode, exit_code

__all__ = ["EXIT_CODES", "ExitCode", "exit_code", "main"]
