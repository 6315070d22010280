"""The numbers of the proof from enumerated clusters. Light: nothing is imported that compiles."""

from __future__ import annotations

from dataclasses import dataclass

from sdpbb.archive.stored import stored
from sdpbb.domains import check_fields
from sdpbb.errors import ParameterError


@stored
@dataclass(frozen=True)
class PartitioningParameters:
    """The proof from enumerated clusters. None of these numbers affects what is proven.

    batch : columns added to the linear programme between two solves, per block
    cut_rounds, cuts, cuts_per_block : rounds of subset rows, at most so many new ones in each, and
        of those through one block
    violation : by which a subset row has to be violated; its right-hand side is 1
    trial_effort : of the search after each linear programme, in case few columns are left: columns
        looked at, in all nodes together
    integer_columns, integer_seconds : before the search at the end HiGHS looks for a partition
        among so many columns of the lowest reduced costs, for so long; it proves nothing
    effort : of the search at the end, about 10 million a second. All of it is one step, which
        limits of time wait for
    tolerance : a variable counts as fractional beyond this
    """

    batch: int = 3
    cut_rounds: int = 10
    cuts: int = 60
    cuts_per_block: int = 5
    violation: float = 1e-3
    trial_effort: int = 1_000_000
    integer_columns: int = 3000
    integer_seconds: float = 1.0
    effort: int = 10_000_000
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        check_fields(self)
        counts = (self.batch, self.cuts, self.cuts_per_block, self.effort)
        if min(counts) < 1 or min(self.cut_rounds, self.trial_effort) < 0:
            raise ParameterError(f"partitioning parameters out of their domain: {self}")
        if self.integer_columns < 1 or not self.integer_seconds > 0.0:
            raise ParameterError(f"parameters of the integer programme out of their domain: {self}")
        if not (0.0 < self.tolerance < 0.1 and 0.0 < self.violation < 0.5):
            raise ParameterError(f"partitioning parameters out of their domain: {self}")
