"""What judges say of accounts and posts, on both databases: kept with its evidence, withdrawn, asked for by conditions, and gone
with its owner."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from store_pages import PROFILES, TIMELINE, Crawled, X

from bowerbird.crawl.seeding.seeder import FlowSeeder
from bowerbird.errors import FlowError
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.flows.files.sections.seed_list import SeedQuery
from bowerbird.flows.flow import Edge, FacetUse, Filters, Flow
from bowerbird.model import Gone, Judged, Judgement, Outcome, Page, Post, Ruling, Seen, Subject, User
from bowerbird.ports import Database
from bowerbird.reports.seeds.chosen import chosen
from bowerbird.store import Store
from bowerbird.store.judgements.judging import JudgingStore
from bowerbird.vocabulary import vocabulary
from failures import raises_code

LANES = {"timeline": 1, "profiles": 2}


class Speakers:
    """Judges languages by one telling word of a profile (weak) or a post (strong)."""

    name = "language"

    def __init__(self, version: str = "1") -> None:
        self.version = version

    def judge(self, seen: Seen) -> Ruling:
        said = [
            Judgement(subject=Subject.USER, id=known, value="pt", reason="profile", confidence=0.6)
            for known, user in seen.accounts()
            if "olá" in (user.description or "")
        ]
        for known, author, post in seen.posts():
            if "obrigado" in (post.text or ""):
                for subject, item in ((Subject.POST, known), (Subject.USER, author)):
                    evidence = {"word": "obrigado", "by": self.version}
                    said.append(
                        Judgement(
                            subject=subject, id=item, value="pt", reason="post", confidence=0.9, strength=1, evidence=evidence
                        )
                    )
        reviewed = {(Subject.USER, known): frozenset({"profile"}) for known, _ in seen.accounts()}
        return Ruling(judgements=tuple(said), reviewed=reviewed)


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    made = await Crawled(database).register()
    made.store = JudgingStore(Store(database), database, [Speakers()])  # type: ignore[assignment]
    return made


def ada(description: str) -> User:
    return User(id="x:1", key="1", handle="ada", description=description)


def bob(description: str = "hello") -> User:
    return User(id="x:2", key="2", handle="bob", description=description)


def post(text: str) -> Post:
    return Post(id="x:10", key="10", author="x:1", text=text)


async def said(crawled: Crawled) -> dict[str, str]:
    return {row["id"]: row["reason"] for row in await crawled.rows("select id, reason from judgements order by id")}


async def test_a_judgement_keeps_who_said_it_why_how_certainly_and_by_which_call(crawled: Crawled) -> None:
    await crawled.save(Page(users=(ada("hello"),), posts=(post("obrigado!"),)), TIMELINE, "1")
    (row,) = [dict(row) for row in await crawled.rows("select * from judgements where subject = 'post'")]
    assert json.loads(row.pop("evidence")) == {"word": "obrigado", "by": "1"}
    assert row.pop("at") > 0
    assert row == {
        "judge": "language",
        "subject": "post",
        "id": "x:10",
        "value": "pt",
        "reason": "post",
        "strength": 1,
        "confidence": 0.9,
        "version": "1",
        "decided_by": None,
        "call": 1,
    }


async def test_what_is_looked_at_again_and_not_repeated_is_withdrawn(crawled: Crawled) -> None:
    await crawled.save(Page(users=(ada("olá"),)), PROFILES, "1")
    assert await said(crawled) == {"x:1": "profile"}
    await crawled.save(Page(users=(ada("hello"),)), PROFILES, "1")
    assert await said(crawled) == {}


async def test_a_stronger_reason_replaces_a_weaker_one_and_outlives_it(crawled: Crawled) -> None:
    await crawled.save(Page(users=(ada("olá"),), posts=(post("obrigado"),)), TIMELINE, "1")
    assert await said(crawled) == {"x:1": "post", "x:10": "post"}
    await crawled.save(Page(users=(ada("hello"),)), PROFILES, "1")
    assert await said(crawled) == {"x:1": "post", "x:10": "post"}


async def test_a_newer_version_of_a_judge_has_the_last_word(crawled: Crawled) -> None:
    page = Page(users=(ada("hello"),), posts=(post("obrigado"),))
    await crawled.save(page, TIMELINE, "1")
    crawled.store = JudgingStore(Store(crawled.database), crawled.database, [Speakers("2")])  # type: ignore[assignment]
    await crawled.save(page, TIMELINE, "1")
    rows = await crawled.rows("select version, evidence from judgements")
    assert {(row["version"], json.loads(row["evidence"])["by"]) for row in rows} == {("2", "2")}


async def test_judgements_leave_with_the_content_they_are_about(crawled: Crawled) -> None:
    await crawled.save(Page(users=(ada("olá"),), posts=(post("obrigado"),)), TIMELINE, "1")
    await crawled.save(Page(gone=(Gone(Subject.USER, "1", Outcome.NOT_FOUND),), outcome=Outcome.NOT_FOUND), PROFILES, "1")
    assert await said(crawled) == {}


async def test_nothing_is_said_of_who_asked_not_to_be_collected(crawled: Crawled) -> None:
    await crawled.save(Page(users=(ada("olá"),), posts=(post("obrigado"),)), TIMELINE, "1")
    leaves = User(id="x:1", key="1", handle="ada", description="olá", opts_out=True)
    await crawled.save(Page(users=(leaves,), posts=(post("obrigado"),)), TIMELINE, "1")
    assert await said(crawled) == {}


def flow(edge: str = "", filters: str = "") -> Flow:
    uses = (FacetUse("timeline"), FacetUse("profiles"))
    edges = (Edge("profiles", "timeline", "users", when=edge),)
    return Flow("test", uses, edges, ("profiles",), filters=Filters(when=filters))


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("judged('language', 'pt')", {"1"}),
        ("judged('language')", {"1"}),
        ("not judged('language', 'pt')", {"2"}),
        ("judged('language', 'fr')", set()),
        ("judged('membership') or handle == 'bob'", {"2"}),
    ],
)
@pytest.mark.parametrize("place", ["edge", "filters"])
async def test_edges_and_filters_ask_for_any_judgement(crawled: Crawled, asked: str, found: set[str], place: str) -> None:
    page = Page(users=(ada("olá"), bob()))
    saved = await crawled.save(page, PROFILES)
    arrivals = FlowSeeder(flow(**{place: asked}), LANES).seed("profiles", (), page, saved)
    assert {each.target for each in arrivals} == found


async def test_conditions_see_what_was_judged_before(crawled: Crawled) -> None:
    await crawled.save(Page(users=(ada("hello"),), posts=(post("obrigado"),)), TIMELINE, "1")
    saved = await crawled.save(Page(users=(ada("hello"),)), PROFILES, "1")
    assert saved.judged[Subject.USER, "x:1"] == {Judged("language", "pt")}


async def test_seeds_can_be_chosen_by_judgements(crawled: Crawled) -> None:
    await crawled.save(Page(users=(ada("olá"), bob())), PROFILES)
    query = SeedQuery("users", "judged('language', 'pt')")
    keys = chosen(crawled.database, query.what, query.holds, X, asks_judges=query.asks_judges)
    assert [key async for key in keys] == ["1"]


def test_a_judge_that_nobody_knows_is_refused_before_anything_is_asked() -> None:
    text = """
flow = "timelines"
seeds = ["@ada"]
[service]
provider = "mastodon"
base = "https://a.example"
[filters]
when = "judged('langage', 'pt')"
"""
    with raises_code(FlowError, "unknown_judge") as refused:
        parse_crawl(text, Path("x.toml"), vocabulary())
    assert refused.value.line == 8
    assert all(name in refused.value.problem for name in ("langage", "'language'"))
    assert all(judge in refused.value.advice for judge in ("community", "language", "place", "variety"))
