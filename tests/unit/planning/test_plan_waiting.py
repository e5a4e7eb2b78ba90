"""Who waits for a plan is told what for."""

from __future__ import annotations

import re
from concurrent.futures import Future
from datetime import timedelta

from bowerbird.planning.plan import patiently


def test_who_waits_for_rehearsals_is_told_how_many_are_done() -> None:
    done, open_ = Future[int](), Future[int]()
    done.set_result(1)
    told: list[str] = []

    def say(words: str) -> None:
        told.append(words)
        open_.set_result(2)

    patiently([done, open_], say, "worlds of 20,000 accounts", timedelta(milliseconds=1))
    patiently([done, open_], say, "nothing")
    assert [re.findall(r"\b\d\b", words)[:2] for words in told] == [["1", "2"]]
    assert "worlds of 20,000 accounts" in told[0]
