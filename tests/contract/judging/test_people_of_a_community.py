"""People of a community page by page, on both databases, and a person's word that is taken back again."""

from __future__ import annotations

from module_scene import HOUR, START, Scene, played

from bowerbird.community.decisions import save_decision, undo_decision
from bowerbird.errors import UserError
from bowerbird.reports.browsing.pages import token
from bowerbird.reports.community.people import Person, Which, read_people, read_person, read_written
from failures import raises_code


async def pages(scene: Scene, which: Which, size: int = 2) -> list[list[int]]:
    found, after = [], None
    while True:
        async with scene.database.reading() as tx:
            page = await read_people(tx, 1, which, after, size)
        found.append([each.number for each in page.lines])
        after = page.after
        if after is None:
            return found


async def person(scene: Scene, number: int) -> Person | None:
    async with scene.database.reading() as tx:
        return await read_person(tx, number)


def test_lists_come_page_by_page_without_those_who_are_gone(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1, 2, 3, 4, 5], no=[6], undecided=[7, 8])
        await scene.write(
            "update users set opts_out = 1 where user_no = 2",
            "update judgements set at = at + 5 where id = 'x:1'",
            "insert into unavailable (user_no, reason, since, call) values (8, 'suspended', 1, 0)",
        )
        assert await pages(scene, Which.MEMBERS) == [[1, 5], [4, 3]]
        assert await pages(scene, Which.OUTSIDE) == [[6]]
        assert await pages(scene, Which.UNDECIDED) == [[7]]
        assert await pages(scene, Which.PERSONS) == [[]]
        assert await person(scene, 2) is None
        written = ("nonsense", token([]), token([1, "x:1", 2]), token(["x:1", 1]), token([1 << 63, "x:1"]))
        with raises_code(UserError, "invalid") as caught:
            async with scene.database.reading() as tx:
                await read_people(tx, 1, Which.MEMBERS, token([1.5, "x:1"]))
        assert token([1.5, "x:1"]) in caught.value.problem
        for each in (*written, token([float("nan"), "x:1"]), token([1, "x" * 3_000]), token([1, "x:\0"])):
            for which in Which:
                with raises_code(UserError, "invalid") as caught:
                    async with scene.database.reading() as tx:
                        await read_people(tx, 1, which, each)
                assert each[:39] in caught.value.problem

    played(database_url, play)


def test_candidates_come_by_how_often_members_mention_them(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1], no=[14, 15], undecided=[11])
        rows = [(1, "member", 9), (10, "mentions", 3), (11, "mentions", 7), (12, "mentions", 0), (13, "mentions", 3)]
        rows += [(14, "mentions", 2), (15, "mentions", 5)]
        await scene.write(
            *(
                "insert into candidates (crawl, user_no, source, state, found_at, mentions) "
                f"values (1, {number}, '{source}', 'valid', 1, {mentions})"
                for number, source, mentions in rows
            )
        )
        assert await pages(scene, Which.MENTIONED) == [[11, 13], [10]]
        assert await pages(scene, Which.MENTIONED_OUTSIDE) == [[15, 14]]

    played(database_url, play)


def test_near_misses_are_undecided_after_posts_or_neighbours_likeliest_first(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(undecided=list(range(1, 9)))
        for number in range(1, 9):
            reason = "profile" if number in (2, 4) else "posts" if number % 2 else "relations"
            await scene.write(
                f"update judgements set reason = '{reason}', confidence = 0.{number} where id = 'x:{number}'",
            )
        await scene.post(1, author=7, text="bom dia", language="pt")
        assert await pages(scene, Which.NEAR) == [[8, 7], [6, 5], [3, 1]]
        async with scene.database.reading() as tx:
            assert [(each.text, each.language) for each in await read_written(tx, 7, 5)] == [("bom dia", "pt")]

    played(database_url, play)


def test_those_whom_their_posts_decided_are_listed_apart(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1, 2, 3], no=[4])
        await scene.write(
            "update judgements set reason = 'profile'",
            "update judgements set reason = 'posts' where id in ('x:2', 'x:3', 'x:4')",
            "update judgements set decided_by = 'ada' where id = 'x:3'",
        )
        assert await pages(scene, Which.BY_POSTS) == [[2]]

    played(database_url, play)


def test_what_a_person_said_is_taken_back_and_what_stood_before_stands_again(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(undecided=[1])
        await scene.write("update judgements set strength = 40, call = 7 where id = 'x:1'")
        before = await person(scene, 1)
        async with scene.database.transaction() as tx:
            await save_decision(tx, "x:1", "yes", "ada", "", START + HOUR)
        said = await person(scene, 1)
        assert said is not None
        assert before is not None
        assert (said.value, said.decided_by, said.seen != before.seen) == ("yes", "ada", True)
        assert await pages(scene, Which.PERSONS) == [[1]]
        async with scene.database.transaction() as tx:
            assert not await undo_decision(tx, "x:1", "bob", START + 2 * HOUR)
            assert await undo_decision(tx, "x:1", "ada", START + 2 * HOUR)
            assert not await undo_decision(tx, "x:1", "ada", START + 2 * HOUR)
            row = await tx.fetch_one("select strength, call from judgements where id = 'x:1'")
        assert await person(scene, 1) == before
        assert row is not None
        assert (row["strength"], row["call"]) == (40, 7), "a weaker reason must not replace what stands again"

    played(database_url, play)


def test_nothing_is_decided_about_accounts_that_opted_out_or_left(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1, 2, 3])
        await scene.write(
            "update users set opts_out = 1 where user_no = 1",
            "delete from judgements where id = 'x:1'",
            "insert into unavailable (user_no, reason, since, call) values (2, 'deactivated', 1, 0)",
        )
        for account in ("x:1", "x:2", "x:99"):
            with raises_code(UserError, "refused") as caught:
                async with scene.database.transaction() as tx:
                    await save_decision(tx, account, "yes", "ada", "", START)
            assert account in caught.value.problem
        rows = await scene.rows("select id from judgements where decided_by is not null or id = 'x:1'")
        assert rows == []

    played(database_url, play)
