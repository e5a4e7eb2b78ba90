"""A community in a browser: how it stands, its people, one key for each, undo, samples of several people, names of places."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from module_scene import Scene, played

from bowerbird.ports import Row
from bowerbird.reports.community.people import Which
from failures import page_error
from web_site import Answer, Client, dashboard

EVIDENCE = (
    '{"probability": 0.8, "written": 1.2, "written_found": "pt 9 of 10 posts", "place": -0.4, "place_found": "<b>Rio</b> (BR)"}'
)


def with_client(url: str, play: Callable[[Scene, Client], Awaitable[None]]) -> None:
    """Members 1 to 3, one outside, undecided 5 to 7 of whom the language was weighed."""

    async def begin(scene: Scene) -> None:
        await scene.people(yes=[1, 2, 3], no=[4], undecided=[5, 6, 7])
        await scene.write(
            f"update judgements set reason = 'posts', evidence = '{EVIDENCE}' where value = 'undecided'",
            "update judgements set at = at + 1 where id = 'x:6'",
            "update judgements set at = at + 2 where id = 'x:5'",
            "insert into place_names (crawl, name, written, members, others, said, at) "
            "values (1, 'tuga', 'Tuga', 4, 0, 'proposed', 1)",
        )
        await scene.post(1, author=5, text="<script>alert(1)</script> bom dia")
        await play(scene, await dashboard(scene.database, scene.clock))

    played(url, begin)


def fields(answer: Answer) -> dict[str, str]:
    """The hidden fields of the form with the keys."""
    form = answer.text.partition('class="keys"')[2]
    return dict(re.findall(r'name="(number|stood|start|after|last|skipped)" value="([^"]*)"', form))


async def press(client: Client, address: str, answer: Answer, key: str) -> Answer:
    return await client.post(address, {**fields(answer), "key": key}, {"hx-request": "true"})


async def judged(scene: Scene) -> dict[str, tuple[str, str | None]]:
    rows: list[Row] = list(await scene.rows("select id, value, decided_by from judgements order by id"))
    return {row["id"]: (row["value"], row["decided_by"]) for row in rows}


def test_every_page_of_a_community_answers_and_escapes(database_url: str) -> None:
    async def play(scene: Scene, client: Client) -> None:
        lists = tuple(Which)
        for path in ("", "/sample", "/names", *(f"/{each}" for each in lists), *(f"/decide/{each}" for each in lists)):
            answer = await client.get(f"/community/c{path}")
            assert answer.status == 200, (path, answer.text)
            assert "<script>alert" not in answer.text
            assert "<b>Rio</b>" not in answer.text
        assert (await client.get("/community")).headers["location"] == "/community/c"
        assert (await client.get("/community/nobody")).status == 404
        assert (await client.get("/community/c/decide/nonsense")).status == 404
        card = (await client.get("/community/c/decide/undecided")).text
        assert "pt 9 of 10 posts" in card
        assert "1.2" in card
        assert 'action="/community/c/decide/undecided/say"' in card

    with_client(database_url, play)


def test_one_key_decides_one_after_the_other_and_undo_goes_back(database_url: str) -> None:
    async def play(scene: Scene, client: Client) -> None:
        say = "/community/c/decide/undecided/say"
        first = await client.get("/community/c/decide/undecided")
        assert fields(first)["number"] == "5"
        second = await press(client, say, first, "y")
        assert fields(second)["number"] == "6"
        assert (await judged(scene))["x:5"] == ("yes", "owner")
        third = await press(client, say, second, "n")
        undone = await press(client, say, third, "back")
        assert fields(undone)["number"] == "6"
        assert (await judged(scene))["x:6"] == ("undecided", None)
        again = await press(client, say, undone, "skip")
        assert fields(again)["number"] == "7"
        last = await press(client, say, again, "u")
        assert (await judged(scene))["x:7"] == ("undecided", "owner")
        assert "number" not in fields(last)
        assert (await press(client, say, first, "x")).status == 400
        plain = await client.post(say, {**fields(first), "key": "skip"})
        assert plain.status == 303
        assert (await client.get(plain.headers["location"])).status == 200

    with_client(database_url, play)


def test_who_decides_by_an_old_page_is_told_and_nothing_changes(database_url: str) -> None:
    async def play(scene: Scene, client: Client) -> None:
        say = "/community/c/decide/undecided/say"
        seen = await client.get("/community/c/decide/undecided")
        await scene.clock.sleep_until(scene.clock.now() + timedelta(seconds=1))
        assert (await press(client, say, seen, "y")).status == 200
        late = await press(client, say, seen, "n")
        assert (late.status, page_error(late).code) == (400, "changed_meanwhile")
        assert (await judged(scene))["x:5"] == ("yes", "owner")

    with_client(database_url, play)


def test_a_sample_is_drawn_labelled_and_its_share_told(database_url: str) -> None:
    async def play(scene: Scene, client: Client) -> None:
        label = "/community/c/sample/yes/label"
        assert (await client.post("/community/c/sample/draw", {"said": "yes", "size": "3"})).status == 303
        answer = await client.get("/community/c/sample/yes")
        first = fields(answer)["number"]
        answer = await press(client, label, answer, "y")
        answer = await press(client, label, answer, "back")
        assert fields(answer)["number"] == first
        for key in ("n", "skip", "u"):
            answer = await press(client, label, answer, key)
        assert "number" not in fields(answer)
        assert re.search(r"<b>0\.0 %</b>[^<]*\b0 of 1\b", answer.text)
        assert len(await scene.rows("select label from labels")) == 2
        assert "owner" in (await client.get("/community/c/sample")).text
        assert (await client.post("/community/c/sample/draw", {"said": "yes", "size": "0"})).status == 400
        assert (await client.post("/community/c/sample/draw", {"said": "maybe", "size": "9"})).status == 404

    with_client(database_url, play)


@pytest.mark.parametrize(("verb", "said"), [("confirm", "confirmed"), ("refuse", "refused")])
def test_a_name_of_a_place_is_confirmed_or_refused(database_url: str, verb: str, said: str) -> None:
    async def play(scene: Scene, client: Client) -> None:
        assert (await client.post("/community/c/names/say", {"place": "Tuga", "verb": verb})).status == 303
        assert [tuple(row) for row in await scene.rows("select said, who from place_names")] == [(said, "owner")]
        assert (await client.post("/community/c/names/say", {"place": "Nowhere", "verb": verb})).status == 400

    with_client(database_url, play)
