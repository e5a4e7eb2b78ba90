"""Runs `bowerbird …` on a machine whose clock is wrong: `python -c "…; main()" SECONDS ARGUMENTS…`."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta

from bowerbird import cli, clock


def main() -> None:
    ahead = timedelta(seconds=float(sys.argv.pop(1)))
    right, steady = clock.RealClock.__init__.__defaults__ or ()

    def wrong() -> datetime:
        told: datetime = right()
        return told + ahead

    clock.RealClock.__init__.__defaults__ = (wrong, steady)
    cli.main()
