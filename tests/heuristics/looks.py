"""A time left that runs out with looks at it, not with seconds."""


class Countdown:
    """One second left at each of the first `allowed` looks, none from then on."""

    def __init__(self, allowed: float) -> None:
        self.allowed = allowed
        self.n_looks = 0

    def __call__(self) -> float:
        self.n_looks += 1
        return 1.0 if self.n_looks <= self.allowed else 0.0

    def is_over(self) -> bool:
        return self() <= 0.0
