"""A machine whose clock is wrong: for processes that are told so as their first argument, before they run `bowerbird …`."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta

from bowerbird import clock


def set_clock() -> None:
    """Takes the seconds by which it is ahead off the command line."""
    ahead = timedelta(seconds=float(sys.argv.pop(1)))
    right, steady = clock.RealClock.__init__.__defaults__ or ()

    def wrong() -> datetime:
        told: datetime = right()
        return told + ahead

    clock.RealClock.__init__.__defaults__ = (wrong, steady)
