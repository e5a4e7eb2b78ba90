"""Who belongs to a community, on both databases: judged with every page, looked at again, overruled, and never forgotten."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from datetime import timedelta

import pytest
from module_scene import Asked
from msgspec import structs
from store_pages import FOLLOWING, PROFILES, START, TIMELINE, Crawled

from bowerbird.clock import RealClock
from bowerbird.community.classifier import BY_MACHINE, CommunityClassifier
from bowerbird.community.countries import example
from bowerbird.community.decisions import remove_decision, save_decision
from bowerbird.community.learning import StoredNeighbourhood, learn, read_learned
from bowerbird.community.membership import Learned
from bowerbird.community.relations import relation_score
from bowerbird.community.review import EVERY, ReviewPart, decide_again, most_informative, next_accounts, read_accounts
from bowerbird.community.words import NO_WORD
from bowerbird.crawl.process.keeping import Keeping
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.process.workers.claims import WorkerClaims
from bowerbird.model import Gone, Outcome, Page, Post, Relation, RelationKind, Ruling, Subject, User, to_micros
from bowerbird.model.subjects.community import Community, Neighbours
from bowerbird.ports import Database
from bowerbird.reports.community.reading import read_community, read_why
from bowerbird.settings import load_settings
from bowerbird.store import Store
from bowerbird.store.judgements.judging import JudgingStore
from bowerbird.store.judgements.neighbours import COUNTED, neighbours_of, users_named
from bowerbird.store.judgements.rows import RulingWriter, read_judgements

PORTUGAL = example("PT")
CLASSIFIER = CommunityClassifier(PORTUGAL, load_settings().cache_folder)
WORDS = ("Apanhei o autocarro para casa, estou a ver o jogo", "Já te disse que o telemóvel é fixe") * 5


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    made = await Crawled(database).register()
    made.store = JudgingStore(Store(database), database, [CLASSIFIER])  # type: ignore[assignment]
    return made


def user(number: int, location: str, **more: str) -> User:
    return User(id=f"x:{number}", key=str(number), handle=f"u{number}", location=location, **more)


def posts(author: int) -> tuple[Post, ...]:
    return tuple(
        Post(id=f"x:{author}{n:03}", key=f"{author}{n:03}", author=f"x:{author}", text=text) for n, text in enumerate(WORDS)
    )


async def values(crawled: Crawled) -> dict[str, str]:
    rows = await crawled.rows("select id, value from judgements where judge = 'community' order by id")
    return {row["id"]: row["value"] for row in rows}


async def decided_again(
    crawled: Crawled,
    numbers: Collection[int] | None = None,
    classifier: CommunityClassifier = CLASSIFIER,
    seeds: Collection[int] = (),
    *,
    with_posts: bool = False,
) -> dict[str, tuple[str | None, str]]:
    """Decide again about some accounts, or all; return what changed, by id."""
    async with crawled.database.transaction() as tx:
        accounts = await read_accounts(tx, crawled.database, numbers or await next_accounts(tx, 0, 300), with_posts=with_posts)
        decisions = await decide_again(tx, crawled.database, classifier, accounts, crawled.now, seeds)
    return {new.id: (account.value, new.value) for account, new in decisions if account.value != new.value}


async def former(crawled: Crawled) -> list[tuple[str, str, str | None]]:
    rows = await crawled.rows("select id, value, decided_by from judgement_history order by entry")
    return [(row["id"], row["value"], row["decided_by"]) for row in rows]


async def test_an_account_has_one_value_and_what_it_was_stays(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user(1, "in your heart"),)), PROFILES, "1")
    assert await values(crawled) == {"x:1": "undecided"}
    await crawled.save(Page(users=(user(1, "in your heart"),), posts=posts(1)), TIMELINE, "1")
    assert await values(crawled) == {"x:1": "yes"}
    assert await former(crawled) == [("x:1", "undecided", None)]


async def test_a_look_at_the_profile_does_not_forget_the_posts(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user(1, "somewhere"),), posts=posts(1)), TIMELINE, "1")
    await crawled.save(Page(users=(user(1, "nowhere"),)), PROFILES, "1")
    assert await values(crawled) == {"x:1": "yes"}
    assert await former(crawled) == []


async def test_a_persons_word_stands_whatever_the_judge_sees(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user(1, "Lisboa, Portugal"),)), PROFILES, "1")
    async with crawled.database.transaction() as tx:
        assert await save_decision(tx, "x:1", "no", "maria", "writes from Recife", crawled.now) == "yes"
    await crawled.save(Page(users=(user(1, "Porto, Portugal"),), posts=posts(1)), TIMELINE, "1")
    assert await values(crawled) == {"x:1": "no"}
    assert await decided_again(crawled, with_posts=True) == {}
    async with crawled.database.transaction() as tx:
        now, before, _ = await read_why(tx, crawled.database, "x:1", 1)
    assert (now[0].decided_by, now[0].evidence["note"]) == ("maria", "writes from Recife")
    assert [each.value for each in before] == ["yes"]
    async with crawled.database.transaction() as tx:
        assert await remove_decision(tx, "x:1", crawled.now)
    await crawled.save(Page(users=(user(1, "Porto, Portugal"),)), PROFILES, "1")
    assert await values(crawled) == {"x:1": "yes"}
    assert ("x:1", "no", "maria") in await former(crawled)


async def test_everybody_is_judged_anew_by_another_description(crawled: Crawled) -> None:
    await crawled.save(
        Page(users=(user(1, "Lisboa, Portugal"), user(2, "Roma, Italia", language="it", description="brasileira"))),
        PROFILES,
        "1",
        "2",
    )
    italy = CommunityClassifier(example("IT"), load_settings().cache_folder)
    changed = await decided_again(crawled, classifier=italy, with_posts=True)
    assert changed["x:2"] == ("no", "yes")
    assert (await values(crawled))["x:2"] == "yes"
    assert ("x:2", "no", None) in await former(crawled)


async def related(crawled: Crawled) -> None:
    """Ten who belong, ten who do not; account 50 is followed by five and follows five of the first, 60 of the second."""
    here = [user(n, "Lisboa, Portugal") for n in range(1, 11)]
    away = [user(n, "São Paulo", description="paulistano") for n in range(11, 21)]
    strangers = [user(50, "the moon"), user(60, "the moon")]
    await crawled.save(Page(users=(*here, *away, *strangers)), PROFILES)
    follows = [(n, 50) for n in range(1, 6)] + [(50, n) for n in range(4, 9)] + [(n, 60) for n in range(11, 16)]
    follows += (
        [(60, n) for n in range(11, 21)]
        + [(1, n) for n in range(2, 9)]
        + [(n, 3) for n in range(4, 9)]
        + [(9, n) for n in range(11, 17)]
        + [(60, 1)]
    )
    for source in sorted({source for source, _ in follows}):
        own = tuple(Relation(RelationKind.FOLLOW, str(one), str(other)) for one, other in follows if one == source)
        await crawled.save(Page(relations=own), FOLLOWING, str(source))
    await crawled.save(Page(posts=(Post(id="x:900", key="900", author="x:2", text="@u50", mentions=("50",)),)), TIMELINE, "2")


async def test_neighbours_are_counted_as_they_are_judged(crawled: Crawled) -> None:
    await related(crawled)
    async with crawled.database.reading() as tx:
        named = await users_named(tx, crawled.database, 1, "x", ["50", "60", "nobody"])
        around = await neighbours_of(tx, crawled.database, list(named.values()))
    assert around[named["50"]] == Neighbours(followed_in=5, mentioned_in=1, follows_in=5)
    assert around[named["60"]] == Neighbours(followed_out=5, follows_in=1, follows_out=10)
    assert "nobody" not in named


async def test_neighbours_are_counted_from_those_asked_about(crawled: Crawled) -> None:
    if crawled.database.dialect != "sqlite":
        return
    for statement in COUNTED.values():
        text = statement.format(these=crawled.database.any("bigint"))
        plan = [row["detail"] for row in await crawled.rows(f"explain query plan {text}", crawled.database.members([1]))]
        # Never from the judgements, of which there are more every day.
        assert plan[0].split()[:2] in (["SEARCH", "r"], ["SEARCH", "m"])
        assert not [line for line in plan if line.startswith("SCAN") and "json_each" not in line]


async def test_the_undecided_are_judged_by_their_neighbours(crawled: Crawled) -> None:
    await related(crawled)
    changed = await decided_again(crawled)
    assert changed["x:50"] == ("undecided", "yes")
    assert changed.get("x:60", ("", "undecided"))[1] != "yes"
    (row,) = await crawled.rows("select reason, evidence from judgements where id = 'x:50' and judge = 'community'")
    assert row["reason"] == "relations"
    assert "members" in json.loads(row["evidence"])["relations_found"]


async def test_candidates_near_members_score_higher_and_people_teach_it(crawled: Crawled) -> None:
    await related(crawled)
    await crawled.save(Page(users=tuple(user(n, "the moon") for n in range(100, 130))), PROFILES)
    neighbourhood = StoredNeighbourhood(crawled.database, 1, "x")
    async with crawled.database.transaction() as tx:
        scores = await neighbourhood.scores(tx, ["50", "60"])
        assert scores["50"] > 0.8 > 0.4 > scores["60"]
        before = await learn(tx, crawled.database, PORTUGAL, crawled.now)
        counts = await read_community(tx, crawled.database)
        assert counts.learned is not None
        assert counts.learned["examples"] == 20
        await save_decision(tx, "x:50", "no", "maria", "", crawled.now)
        after = await learn(tx, crawled.database, PORTUGAL, crawled.now)
        assert await read_learned(tx) == after
        counts = await read_community(tx, crawled.database)
        assert counts.learned is not None
        assert (counts.learned["examples"], counts.learned["persons"]) == (21, 1)
        around = Neighbours(followed_in=5)
        assert relation_score(around, after.relations) < relation_score(around, before.relations)


async def test_few_judged_accounts_teach_nothing(crawled: Crawled) -> None:
    await related(crawled)
    async with crawled.database.transaction() as tx:
        assert await learn(tx, crawled.database, PORTUGAL, crawled.now) == Learned()


async def test_how_a_community_stands_is_told(crawled: Crawled) -> None:
    await related(crawled)
    async with crawled.database.reading() as tx:
        counts = await read_community(tx, crawled.database)
    assert counts.values == {"yes": 10, "no": 10, "undecided": 2}
    assert counts.reasons["yes"] == {"profile": 10}
    assert counts.mentioned == {"undecided": 1}
    assert counts.missed is None


async def test_the_rule_of_the_thesis_may_be_chosen(crawled: Crawled) -> None:
    echo = CommunityClassifier(structs.replace(PORTUGAL, rule="echo"), load_settings().cache_folder)
    crawled.store = JudgingStore(Store(crawled.database), crawled.database, [echo])  # type: ignore[assignment]
    await crawled.save(Page(users=(user(1, "Braga"), user(2, "Berlin"), user(3, "the moon"))), PROFILES)
    assert await values(crawled) == {"x:1": "yes", "x:2": "no", "x:3": "undecided"}
    (row,) = await crawled.rows("select distinct version from judgements where judge = 'community'")
    assert row["version"].startswith("echo")


async def test_words_of_a_field_are_learned_from_seeds_and_find_members(crawled: Crawled) -> None:
    field = CommunityClassifier(Community(name="astronomers", learns_words=True), load_settings().cache_folder)
    crawled.store = JudgingStore(Store(crawled.database), crawled.database, [field])  # type: ignore[assignment]
    texts = ["Astronomer, galaxies", "Coffee and books", "Football, always", "Mother of two", "Software and coffee"]
    people = tuple(user(n, "", description=texts[0 if n <= 24 else 1 + n % 4]) for n in range(1, 81))
    await crawled.save(Page(users=people), PROFILES)
    assert set((await values(crawled)).values()) == {"undecided"}
    seeds = range(1, 13)
    async with crawled.database.transaction() as tx:
        # As if many accounts were judged since.
        await tx.execute("delete from judgements where id in ('x:1', 'x:2', 'x:3')")
        learned = await learn(tx, crawled.database, field.community, crawled.now, seeds)
    assert learned.words["astronomer"] > 0 > learned.words[NO_WORD]
    await decided_again(crawled, None, field, seeds)
    found = await values(crawled)
    assert all(found[f"x:{n}"] == "yes" for n in range(1, 25))
    assert "yes" not in {found[f"x:{n}"] for n in range(25, 81)}


async def informative(crawled: Crawled, facet: str) -> list[int]:
    async with crawled.database.transaction() as tx:
        accounts = await read_accounts(tx, crawled.database, await next_accounts(tx, 0, 300))
        decisions = await decide_again(tx, crawled.database, CLASSIFIER, accounts, crawled.now)
    return most_informative(decisions, facet, PORTUGAL)


async def test_next_requests_are_for_accounts_near_a_decision(crawled: Crawled) -> None:
    near, far = user(1, "", description="🇵🇹🇫🇷", name="ana ferreira"), user(2, "", language="de", name="")
    protected = structs.replace(user(3, ""), is_protected=True)
    await crawled.save(Page(users=(far, near, protected)), PROFILES)
    stands = await values(crawled)
    for facet in ("timeline", "following"):
        found = await informative(crawled, facet)
        assert set(found) == {number for number in (1, 2) if stands[f"x:{number}"] == "undecided"}
        assert found[0] == 1


async def test_accounts_whose_posts_were_read_are_asked_about_their_list(crawled: Crawled) -> None:
    read = tuple(Post(id=f"x:1{n}", key=f"1{n}", author="x:1", text=f"{n}!") for n in range(10, 40))
    seen = (Post(id="x:2", key="2", author="x:2", text="!"),)
    users = (user(1, "in your heart"), user(2, "in your heart"))
    await crawled.save(Page(users=users, posts=(*read, *seen)), TIMELINE, "1")
    assert set((await values(crawled)).values()) == {"undecided"}
    assert set(await informative(crawled, "following")) == {1, 2}
    assert await informative(crawled, "timeline") == [2]


async def test_history_leaves_with_its_owner(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user(1, "in your heart"),)), PROFILES, "1")
    await crawled.save(Page(users=(user(1, "in your heart"),), posts=posts(1)), TIMELINE, "1")
    await crawled.save(Page(users=(structs.replace(user(1, ""), opts_out=True),)), PROFILES, "1")
    assert await values(crawled) == {}
    assert await former(crawled) == []


async def test_posts_are_read_again_by_another_description(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user(1, "in your heart"),), posts=posts(1)), TIMELINE, "1")
    assert await values(crawled) == {"x:1": "yes"}
    await decided_again(crawled, classifier=CommunityClassifier(example("IT"), load_settings().cache_folder), with_posts=True)
    (row,) = await crawled.rows("select value, evidence from judgements where judge = 'community'")
    evidence = json.loads(row["evidence"])
    assert (row["value"], evidence["posts"], "variety" in evidence) == ("no", 10, False)
    assert evidence["written"] < 0


async def test_neighbours_that_are_judged_no_longer_do_not_count(crawled: Crawled) -> None:
    await related(crawled)
    async with crawled.database.transaction() as tx:
        users = await users_named(tx, crawled.database, 1, "x", ["50"])
    assert await decided_again(crawled, users.values()) == {"x:50": ("undecided", "yes")}
    async with crawled.database.transaction() as tx:
        await tx.execute("delete from judgements where id <> 'x:50'")
    assert await decided_again(crawled, users.values()) == {"x:50": ("yes", "undecided")}


async def test_newest_hundred_posts_of_an_account_are_read(crawled: Crawled) -> None:
    written = tuple(
        Post(id=f"x:{n}", key=f"{n}", author="x:1", text=f"post {n}", created_at=None if n < 1000 else START + timedelta(hours=n))
        for n in range(950, 1150)
    )
    await crawled.save(Page(users=(user(1, ""), user(2, "")), posts=written), TIMELINE, "1")
    async with crawled.database.transaction() as tx:
        accounts = await read_accounts(tx, crawled.database, [1, 2], with_posts=True)
    read = {each.user.id: each.posts for each in accounts}
    assert read == {"x:1": [f"post {n}" for n in range(1149, 1049, -1)], "x:2": []}


async def test_deleted_accounts_get_no_label_in_a_review(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user(1, "Lisboa, Portugal"), user(2, "Braga"))), PROFILES)
    await crawled.save(Page(gone=(Gone(Subject.USER, "1", Outcome.NOT_FOUND, is_stated=True),)), PROFILES, "1")
    async with crawled.database.transaction() as tx:
        await tx.execute("delete from judgements")
    await decided_again(crawled, [1, 2], with_posts=True)
    assert await values(crawled) == {"x:2": "yes"}


async def test_account_that_opts_out_during_a_review_gets_no_label(crawled: Crawled) -> None:
    if crawled.database.dialect != "postgresql":
        return  # SQLite has one writer.
    await crawled.save(Page(users=(user(1, "Lisboa, Portugal"),)), PROFILES)
    page = Page(users=(structs.replace(user(1, ""), opts_out=True),))
    async with crawled.database.transaction() as tx:
        await tx.execute("delete from judgements")
        accounts = await read_accounts(tx, crawled.database, [1])
        opting_out = asyncio.create_task(crawled.save(page, PROFILES, "1"))
        await asyncio.wait([opting_out], timeout=0.5)
        await decide_again(tx, crawled.database, CLASSIFIER, accounts, crawled.now)
    await opting_out
    assert await values(crawled) == {}


async def test_decision_of_a_person_during_a_review_is_not_withdrawn(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user(1, "Lisboa, Portugal"),)), PROFILES, "1")
    item = (Subject.USER, "x:1")
    async with crawled.database.transaction() as tx:
        before = await read_judgements(tx, crawled.database, [item])
        await save_decision(tx, "x:1", "yes", "maria", "", crawled.now)
        await RulingWriter(CLASSIFIER, 0, crawled.now).write(tx, Ruling(reviewed={item: BY_MACHINE}), before)
    (row,) = await crawled.rows("select value, decided_by from judgements where judge = 'community'")
    assert (row["value"], row["decided_by"]) == ("yes", "maria")


async def test_label_beside_that_of_a_person_is_withdrawn(crawled: Crawled) -> None:
    await crawled.save(Page(users=(user(1, "Lisboa, Portugal"),)), PROFILES, "1")
    async with crawled.database.transaction() as tx:
        # As if a worker had saved its page and a person a decision at the same time.
        rows = await tx.fetch("select * from judgements")
        await save_decision(tx, "x:1", "no", "maria", "", crawled.now)
        names = list(rows[0].keys())
        marks = ", ".join("?" for _ in names)
        kept = [rows[0][name] for name in names]
        await tx.execute(f"insert into judgements ({', '.join(names)}) values ({marks})", *kept)
    await crawled.save(Page(users=(user(1, "Lisboa, Portugal"),)), PROFILES, "1")
    rows = await crawled.rows("select value, decided_by from judgements where judge = 'community'")
    assert [(row["value"], row["decided_by"]) for row in rows] == [("no", "maria")]


async def test_one_worker_reviews_in_half_an_hour(crawled: Crawled) -> None:
    await related(crawled)
    now = [crawled.now]
    clock = RealClock(system=lambda: now[0], steady=lambda: now[0].timestamp())
    async with crawled.database.transaction() as tx:
        row = "insert into workers (name, host, pid, started_at, seen_at) values (?, 'one.example', 1, ?, ?)"
        await tx.execute_many(row, [(name, to_micros(now[0]), to_micros(now[0])) for name in ("first", "second")])

    def part(worker: int) -> ReviewPart:
        keeping = Keeping(crawled.database, clock, WorkerClaims(lambda: worker), Tally(now[0]))
        classifier = CommunityClassifier(PORTUGAL, load_settings().cache_folder)
        return ReviewPart(1, classifier, Asked(), keeping)

    one, other = part(1), part(2)
    assert "x:50" in {new.id for _, new in await one.review()}
    assert await other.review() == []
    async with crawled.database.transaction() as tx:
        await tx.execute("update judgements set value = 'undecided' where id = 'x:50' and judge = 'community'")
    assert await other.review() == []
    now[0] += EVERY
    assert [new.id for _, new in await other.review()] == ["x:50"]


STRANGE = (
    {"description": "Jornalista em Lisboa. " * 230},
    {"description": "صحفي من \u202eLisboa\u202c لشبونة", "location": "\u200fلشبونة\u200f", "name": "\u202eصحفي"},
    {"description": "\0\x1b[31m\ud800 Lisboa", "location": "\ud83d", "name": "\0"},
    {"description": "a" + "\u0301" * 5_000, "location": "," * 5_000, "language": "-" * 5_000},
    {"description": "🇵🇹" * 2_000, "name": "9" * 5_000, "time_zone": "\0/../etc"},
)


async def test_strange_profiles_are_judged_and_reviewed_like_others(crawled: Crawled) -> None:
    people = tuple(user(number, **{"location": "Lisboa"} | fields) for number, fields in enumerate(STRANGE, 1))
    await crawled.save(Page(users=people), PROFILES)
    assert (await values(crawled)).keys() == {f"x:{number}" for number in range(1, len(STRANGE) + 1)}
    field = CommunityClassifier(Community(name="journalists", learns_words=True), load_settings().cache_folder)
    for classifier in (CLASSIFIER, field):
        await decided_again(crawled, None, classifier, {1}, with_posts=True)
    assert len(await values(crawled)) == len(STRANGE)
    assert not await crawled.rows("select * from errors")
