"""A small form of `bowerbird evaluate forget`."""

from __future__ import annotations

from bowerbird.evaluate.forget import Size, evaluate_forget


def test_nothing_is_left_of_people_who_are_forgotten_while_a_crawl_runs() -> None:
    figures = evaluate_forget(("mastodon",), Size(accounts=12, forgotten=2, hours=1), with_postgres=False)
    (crawl,) = figures["by_crawl"].values()
    assert crawl["found_before"] == crawl["secrets"] > 10
    assert crawl["exported_before"] > 10
    assert set(crawl["where"]) == {"tables", "exports", "restored backup", "bytes"}
    assert figures["found"] == 0
