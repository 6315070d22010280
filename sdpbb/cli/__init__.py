"""The command `sdpbb`.

commands.py          solve and resume
heuristic.py         heuristic
heuristic_report.py  what is told of it
options.py           what several of them take
inputs.py            the instance
exit_codes.py        the exit status, and errors as one line
outputs.py           the files asked for
streams.py           standard streams, whose failure does not cost the result
"""

from sdpbb.cli.commands import main
from sdpbb.cli.exit_codes import EXIT_CODES, ExitCode, exit_code

__all__ = ["EXIT_CODES", "ExitCode", "exit_code", "main"]
