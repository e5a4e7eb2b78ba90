"""Quarantine: counts are exact, what is kept is bounded, and it leaves with those whom it names. On both databases."""

from __future__ import annotations

from datetime import timedelta

import pytest
from store_pages import FEDIVERSE, POSTS, TIMELINE, Crawled, X, federated, post, toot, user

from bowerbird.model import Broken, Gone, Outcome, Page, Subject
from bowerbird.ports import Database
from bowerbird.reports.status.health import read_health
from bowerbird.store.intake.quarantine import KEPT, KEPT_FOR, LONGEST_RAW, MOST_NAMES, MOST_REASONS, OTHER, reason


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def broken(raw: bytes, why: str = "ValueError: no id") -> Broken:
    return Broken(Subject.POST, raw, why)


async def test_a_source_that_sends_nothing_usable_is_counted_and_keeps_a_sample(crawled: Crawled) -> None:
    for _ in range(3):
        await crawled.save(Page(broken=(broken(b"{}"),) * 100_000), TIMELINE, "1")
    assert await crawled.count("quarantine") == KEPT
    (told,) = (await read_health(crawled.database)).quarantine
    assert (told.facet, told.why, told.items, told.kept) == ("timeline", "ValueError: no id", 300_000, KEPT)


async def test_huge_payloads_leave_no_more_than_a_piece_of_each_and_their_size(crawled: Crawled) -> None:
    await crawled.save(Page(broken=tuple(broken(b"\x00" * 1_000_000) for _ in range(30))), TIMELINE, "1")
    row = await crawled.row("select sum(length(raw)) as raw, min(bytes) as bytes from quarantine")
    assert (row["raw"], row["bytes"]) == (KEPT * LONGEST_RAW, 1_000_000)
    source = await crawled.row("select items, bytes from quarantine_sources")
    assert (source["items"], source["bytes"]) == (30, 30_000_000)


async def test_each_service_facet_and_reason_has_a_sample_of_its_own_and_reasons_are_bounded(crawled: Crawled) -> None:
    odd = tuple(broken(b"{}", f"{'no' * n} id") for n in range(1, 100))
    await crawled.save(Page(broken=odd), TIMELINE, "1")
    await crawled.save(Page(broken=odd[:1]), TIMELINE, "1", service=FEDIVERSE)
    assert await crawled.count("quarantine_sources") == MOST_REASONS + 2
    row = await crawled.row(f"select items from quarantine_sources where why = '{OTHER}'")
    assert row["items"] == 99 - MOST_REASONS
    assert await crawled.count("quarantine") == MOST_REASONS + KEPT + 1


def test_a_reason_names_no_values() -> None:
    assert reason("ValidationError: Invalid enum value 'ada@home.example' - at `$.kind`") == (
        "ValidationError: Invalid enum value … - at `$.kind`"
    )
    assert reason("ValueError: an id is 'secret text that was cut of") == "ValueError: an id is …"
    assert reason('ValueError: invalid literal for int() with base 10: "it\'s"') == (
        "ValueError: invalid literal for int() with base 0: …"
    )


async def test_items_leave_with_the_account_or_post_they_name(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", handle="ada"), user("2")), posts=(post("10"), post("20", "2"))), TIMELINE, "1")
    raws = (b'{"user":{"id":1},"text":"hers"}', b'{"screen_name":"ada"}', b'{"id_str":"20","text":"gone"}', b'{"id":333}')
    await crawled.save(Page(broken=tuple(broken(raw) for raw in raws)), TIMELINE, "1")
    await crawled.save(Page(gone=(Gone(Subject.USER, "1", Outcome.SUSPENDED),)))
    await crawled.save(Page(gone=(Gone(Subject.POST, "20", Outcome.NOT_FOUND),)), POSTS, "20")
    assert [bytes(row["raw"]) for row in await crawled.rows("select raw from quarantine")] == [b'{"id":333}']
    assert await crawled.count("quarantine_names", "item not in (select item from quarantine)") == 0
    assert (await crawled.row("select items from quarantine_sources"))["items"] == 4


async def test_items_leave_with_accounts_and_posts_of_servers_that_have_keys_of_their_own(crawled: Crawled) -> None:
    page = Page(users=(federated("ada", "77"), federated("bob", "78")), posts=(toot("900", "bob"),))
    await crawled.save(page, TIMELINE, "77", service=FEDIVERSE)
    raws = (b'{"account":{"id":"77"}}', b'{"uri":"https:\\/\\/home.example\\/users\\/ada"}', b'{"id":"900"}', b'{"id":"901"}')
    await crawled.save(Page(broken=tuple(broken(raw) for raw in raws)), TIMELINE, "77", service=FEDIVERSE)
    await crawled.save(Page(gone=(Gone(Subject.USER, "77", Outcome.SUSPENDED),)), service=FEDIVERSE)
    await crawled.save(Page(gone=(Gone(Subject.POST, "900", Outcome.NOT_FOUND),)), POSTS, "900", service=FEDIVERSE)
    assert [bytes(row["raw"]) for row in await crawled.rows("select raw from quarantine")] == [b'{"id":"901"}']


def long_toot(words: int, repeated: int = 1) -> bytes:
    """A status as servers write it: its text first, its author at the end."""
    content = " ".join(f"word{n}" for n in range(words)) + " again" * repeated
    return b'{"content":"%s","account":{"id":"77","acct":"ada@home.example"}}' % content.encode()


@pytest.mark.parametrize("raw", [long_toot(400), long_toot(1_500), long_toot(10, repeated=LONGEST_RAW)])
async def test_a_long_post_leaves_with_its_author_who_is_named_at_its_end(crawled: Crawled, raw: bytes) -> None:
    await crawled.save(Page(users=(federated("ada", "77"),)), TIMELINE, "77", service=FEDIVERSE)
    await crawled.save(Page(broken=(broken(raw), broken(b'{"id":"901"}'))), TIMELINE, "77", service=FEDIVERSE)
    assert await crawled.count("quarantine") == 2
    await crawled.save(Page(gone=(Gone(Subject.USER, "77", Outcome.SUSPENDED),)), service=FEDIVERSE)
    assert [bytes(row["raw"]) for row in await crawled.rows("select raw from quarantine")] == [b'{"id":"901"}']


async def test_of_a_payload_with_too_many_words_to_find_it_by_nothing_is_kept_but_its_size(crawled: Crawled) -> None:
    raw = long_toot(MOST_NAMES)
    await crawled.save(Page(broken=(broken(raw, "ValueError: not a date: 'ada was here'"),)), TIMELINE, "77", service=FEDIVERSE)
    (row,) = await crawled.rows("select raw, bytes, why from quarantine")
    assert (bytes(row["raw"]), row["bytes"], row["why"]) == (b"", len(raw), "ValueError: not a date: …")
    assert await crawled.count("quarantine_names") == 0


async def test_what_names_nobody_is_forgotten_after_a_month(crawled: Crawled) -> None:
    await crawled.save(Page(broken=(broken(b"\x00garbage"),)), TIMELINE, "1", service=X)
    await crawled.save(Page(broken=(broken(b"{}"),)), TIMELINE, "1", after=KEPT_FOR + timedelta(hours=1))
    assert [bytes(row["raw"]) for row in await crawled.rows("select raw from quarantine")] == [b"{}"]
    assert (await crawled.row("select items from quarantine_sources"))["items"] == 2
