"""Modules that find accounts: whom members name, who stands on their lists, who can be read, and how those around are judged."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from module_scene import START, Scene, played

from bowerbird.modules.finding.collection import Collection
from bowerbird.modules.finding.mentions import Mentions
from bowerbird.modules.finding.neighbours import Neighbours
from bowerbird.modules.finding.validity import Validity
from bowerbird.modules.judging.vote import Vote
from bowerbird.modules.tending.accounts import Accounts
from bowerbird.store.context import Origin, SaveContext
from bowerbird.store.people.joining import merge_users

AT = int(START.timestamp() * 1e6)
DAY = 86_400_000_000


async def mention(scene: Scene, post: int, *users: int) -> None:
    await scene.write(*(f"insert into post_mentions (post_no, user_no) values ({post}, {user})" for user in users))


async def candidates(scene: Scene, *columns: str) -> dict[int, tuple[Any, ...]]:
    rows = await scene.rows(f"select user_no, {', '.join(columns)} from candidates where source <> 'member' order by user_no")
    return {row["user_no"]: tuple(row[column] for column in columns) for row in rows}


async def follow(scene: Scene, *pairs: tuple[int, int]) -> None:
    await scene.write(
        *(
            "insert into relations (kind, source, target, found_at, found_by, seen_at) "
            f"values ('follow', {source}, {target}, {AT}, 1, {AT})"
            for source, target in pairs
        )
    )


async def judge(scene: Scene, **judged: list[int]) -> None:
    await scene.people(**judged)


def test_whom_members_mention_answer_and_pass_on_become_candidates_each_post_counted_once(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1, 2], no=[3])
        await scene.post(20, author=11)
        await scene.post(21, author=12)
        await scene.post(1, author=1, text="hello")
        await mention(scene, 1, 10, 11, 1)
        await scene.post(2, author=2, kind="reply", reply_to="x:20")
        await scene.post(3, author=2, kind="repost", repost_of="x:21")
        await scene.post(4, author=3, text="from outside")
        await mention(scene, 4, 30)
        counts = await scene.run(Mentions())
        assert {key: counts[key] for key in ("members", "mentions", "replies", "reposts", "candidates")} == {
            "members": 2, "mentions": 2, "replies": 1, "reposts": 1, "candidates": 3,
        }  # fmt: skip
        expected = {10: (1, 0, 0), 11: (1, 1, 0), 12: (0, 0, 1)}
        assert await candidates(scene, "mentions", "replies", "reposts") == expected
        again = await scene.run(Mentions())
        assert (again["mentions"], again["posts"]) == (0, 0)
        assert await candidates(scene, "mentions", "replies", "reposts") == expected

    played(database_url, play)


def test_what_a_new_member_wrote_before_counts_once_it_is_one(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1])
        await scene.post(1, author=5)
        await mention(scene, 1, 10)
        await scene.run(Mentions())
        assert await candidates(scene, "mentions") == {}
        await judge(scene, yes=[5])
        await scene.post(2, author=5)
        await mention(scene, 2, 10)
        await scene.run(Mentions())
        assert await candidates(scene, "mentions") == {10: (2,)}

    played(database_url, play)


def test_a_run_stops_at_its_bound_and_the_next_goes_on(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1])
        await scene.run(Mentions())
        for number in range(1, 11):
            await scene.post(number, author=1)
            await mention(scene, number, 10)
        seen = []
        for _ in range(3):
            await scene.run(Mentions(), posts=4)
            seen.append((await candidates(scene, "mentions"))[10][0])
        assert seen == [4, 8, 10]

    played(database_url, play)


def test_the_share_of_the_mentioned_who_belong_is_told(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1, 10, 11, 12], no=[13], undecided=[14])
        await scene.post(1, author=1)
        await mention(scene, 1, 10, 11, 12, 13, 14, 15)
        counts: Mapping[str, Any] = await scene.run(Mentions())
        # Also those who are members already.
        assert (counts["yes"], counts["no"], counts["undecided"], counts["share_that_belongs"]) == (3, 1, 1, 0.75)

    played(database_url, play)


def test_without_a_judge_the_seeds_are_the_members(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people()
        await scene.write(
            "insert into lanes (lane, crawl, service, facet) values (1, 1, 1, 'timeline')",
            "insert into tasks (lane, target, ready, priority, state, depth, added_at) values (1, '7', 0, 0, 'asleep', 0, 1)",
            "insert into tasks (lane, target, ready, priority, state, depth, added_at) values (1, '8', 0, 0, 'asleep', 1, 1)",
        )
        await scene.post(1, author=7)
        await scene.post(2, author=8)
        await mention(scene, 1, 10)
        await mention(scene, 2, 11)
        counts = await scene.run(Mentions())
        assert (counts["members"], list(await candidates(scene, "mentions"))) == (1, [10])

    played(database_url, play)


def test_only_accounts_that_can_be_read_become_candidates(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1])
        await scene.write(
            "update users set seen_at = null where user_no in (12, 13)",
            "update users set is_protected = 1 where user_no = 11",
            "update users set opts_out = 1 where user_no = 14",
            f"insert into unavailable (user_no, reason, since) values (15, 'suspended', {AT})",
        )
        await scene.post(1, author=1)
        await mention(scene, 1, 10, 11, 12, 13, 14, 15)
        await scene.run(Mentions())
        assert await scene.run(Validity()) == {"valid": 1, "invalid": 3, "asked": 2}
        assert scene.asked.asked == [("profiles", [12, 13], False)]
        states = await candidates(scene, "state", "reason")
        assert states[10] == ("valid", None)
        assert {number: states[number][1] for number in (11, 14, 15)} == {11: "protected", 14: "opted_out", 15: "suspended"}
        # The answers come: one is there, one is not.
        later = AT + DAY
        await scene.write(
            f"update users set seen_at = {later} where user_no = 12",
            f"insert into unavailable (user_no, reason, since) values (13, 'not_found', {later})",
        )
        assert await scene.run(Validity()) == {"valid": 1, "invalid": 1, "asked": 0}
        assert (await candidates(scene, "state"))[12] == ("valid",)

    played(database_url, play)


def test_who_was_joined_with_another_row_while_it_was_looked_up_is_decided(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1])
        await scene.write("update users set seen_at = null where user_no in (10, 11)")
        await scene.post(1, author=1)
        await mention(scene, 1, 10, 11)
        await scene.run(Mentions())
        assert (await scene.run(Validity()))["asked"] == 2
        async with scene.database.transaction() as tx:
            home = SaveContext(
                tx=tx, database=scene.database, origin=Origin(number=1, name="home", network="mastodon"), call=1, at=AT
            )
            await merge_users(home, 10, 20)
        # A store in which an earlier version has joined rows may have lost the time.
        await scene.write("update candidates set asked_at = null where user_no = 11")
        await scene.write(f"update users set seen_at = {AT + DAY} where user_no in (11, 20)")
        assert await scene.run(Validity()) == {"valid": 2, "invalid": 0, "asked": 0}
        assert await candidates(scene, "state") == {11: ("valid",), 20: ("valid",)}

    played(database_url, play)


def test_no_more_look_ups_wait_than_may(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1])
        await scene.write("update users set seen_at = null where user_no >= 10")
        await scene.post(1, author=1)
        await mention(scene, 1, *range(10, 30))
        await scene.run(Mentions())
        assert (await scene.run(Validity(), waiting=5))["asked"] == 5
        assert (await scene.run(Validity(), waiting=5))["asked"] == 0

    played(database_url, play)


def test_lists_of_members_are_asked_for_and_read_without_celebrities(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1, 2, 3])
        await scene.write("update users set followers = 90000 where user_no in (3, 12)")
        assert (await scene.run(Neighbours()))["lists_asked"] == 2
        assert scene.asked.users("followers") == [1, 2]
        await follow(scene, (10, 1), (11, 1), (12, 1), (10, 2))
        await scene.write(
            *(
                "insert into listings (user_no, kind, side, sweep, began_at, ended_at) "
                f"values ({user}, 'follow', 'followers', 1, {AT - 10}, {AT - 5})"
                for user in (1, 2)
            )
        )
        counts = await scene.run(Neighbours())
        assert (counts["lists_asked"], counts["lists_read"]) == (0, 2)
        assert await candidates(scene, "source", "listed") == {10: ("neighbours", 2), 11: ("neighbours", 1)}
        assert (await scene.run(Neighbours()))["lists_read"] == 0

    played(database_url, play)


def test_timelines_of_undecided_candidates_are_asked_for_once_in_a_while(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1, 10], no=[11], undecided=[12])
        await scene.post(1, author=1)
        await mention(scene, 1, 10, 11, 12, 13, 14)
        for number in range(50, 60):
            await scene.post(number, author=14)
        await scene.run(Mentions())
        await scene.run(Validity())
        assert await scene.run(Collection(), enough=10) == {"undecided": 2, "asked": 2}
        assert scene.asked.users("timeline") == [12, 13]
        assert (await scene.run(Collection(), enough=10))["asked"] == 0
        await scene.clock.sleep_until(START + timedelta(days=8))
        assert (await scene.run(Collection(), enough=10))["asked"] == 2

    played(database_url, play)


def test_the_judged_around_a_candidate_are_counted(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1, 2, 3], no=[4, 5], undecided=[6])
        await follow(scene, (1, 10), (2, 10), (4, 10), (6, 10), (10, 3), (10, 5))
        await scene.post(1, author=1)
        await scene.post(2, author=1)
        await mention(scene, 1, 10)
        await mention(scene, 2, 10)
        await scene.run(Mentions())
        await scene.run(Validity())
        # Members are candidates that were decided: they are counted too.
        assert (await scene.run(Vote()))["candidates"] == 4
        columns = ("followed_by_yes", "followed_by_no", "follows_yes", "follows_no", "mentioned_by_yes", "mentioned_by_no")
        assert (await candidates(scene, *columns))[10] == (2, 1, 1, 1, 1, 0)
        assert (await scene.run(Vote()))["candidates"] == 0

    played(database_url, play)


def test_members_that_were_silent_longest_are_looked_up(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1, 2, 3, 4])
        await scene.write(
            f"update users set seen_at = {AT - 9 * DAY} where user_no = 2",
            f"update users set seen_at = {AT - 8 * DAY} where user_no in (1, 3)",
            f"insert into unavailable (user_no, reason, since) values (3, 'suspended', {AT - DAY})",
        )
        assert await scene.run(Accounts(), accounts=1) == {"silent": 1, "asked": 1, "suspended": 1}
        assert scene.asked.asked == [("profiles", [2], True)]

    played(database_url, play)
