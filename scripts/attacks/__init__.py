"""What `scripts/attack.py` consists of.

runner.py, worker.py   cases in processes that may hang or die
tally.py, outcome.py   what came of them
exhaustive.py          the truth about small instances, compiled; exact.py, in rational arithmetic;
                       subsets.py, so for 16 points; ruled.py, with constraints on clusters
shapes.py              random instances of every shape
judging.py             a result against the truth
reduction.py           the smallest instance, or file, that still shows what was found
random_parameters.py   parameters of the engine, inside and outside of their domains
valid_files.py, mutations.py   files, and what is done to them
certificate_mutations.py   certificates that are slightly wrong
running.py             the command in a process of its own

A part is a module with a function `case(rng, folder) -> Outcome` that raises `Found`, a number
`PATIENCE` of seconds within which a case has to come back, and `prepare(folder)`, which is called
once in every process before the first case. The folder is empty at the beginning, and the
process's own.
"""

PARTS = (
    "enumeration",
    "modules",
    "numerics",
    "distances",
    "readers",
    "parameters",
    "certificates",
    "kills",
    "limits",
)
"""The parts, a module of `attacks.parts` each."""
