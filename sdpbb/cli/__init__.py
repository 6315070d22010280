"""The command `sdpbb`.

commands.py    solve and resume
options.py     what both of them take
exit_codes.py  the exit status, and errors as one line
outputs.py     the files asked for
streams.py     standard streams, whose failure does not cost the result
"""

from sdpbb.cli.commands import main
from sdpbb.cli.exit_codes import EXIT_CODES, ExitCode, exit_code

__all__ = ["EXIT_CODES", "ExitCode", "exit_code", "main"]
