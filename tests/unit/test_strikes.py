"""A refusal belongs to what was refused."""

from __future__ import annotations

from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bowerbird.crawl.strikes import STRIKES, Strikes
from bowerbird.model import Outcome, Page


def lane(number: int, facet: str) -> Any:
    service = SimpleNamespace(name="s")
    return cast("Any", SimpleNamespace(lane=number, service=service, facet=SimpleNamespace(name=facet)))


QUOTES, REPOSTS = lane(1, "quotes"), lane(2, "reposts")
BAD = Page(outcome=Outcome.BAD_TOKEN, detail="401 This method requires an authenticated user")


def struck(strikes: Strikes, credential: str | None, times: int, *, answered: bool = False) -> bool:
    lease = cast("Any", SimpleNamespace(credential=credential))
    is_out = False
    for _ in range(times):
        is_out = strikes.is_out(QUOTES, lease, BAD, ExitStack())
        if answered:
            strikes.is_out(REPOSTS, lease, Page(outcome=Outcome.OK), ExitStack())
    return is_out


@pytest.mark.parametrize(
    ("credential", "answered", "is_of_service"), [(None, False, False), ("mine", False, True), ("mine", True, False)]
)
def test_others_lose_a_credential_only_if_nobody_is_answered_with_it(
    credential: str | None, answered: bool, is_of_service: bool
) -> None:
    strikes = Strikes()
    assert not struck(strikes, credential, STRIKES - 1, answered=answered)
    assert struck(strikes, credential, 1)
    assert strikes.is_of_service(QUOTES, BAD, credential) is is_of_service


def test_what_was_refused_to_whom_is_remembered_in_words() -> None:
    strikes = Strikes()
    struck(strikes, None, STRIKES)
    assert strikes.words == {1: "s does not answer quotes without a credential (401 This method requires an authenticated user)"}
