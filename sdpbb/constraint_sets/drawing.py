"""Parameters of a constraint set, by which it can be drawn again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sdpbb.constraint_sets import procedures
from sdpbb.errors import ParameterError
from sdpbb.problem.files.constraints import Constraints
from sdpbb.runtime.values import counted


@dataclass(frozen=True)
class Drawing:
    """Parameters of a constraint set to draw.

    Parameters
    ----------
    pairs : so many pairs (`by_number`)
    percentage : as many pairs as so many percent of the points have among themselves
        (`by_percentage`)
    must_links, cannot_links : so many of each kind (`by_kinds`), 0 where only one is given. One of
        these three has to be given
    noise : share of either kind that is stated the other way (`with_noise`)
    confidence : least probability that a soft constraint is right (`with_confidence`); None for
        constraints without
    soft : whether constraints are soft ones of weight 1
    seed : of the random choices, >= 0

    Raises
    ------
    ParameterError
        If these do not go together.
    """

    pairs: int | None = None
    percentage: float | None = None
    must_links: int | None = None
    cannot_links: int | None = None
    noise: float = 0.0
    confidence: float | None = None
    soft: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        kinds = self.must_links if self.must_links is not None else self.cannot_links
        asked = [self.pairs, self.percentage, kinds]
        if sum(number is not None for number in asked) != 1:
            raise ParameterError(
                "expected one of --pairs, --percentage, or --must-links and --cannot-links"
            )
        if self.confidence is not None and self.noise:
            raise ParameterError(
                f"noise = {self.noise:g}: not allowed with --confidence, which draws wrong "
                "constraints itself"
            )
        if self.seed < 0:
            raise ParameterError(f"seed = {self.seed}: expected an integer >= 0")

    @property
    def is_soft(self) -> bool:
        """True if soft constraints are drawn."""
        return self.soft or self.confidence is not None

    def of(self, classes: Any) -> Constraints:
        """Draw the constraints from classes of rows: the same at each call.

        classes : (n,) numbers or texts, as the procedures take them

        Raises
        ------
        ParameterError
            If there are fewer pairs than asked for, or a share or probability is out of its domain.
        InstanceError
            If the classes are none.
        """
        rng = np.random.default_rng(self.seed)
        if self.pairs is not None:
            drawn = procedures.by_number(classes, self.pairs, rng)
        elif self.percentage is not None:
            drawn = procedures.by_percentage(classes, self.percentage, rng)
        else:
            kinds = (self.must_links or 0, self.cannot_links or 0)
            drawn = procedures.by_kinds(classes, *kinds, rng)
        if self.confidence is not None:
            return procedures.with_confidence(drawn, self.confidence, rng)
        if self.noise:
            drawn = procedures.with_noise(drawn, self.noise, rng)
        return drawn.soft if self.soft else drawn.hard

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the parameters in words."""
        if self.pairs is not None:
            what = f"{counted(self.pairs, 'pair')} (Wagstaff and Cardie, 2000)"
        elif self.percentage is not None:
            what = f"pairs by {self.percentage:g} % (Gonzalez-Almagro et al., 2020)"
        else:
            must_links = counted(self.must_links or 0, "must-link")
            kinds = f"{must_links} and {counted(self.cannot_links or 0, 'cannot-link')}"
            what = f"{kinds} (Piccialli et al., 2022)"
        if self.confidence is not None:
            what += f", right with probabilities from {self.confidence:g} (PCCC)"
        elif self.noise:
            what += f", a share of {self.noise:g} turned into the other kind (BH-k-means)"
        return f"{what}{', soft' if self.soft else ''}, seed {self.seed}"
