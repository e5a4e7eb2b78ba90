"""Real limits made larger or smaller, windows longer or shorter: a demo must not take a quarter of an hour."""

from __future__ import annotations

from datetime import timedelta

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.model import WindowKind
from bowerbird.simulated.limiter import Throttle


class Scale(Struct, frozen=True):
    """Factors on every allowance and every window; 1 is the real thing."""

    limits: float = 1.0
    windows: float = 1.0

    def __post_init__(self) -> None:
        if self.limits <= 0 or self.windows <= 0:
            raise UserError(
                f"Scales must be positive, not limits {self.limits} and windows {self.windows}: 1 means the real limits."
            )

    def throttle(self, name: str, allowance: int, window: timedelta, kind: WindowKind) -> Throttle:
        # Whole seconds, as servers count; below a second the window stays as it is.
        seconds = window.total_seconds() * self.windows
        window = timedelta(seconds=round(seconds) if seconds >= 1 else seconds)
        return Throttle(name, max(1, round(allowance * self.limits)), window, kind)


REAL = Scale()
