"""A refusal belongs to what was refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from bowerbird.crawl.work.servers.strikes import STRIKES, Strikes
from bowerbird.db.hooks import Hooks
from bowerbird.model import Outcome, Page


def lane(number: int, facet: str) -> Any:
    service = SimpleNamespace(name="s")
    return cast("Any", SimpleNamespace(lane=number, service=service, facet=SimpleNamespace(name=facet)))


QUOTES, REPOSTS = lane(1, "quotes"), lane(2, "reposts")
BAD = Page(outcome=Outcome.BAD_TOKEN, detail="401 This method requires an authenticated user")


GOOD = Page(outcome=Outcome.OK)


def settled(strikes: Strikes, asked: Any, credential: str | None, page: Page, *, fails: bool = False) -> bool:
    """One answer in a settle of its own, which may be rolled back."""
    hooks = Hooks()
    is_out = strikes.is_out(cast("Any", hooks), asked, cast("Any", SimpleNamespace(credential=credential)), page)
    hooks.rolled_back() if fails else hooks.committed()
    return is_out


def struck(strikes: Strikes, credential: str | None, times: int, *, answered: bool = False) -> bool:
    is_out = False
    for _ in range(times):
        is_out = settled(strikes, QUOTES, credential, BAD)
        if answered:
            settled(strikes, REPOSTS, credential, GOOD)
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


def test_an_answer_whose_settle_is_rolled_back_counts_for_nothing() -> None:
    strikes = Strikes()
    struck(strikes, "mine", STRIKES - 1)
    # A refusal, tried in vain, is not the last one; a good answer, tried in vain, has not wiped the others out.
    for page in (BAD, GOOD):
        settled(strikes, QUOTES, "mine", page, fails=True)
        assert strikes.words == {}
    assert settled(strikes, QUOTES, "mine", BAD)
    assert strikes.is_of_service(QUOTES, BAD, "mine")


def test_refusals_of_settles_rolled_back_do_not_add_up() -> None:
    strikes = Strikes()
    for _ in range(STRIKES):
        settled(strikes, QUOTES, "mine", BAD, fails=True)
    assert not struck(strikes, "mine", STRIKES - 1)
