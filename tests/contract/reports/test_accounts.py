"""Whom a person means by what is written, in either database."""

from __future__ import annotations

import pytest
from store_pages import Crawled, user

from bowerbird.model import Page
from bowerbird.ports import Database
from bowerbird.reports.histories.find_account import Account, find_accounts
from bowerbird.reports.reader import Reader


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def found(crawled: Crawled, text: str) -> list[tuple[str, str]]:
    """Ids, and the handles that the accounts had where they have it no longer."""
    return [(account.id, account.had) for account in await accounts(crawled, text)]


async def accounts(crawled: Crawled, text: str) -> list[Account]:
    async with crawled.database.reading() as tx:
        return await find_accounts(crawled.database, tx, text)


async def test_an_id_a_key_and_a_handle_in_any_spelling_mean_the_account(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", handle="Ada_L"), user("2", handle="adaxl"))))
    for text in ("x:1", "1", "Ada_L", "@Ada_L", "@ada_l", "ADA_L"):
        assert await found(crawled, text) == [("x:1", "")]
    for text in ("x:3", "3", "@1", "@", "", "ada%", "@ada_", "https://x.com/Ada_L"):
        assert await found(crawled, text) == []


async def test_on_mastodon_the_server_behind_a_handle_need_not_be_written(crawled: Crawled) -> None:
    people = (user("1", handle="wanda_sf@one.example"), user("2", handle="wandaxsf@one.example"))
    await crawled.save(Page(users=(*people, user("3", handle="ada@one.example"), user("4", handle="ada@two.example"))))
    for text in ("@wanda_sf", "wanda_sf", "@Wanda_SF", "@wanda_sf@one.example"):
        assert await found(crawled, text) == [("x:1", "")]
    assert await found(crawled, "@ada") == [("x:3", ""), ("x:4", "")]
    assert await found(crawled, "@ada@two.example") == [("x:4", "")]
    assert await found(crawled, "@wanda_sf@two.example") == []


async def test_a_handle_that_was_given_up_means_who_had_it(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", handle="a_b"), user("2", handle="axb"))))
    await crawled.save(Page(users=(user("1", handle="countess"), user("2", handle="duke"))))
    (account,) = await accounts(crawled, "@a_b")
    assert (account.id, account.handle, account.had, account.until) == ("x:1", "countess", "a_b", crawled.now)
    assert await found(crawled, "@A_B") == [("x:1", "a_b")]
    await crawled.save(Page(users=(user("1", handle="a_b"),)))
    assert await found(crawled, "@a_b") == [("x:1", "")]
    assert await found(crawled, "@countess") == [("x:1", "countess")]


async def test_a_handle_that_changed_hands_means_all_who_ever_had_it(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", handle="ada@one.example"),)))
    await crawled.save(Page(users=(user("1", handle="countess@one.example"), user("2", handle="ada@one.example"))))
    await crawled.save(Page(users=(user("2", handle='"duke"@one.example'), user("3", handle="ada@one.example"))))
    for text in ("@ada", "@ada@one.example"):
        assert await found(crawled, text) == [("x:1", "ada@one.example"), ("x:2", "ada@one.example"), ("x:3", "")]
    await crawled.save(Page(users=(user("2", handle="beth@one.example"),)))
    assert await found(crawled, '"duke"') == [("x:2", '"duke"@one.example')]


async def test_the_reader_finds_the_same(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user("1", handle="ada@one.example"),)))
    await crawled.save(Page(users=(user("1", handle="countess@one.example"),)))
    for handle in ("@ada", "countess@one.example"):
        (account,) = await Reader(crawled.database).users_by_handle(handle)
        assert account["id"] == "x:1"
    assert await Reader(crawled.database).users_by_handle("x:1") == []
