"""Random samples of judged accounts: drawn once, without what was put there by hand, labelled by several people."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from module_scene import START, Scene, played

from bowerbird import cli
from bowerbird.analysis.agreement import majority_label, measure_agreement, wilson_share
from bowerbird.cli.module_screens.labelling import Asking, ask, labels_in
from bowerbird.cli.screens.output import Output
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.errors import UserError
from bowerbird.reports.community.judged import JudgedAccount
from bowerbird.reports.labels import read_drawn_accounts, read_labelled, read_labels, read_latest
from bowerbird.store.judgements.labels import Group, Label, draw, keep_label
from failures import command_error, raises_code

YES = Group(1, "community", "yes")


async def drawn(scene: Scene, size: int, group: Group = YES, seed: int = 1) -> list[int]:
    async with scene.database.transaction() as tx:
        await draw(tx, group, size, Random(seed), START)
        return [each.number for each in await read_drawn_accounts(tx, group.crawl, group.judge, group.said)]


def test_a_sample_is_drawn_once_and_grows_without_those_put_there_by_hand(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=list(range(1, 21)), no=[21], undecided=[22])
        await scene.write(
            "insert into lanes (lane, crawl, service, facet) values (1, 1, 1, 'timeline')",
            "insert into tasks (lane, target, ready, priority, state, depth, added_at) values (1, '1', 0, 0, 'asleep', 0, 1)",
            "update judgements set decided_by = 'ada' where id = 'x:2'",
            "update users set opts_out = 1 where user_no = 3",
        )
        first = await drawn(scene, 5)
        assert len(first) == 5
        assert await drawn(scene, 5, seed=2) == first
        whole = await drawn(scene, 100, seed=3)
        assert (whole[:5], sorted(whole)) == (first, list(range(4, 21)))
        assert await drawn(scene, 9, Group(1, "community", "undecided")) == [22]
        with raises_code(UserError, "unknown_name") as caught:
            await drawn(scene, 9, Group(1, "community", "maybe"))
        assert all(value in str(caught.value) for value in ("'community'", "'maybe'", "community yes (20)"))

    played(database_url, play)


def test_labels_of_several_people_give_a_share_with_its_interval_and_their_agreement(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=list(range(1, 11)))
        sample = await drawn(scene, 10)
        async with scene.database.transaction() as tx:
            for place, number in enumerate(sample):
                await keep_label(tx, YES, Label(number, "ada", "no" if place == 0 else "yes"), START)
                if place < 4:
                    await keep_label(tx, YES, Label(number, "bob", "no" if place < 2 else "yes"), START)
            found = await read_labelled(tx, 1, "community", "yes")
        # They disagree on one: it is unsure.
        assert (found.drawn, found.labelled, found.unsure, found.belongs.hits, found.belongs.of) == (10, 10, 1, 8, 9)
        assert found.agreement is not None
        assert (found.agreement.people, found.agreement.accounts, found.agreement.alike, found.agreement.kappa) == (
            2,
            4,
            0.75,
            0.5,
        )
        assert [(each.who, each.labelled) for each in found.people] == [("ada", 10), ("bob", 4)]
        rows = await scene.rows("select who, label, said from v_labels where who = 'bob' order by label")
        assert [tuple(row) for row in rows] == [("bob", "no", "yes")] * 2 + [("bob", "yes", "yes")] * 2

    played(database_url, play)


def test_an_account_is_shown_with_its_evidence_and_posts_and_one_key_labels_it(capsys: pytest.CaptureFixture[str]) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1, 2, 3])
        await scene.write('update judgements set evidence = \'{"place":"Faro"}\'')
        await scene.post(1, author=1, text="bom dia")
        await drawn(scene, 3)
        async with scene.database.reading() as tx:
            accounts = await read_drawn_accounts(tx, 1, "community", "yes")
        keys = iter("xybyuq")
        said: list[tuple[int, str]] = []

        async def shown(account: JudgedAccount) -> list[tuple[object, str]]:
            async with scene.database.reading() as tx:
                return list(await read_latest(tx, account.number, 5))

        async def kept(account: JudgedAccount, word: str) -> object:
            said.append((account.number, word))
            return wilson_share(1, 1)

        await ask(Output(), accounts, set(), Asking(show=shown, keep=kept, key=lambda: next(keys)))  # type: ignore[arg-type]
        first, second = accounts[0].number, accounts[1].number
        # After `b` the first is asked about again.
        assert said == [(first, "yes"), (first, "yes"), (second, "unsure")]

    played(":memory:", play)
    told = capsys.readouterr().out
    for value in ("profile", "90%", "Faro", "2026-03-01 bom dia", "1 of 1", "100.0 %", "20.6"):
        assert value in told


async def a_store(path: Path) -> str:
    database = await open_database(str(path), RealClock())
    await database.create_tables()
    scene = await Scene(database, RealClock()).begin()  # type: ignore[arg-type]
    await scene.people(yes=list(range(1, 11)))
    await database.close()
    return str(path)


async def test_labels_come_from_a_file_and_the_result_as_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store = await a_store(tmp_path / "c.db")
    file = tmp_path / "labels.csv"
    file.write_text("handle,label\nuser1,yes\n@user2,n\nx:9999,yes\n", encoding="utf-8")
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        code = thread.submit(cli.run, ["judge", store, "--labels", str(file), "--by", "ada", "--json"]).result()
        assert code == 0
        told = json.loads(capfd.readouterr().out.splitlines()[-1])
        assert (told["drawn"], told["labelled"], told["belongs"]["share"]) == (10, 2, 0.5)
        for arguments, wrong, values in (
            ((), "needs_terminal", ("--labels", "--json")),
            (("--of", "ys"), "unknown_name", ("--of", "'ys'", "'yes'")),
            (("--judge", "nosuch"), "unknown_name", ("nosuch",)),
            (("--labels", "no.csv"), "file_not_found", ("no.csv",)),
        ):
            error = thread.submit(command_error, "judge", store, *arguments, code=wrong).result()
            assert isinstance(error, UserError)
            assert all(value in str(error) for value in values)


def test_a_wrong_label_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("id,label\nx:1,yes\nx:2,perhaps\n", encoding="utf-8")
    with raises_code(UserError, "invalid") as caught:
        labels_in(file, "ada")
    assert all(value in caught.value.problem for value in (str(file), "line 3", "'perhaps'"))


async def test_what_people_said_is_read_by_account(tmp_path: Path) -> None:
    store = await a_store(tmp_path / "c.db")
    database = await open_database(store, RealClock())
    async with database.transaction() as tx:
        await draw(tx, YES, 3, Random(1), START)
        (first, *_) = await read_drawn_accounts(tx, 1, "community", "yes")
        await keep_label(tx, YES, Label(first.number, "ada", "yes"), START)
        await keep_label(tx, YES, Label(first.number, "ada", "no"), START)
        assert await read_labels(tx, 1, "community", "yes") == {first.number: {"ada": "no"}}
    await database.close()


def test_the_interval_and_the_agreement_are_those_of_the_books() -> None:
    share = wilson_share(18, 20)
    assert (share.share, share.low, share.high) == (0.9, 0.699, 0.9721)
    assert wilson_share(0, 0).share is None
    # Fleiss 1971, in small: three people, four accounts.
    three = [
        dict(zip("abc", words, strict=True)) for words in (["yes"] * 3, ["yes", "yes", "no"], ["no"] * 3, ["no", "no", "yes"])
    ]
    found = measure_agreement(three)
    assert found is not None
    assert (found.people, found.alike, found.kappa) == (3, 0.6667, 0.3333)
    assert measure_agreement([{"a": "yes"}]) is None
    assert [majority_label(each) for each in ({"a": "yes", "b": "no"}, {"a": "no", "b": "unsure"})] == ["unsure", "no"]
