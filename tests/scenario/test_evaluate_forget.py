"""A small form of `bowerbird evaluate forget`."""

from __future__ import annotations

import pytest

from bowerbird.evaluate.forget import Size, evaluate_forget

PLACES = {"tables and payloads", "quarantine", "media folder", "earlier exports", "new exports", "restored backup", "bytes"}


@pytest.mark.long
def test_nothing_is_left_of_people_and_posts_that_leave_while_a_crawl_runs() -> None:
    figures = evaluate_forget(("mastodon",), Size(accounts=20, each=1, hours=1), with_postgres=False)
    (crawl,) = figures["by_crawl"].values()
    assert crawl["found_before"] == crawl["secrets"] > 10
    assert crawl["exported_before"] > 10
    assert crawl["pictures_before"] > 10
    assert all(crawl["left"].values())
    assert set(crawl["where"]) == PLACES
    assert figures["found"] == 0
