"""Built-in flows on servers that lack routes, over real HTTP: single calls instead of batches, a sentence instead of silence."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from small_fediverse import GOTOSOCIAL, MANNERS, MASTODON_42, MASTODON_45, TAKAHE, Manner, crawled, secretive, serving

from bowerbird.app import Outside, open_crawl, unknown_servers, vocabulary
from bowerbird.cli.checks.machine import OK, PROBLEM, WARNING, Check
from bowerbird.cli.checks.reach import server_checks
from bowerbird.cli.checks.start import check_start
from bowerbird.clock import RealClock
from bowerbird.crawl.access.surveys import known_flavour
from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.model import Outcome
from bowerbird.model.wording import outcome_words
from bowerbird.simulated.tokens import Token
from bowerbird.transport import HttpTransport

ALL = sorted(MANNERS)
SILENT = [name for name in ALL if not MANNERS[name].has_batches]


@pytest.mark.parametrize("name", ALL)
async def test_posts_by_id_come_from_every_kind_of_server(name: str) -> None:
    async with serving(MANNERS[name]) as server, crawled(server, 'flow = "hydrate"', server.posts()) as done:
        assert done.ending.state == "finished", done.ending
        assert await done.count("posts where text is not null") == 18
        assert server.seen["/api/v1/statuses"] == (1 if MANNERS[name].has_batches else 0), (
            "a batch that is not taken is not asked"
        )


@pytest.mark.parametrize("name", SILENT)
async def test_a_server_that_does_not_say_what_it_is_is_found_out_by_its_refusals(name: str) -> None:
    async with serving(secretive(MANNERS[name])) as server, crawled(server, 'flow = "hydrate"', server.posts()) as done:
        assert done.ending.state == "finished", done.ending
        assert await done.count("posts where text is not null") == 18
        assert await done.count("tasks where state = 'failed'") == 0
        assert server.seen["/api/v1/statuses"] <= 4, "no more than were under way"


async def test_a_batch_of_one_that_is_refused_late_says_nothing_about_its_post() -> None:
    """Its lane asks one by one by then: the same 404 to a single call would mean that the post is gone."""
    async with serving(secretive(MASTODON_42)) as server:
        first, second, last = [f"8{n}" for n in range(10, 30)], [f"9{n}" for n in range(10, 30)], server.posts()[0]
        server.good_batches, server.slow_batch = 1, {last}
        async with crawled(server, 'flow = "hydrate"', [*first, *second, last]) as done:
            assert done.ending.state == "finished", done.ending
            assert server.seen["/api/v1/statuses"] == 3, "two batches were under way together"
            assert await done.count("posts where text is not null") == 21
            assert await done.count("deletions") == 20


@pytest.mark.parametrize("name", ALL)
async def test_the_graph_around_an_account_comes_from_every_kind_of_server(name: str) -> None:
    async with serving(MANNERS[name]) as server, crawled(server, 'flow = "graph"\nfilters.max_depth = 1', ["1"]) as done:
        assert done.ending.state == "finished", done.ending
        assert await done.count("users where handle is not null") == 6
        assert await done.count("relations where removed_at is null") == 10


@pytest.mark.parametrize("name", SILENT)
async def test_reposts_are_listed_and_a_missing_list_of_quotes_is_left_out_with_a_word(name: str) -> None:
    async with serving(MANNERS[name]) as server, crawled(server, 'flow = "cascades"', server.posts()[:4]) as done:
        assert done.ending.state == "finished", done.ending
        assert await done.count("reactions") == 24
        assert await done.count("posts where deleted_at is not null") == 0
        assert not any(path.endswith("quotes") for path in server.seen)
        assert any("quotes" in note for note in done.crawl.notes)


async def test_what_a_server_refused_is_remembered_with_it(tmp_path: Path) -> None:
    store = str(tmp_path / "crawl.db")
    async with serving(secretive(GOTOSOCIAL)) as server:
        async with crawled(server, 'flow = "hydrate"', server.posts()[:3], store=store):
            asked = server.seen["/api/v1/statuses"]
        async with crawled(server, 'flow = "hydrate"', server.posts(), store=store) as done:
            assert await done.count("posts where text is not null") == 18
        assert server.seen["/api/v1/statuses"] == asked > 0


async def test_a_server_is_asked_once_what_it_is(tmp_path: Path) -> None:
    store = str(tmp_path / "crawl.db")
    async with serving(GOTOSOCIAL) as server:
        for _ in range(3):
            async with crawled(server, 'flow = "hydrate"', server.posts()[:3], store=store) as done:
                assert await done.count("services where flavour like '%gotosocial%'") == 1
        assert server.seen["/api/v2/instance"] == 1


@pytest.mark.parametrize("manner", [MASTODON_42, secretive(TAKAHE)])
async def test_a_crawl_that_asks_only_what_is_not_offered_fails_with_a_sentence(manner: Manner) -> None:
    flow = 'flow.seeds = ["directory"]\nflow.facets.directory.ranker = "fifo"'
    refusing = msgspec.structs.replace(manner, no_route=(404, "application/json", '{"error":"Not implemented"}'))
    async with serving(refusing) as server, crawled(server, flow, ["all"]) as done:
        assert done.ending.state == "failed"
        assert done.ending.reason.code == "not_offered"
        assert all(value in done.ending.reason.problem for value in ("small", "directory", "404 Not implemented"))
        assert server.seen["/api/v1/directory"] == 1, "it is not asked for ever"
        assert await done.count("""tasks where failure like '{"code":"not_offered",%' """) == 1


async def test_one_refused_facet_does_not_keep_others_from_going_on() -> None:
    flow = """
flow.seeds = ["profile"]
flow.facets.profile.ranker = "fifo"
flow.facets.tags.ranker = "fifo"
flow.facets.timeline.ranker = "fifo"
flow.edges = [{from = "profile", to = "tags", take = "asked"}, {from = "profile", to = "timeline", take = "asked"}]
"""
    refusing = msgspec.structs.replace(MASTODON_45, no_route=(404, "application/json", '{"error":"Not implemented"}'))
    async with serving(refusing) as server, crawled(server, flow, server.accounts()) as done:
        assert done.ending.state == "finished"
        assert done.ending.reason.code == "some_given_up"
        assert "tags" in done.ending.reason.problem
        assert await done.count("posts where text is not null") == 18
        assert (
            server.seen["/api/v1/accounts/1/featured_tags"]
            + sum(count for path, count in server.seen.items() if path.endswith("featured_tags"))
            <= 8
        )


@pytest.mark.long
async def test_objects_that_a_server_answers_with_a_page_of_html_are_gone_when_others_are_answered() -> None:
    async with serving(TAKAHE) as server:
        server.absent = {"101", "602"}
        async with crawled(server, 'flow = "hydrate"', server.posts()) as done:
            assert done.ending.state == "finished", done.ending
            assert await done.count("posts where text is not null") == 16
            assert await done.count("deletions where reason = 'not_found'") == 2
            assert await done.count("tasks where state = 'failed'") == 0


@pytest.mark.long
async def test_a_proxy_that_answers_everything_with_a_page_of_html_erases_nothing(tmp_path: Path) -> None:
    store = str(tmp_path / "crawl.db")
    async with serving(TAKAHE) as server:
        async with crawled(server, 'flow = "hydrate"', server.posts()[:6], store=store):
            server.absent = set(server.posts())
        async with crawled(server, 'flow = "hydrate"', server.posts()[6:8], store=store, most=14) as done:
            assert await done.count("calls where status = 404") == 5
            assert await done.count("deletions") == 0
            assert await done.count("posts where text is not null") == 6


async def test_a_list_that_a_server_never_has_is_not_offered_after_three_pages_of_html() -> None:
    flow = """
flow.seeds = ["posts"]
flow.facets.posts.ranker = "fifo"
flow.facets.likes.ranker = "fifo"
flow.edges = [{from = "posts", to = "likes", take = "own_posts"}]
"""
    async with serving(TAKAHE) as server, crawled(server, flow, server.posts()) as done:
        assert done.ending.state == "finished", done.ending
        assert done.ending.reason.code == "some_given_up"
        assert "likes" in done.ending.reason.problem
        assert await done.count("posts where text is not null") == 18
        assert await done.count("posts where deleted_at is not null") == 0
        assert sum(count for path, count in server.seen.items() if path.endswith("favourited_by")) <= 10


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("Invalid access token", Outcome.BAD_TOKEN),
        ("Access token does not have the required scopes", Outcome.FORBIDDEN_SCOPE),
    ],
)
async def test_a_stream_that_can_never_open_ends_the_crawl_with_the_servers_words(words: str, outcome: Outcome) -> None:
    manner = msgspec.structs.replace(MASTODON_45, stream_refusal=words)
    stream = '[[streams]]\nchannel = "public"'
    async with serving(manner) as server, crawled(server, 'flow = "listen"', [], more=stream) as done:
        assert done.ending.state == "failed"
        assert done.ending.reason.code == "stream_refused"
        refusal = f"{outcome_words(outcome)} (401 {words})"
        assert all(value in done.ending.reason.problem for value in ("public", refusal))
        assert server.seen["/api/v1/streaming"] == 1, "it is not tried again and again"


@pytest.mark.parametrize(("manner", "channel"), [(GOTOSOCIAL, "hashtag"), (TAKAHE, "public")])
async def test_a_stream_that_would_stay_silent_is_said_at_once(manner: Manner, channel: str) -> None:
    stream = f'[[streams]]\nchannel = "{channel}"' + ('\ntag = ["birds"]' if channel == "hashtag" else "")
    async with serving(manner) as server, crawled(server, 'flow = "listen"', [], more=stream) as done:
        assert done.ending.state == "failed"
        assert done.ending.reason.code == "not_offered"
        assert channel in done.ending.reason.problem
        assert any(channel in note for note in done.crawl.notes)
        assert "/api/v1/streaming" not in server.seen


def planned(base: str, text: str, more: str = "") -> CrawlPlan:
    service = f'[service]\nname = "small"\nprovider = "mastodon"\nbase = "{base}"\n'
    return parse_crawl(f"{text}\n{service}{more}", Path("small.toml"), vocabulary())


async def test_a_start_asks_a_server_what_it_is_and_nothing_twice(tmp_path: Path) -> None:
    """Also of a server that would send a body to `HEAD`: nobody asks that."""
    clock = RealClock()
    transport = HttpTransport(clock, "bowerbird-test")
    async with serving(TAKAHE) as server:
        vault = TokenVault("mastodon", [Token(value="secret", kind="user")], base=server.base)
        outside = Outside(clock=clock, transport=transport, vault=vault)
        plan = planned(server.base, f'flow = "hydrate"\nseeds = ["101"]\nstore = "{tmp_path / "a.db"}"')
        start = await check_start(plan, outside, {}, may_join=False, say=str)
        # One question says that somebody is there; the others are booked before they are asked, in a store.
        assert dict(server.seen) == {"/api/v2/instance": 1}
        async with open_crawl(start.plan, outside, asked=start.asked) as crawl:
            assert await crawl.process.run(crawl.seeds, slots=1, watch_every=timedelta(seconds=1))
            async with crawl.database.reading() as tx:
                assert (await known_flavour(tx, "small", clock.now()))[0].software == "takahe"
        assert server.seen["/api/v2/instance"] == 1
    await transport.close()


async def test_a_start_asks_nothing_of_a_server_whose_limits_are_used_up(tmp_path: Path) -> None:
    clock = RealClock()
    transport = HttpTransport(clock, "bowerbird-test")
    outside = Outside(clock=clock, transport=transport, vault=TokenVault("mastodon", []))
    async with serving(TAKAHE) as server:
        plan = planned(server.base, f'flow = "hydrate"\nseeds = ["101"]\nstore = "{tmp_path / "a.db"}"')
        async with open_crawl(plan, outside) as crawl, crawl.database.transaction() as tx:
            (unknown,) = unknown_servers(plan, clock)
            all_of_it = [msgspec.structs.replace(each, amount=each.limit.allowance) for each in unknown.charges]
            await crawl.ledgers.charge(tx, all_of_it, clock.now(), is_made=True)
        before = server.seen.total()
        start = await check_start(plan, outside, {}, may_join=True, say=str)
        assert (start.asked, server.seen.total()) == ({}, before)
    await transport.close()


async def test_the_doctor_says_what_a_server_is_and_what_it_cannot_do() -> None:
    async with serving(GOTOSOCIAL) as server:
        stream = '[[streams]]\nservice = "small"\nchannel = "hashtag"\ntag = ["birds"]\n'
        plan = planned(server.base, 'flow = "cascades"\nseeds = ["101"]', stream)
        first, seeds, *others = await checked(
            plan, TokenVault("mastodon", [Token(value="secret", kind="user")], base=server.base)
        )
        assert (first.verdict, first.found) == (OK, "gotosocial 0.20.0+git-1234567")
        assert (seeds.verdict, re.findall(r"\d+", seeds.found)) == (OK, ["1"])
        assert {each.verdict for each in others if each.name == "server small"} == {WARNING}
        assert any("quotes" in each.found for each in others)
        assert any("hashtag" in each.found for each in others)


async def test_a_server_that_answers_nobody_but_its_users_is_a_problem_for_who_has_no_token() -> None:
    async with serving(GOTOSOCIAL) as server:
        _, seeds, *_ = await checked(planned(server.base, 'flow = "hydrate"\nseeds = ["101"]'), TokenVault("mastodon", []))
        assert seeds.verdict == PROBLEM
        assert all(value in seeds.found for value in ("'101'", "small", "posts"))
        assert f"bowerbird credentials add mine --provider mastodon --server {server.base}" in seeds.advice


async def checked(plan: CrawlPlan, vault: TokenVault) -> list[Check]:
    clock = RealClock()
    transport = HttpTransport(clock, "bowerbird-test")
    try:
        return await server_checks(plan, Outside(clock=clock, transport=transport, vault=vault))
    finally:
        await transport.close()


async def test_a_crawl_of_which_everything_was_given_up_has_failed() -> None:
    refusing = msgspec.structs.replace(MASTODON_42, missing=(400, "application/json", '{"error":"not for you"}'))
    async with serving(refusing) as server, crawled(server, 'flow = "hydrate"', ["901", "902"]) as done:
        assert done.ending.state == "failed"
        assert done.ending.reason.code == "nothing_answered"
        assert all(value in done.ending.reason.problem for value in ("posts", "400 not for you"))
