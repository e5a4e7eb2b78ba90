"""Modules that look after a store: freezing, retention, deletions, names of places, languages, and messages to people."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from module_scene import START, Scene, played

from bowerbird.model import CrawlState, Credential, Judgement, Ruling, Secret, Seen, Subject
from bowerbird.modules.judging.languages import Languages
from bowerbird.modules.judging.place_names import PlaceNames, parts
from bowerbird.modules.judging.profiles import Profiles
from bowerbird.modules.tending.deletions import Deletions
from bowerbird.modules.tending.freezing import Freezing
from bowerbird.modules.tending.notification import Notification
from bowerbird.modules.tending.retention import Retention
from bowerbird.reports.place_names import read_names, say
from bowerbird.transport.messages import OutsideMessenger

AT = int(START.timestamp() * 1e6)
DAY = 86_400_000_000


class WordJudge:
    """Says of posts how they begin, and of accounts where their location does."""

    name = "word"
    version = "1"

    def judge(self, seen: Seen) -> Ruling:
        said = [
            Judgement(subject=Subject.POST, id=known, value=(post.text or "")[:2], reason="text", confidence=1.0)
            for known, _, post in seen.posts()
        ]
        said += [
            Judgement(subject=Subject.USER, id=known, value="yes", reason="profile", confidence=1.0)
            for known, user in seen.accounts()
            if user.location
        ]
        return Ruling(judgements=tuple(said))


class Heard:
    """A messenger that remembers; implements `ports.Messenger`."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.fails = False

    async def run(self, command: Sequence[str], message: str) -> None:
        if self.fails:
            raise OSError("nobody is there")
        self.messages.append(message)

    async def post(self, url: str, values: Mapping[str, Any]) -> None:
        self.messages.append(str(values["text"]))

    async def mail(self, server: str, to: Sequence[str], subject: str, message: str) -> None:
        self.messages.append(subject)


async def asleep(scene: Scene, task: int, target: int, due: int, state: str = "asleep") -> None:
    token = "1" if state == "leased" else "null"
    await scene.write(
        "insert into tasks (task, lane, target, ready, priority, due, token, state, depth, added_at) "
        f"values ({task}, 1, '{target}', 0, 0, {due}, {token}, '{state}', 0, 1)"
    )


def test_silent_accounts_wait_for_the_quiet_hours_and_others_do_not(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1, 2])
        await scene.write(
            "insert into lanes (lane, crawl, service, facet) values (1, 1, 1, 'timeline')",
            f"update users set found_at = {AT - 90 * DAY}",
        )
        await scene.post(1, author=1, at=START - timedelta(days=40))
        await scene.post(2, author=2, at=START - timedelta(days=2))
        soon = AT + 60_000_000
        for number in (1, 2):
            await asleep(scene, number, number, soon)
        await asleep(scene, 3, 3, soon, state="leased")
        counts = await scene.run(Freezing(), utc_offset=-1)
        assert counts["frozen"] == 1
        due = {row["task"]: row["due"] for row in await scene.rows("select task, due from tasks")}
        # It is noon: three in the morning of somebody an hour west is four.
        assert (due[1], due[2], due[3]) == (AT + 16 * DAY // 24, soon, soon)

    played(database_url, play)


def test_the_curve_tells_which_part_of_silences_ended(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1, 2, 3])
        for number, (author, days) in enumerate([(1, 20), (1, 10), (1, 1), (2, 16), (3, 3), (3, 2)], 1):
            await scene.post(number, author=author, at=START - timedelta(days=days))
        curve = {point["days"]: point for point in (await scene.run(Freezing()))["curve"]}
        # Silences that ended: 10 and 9 days (1), 1 day (3); that last: 1 day (1), 16 days (2), 2 days (3).
        assert curve[7] == {"days": 7, "silences": 3, "came_back": 2, "share": 0.6667}
        assert curve[14] == {"days": 14, "silences": 1, "came_back": 0, "share": 0.0}
        assert curve[90]["share"] is None

    played(database_url, play)


def test_posts_that_are_older_than_they_may_be_kept_lose_their_content(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people()
        await scene.post(1, author=1, at=START - timedelta(days=40), text="old")
        await scene.post(2, author=1, at=START - timedelta(days=2), text="new")
        await scene.write(f"insert into errors (at, part, message) values ({AT - 400 * DAY}, 'x', 'old')")
        assert (await scene.run(Retention()))["posts"] == 0
        counts = await scene.run(Retention(), posts="30d")
        assert counts["posts"] == 1
        rows = await scene.rows("select post_no, text, deleted_at from posts order by post_no")
        assert [(row["text"], row["deleted_at"] is None) for row in rows] == [(None, False), ("new", True)]
        assert [row["reason"] for row in await scene.rows("select reason from deletions")] == ["retention"]
        assert list(await scene.rows("select * from errors")) == []

    played(database_url, play)


def test_a_quarantined_item_that_is_too_old_goes_with_the_names_in_it(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        into = "insert into quarantine (item, source, call, facet, subject, why, at, bytes, raw)"
        days = dict.fromkeys(range(1, 502), 20) | {502: 0}
        await scene.write(
            *(f"{into} values ({item}, 1, 1, 'search', 'post', 'x', {AT - old * DAY}, 0, '')" for item, old in days.items()),
            *(f"insert into quarantine_names (name, item) values (7, {item})" for item in days),
        )
        assert (await scene.run(Retention(), quarantine="10d"))["quarantine"] == 501
        assert [row["item"] for row in await scene.rows("select item from quarantine")] == [502]
        assert [row["item"] for row in await scene.rows("select item from quarantine_names")] == [502]

    played(database_url, play)


def test_stored_posts_are_asked_about_again_round_and_round(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people()
        for number in range(1, 6):
            await scene.post(number, author=1, at=START - timedelta(days=30))
        await scene.post(6, author=1, at=START - timedelta(days=1))
        first = await scene.run(Deletions(), posts=3)
        second = await scene.run(Deletions(), posts=3)
        assert (first["asked"], first["rounds"], second["asked"], second["rounds"]) == (3, 0, 2, 1)
        assert scene.asked.asked == [("posts", [1, 2, 3], True), ("posts", [4, 5], True)]

    played(database_url, play)


def test_names_that_several_members_write_and_nobody_knows_are_proposed_until_a_person_decides(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.people(yes=[1, 2, 3, 4, 5], no=[6, 7])
        places = {1: "Mértola, Portugal", 2: "mertola", 3: "Mértola / PT", 4: "Lisboa", 5: "lisboa, moon base", 6: "moon base"}
        for number, place in places.items():
            await scene.write(f"update users set location = '{place}' where user_no = {number}")
        scene.places = {"lisboa", "portugal"}
        counts = await scene.run(PlaceNames(), least=2)
        assert (counts["unknown"], counts["new"]) == (1, 1)
        async with scene.database.transaction() as tx:
            (found,) = await read_names(tx, 1)
            assert (found.name, found.members, found.others, found.said) == ("Mértola", 3, 0, "proposed")
            await say(tx, 1, "MÉRTOLA", "confirmed", "ada", START)
        assert (await scene.run(PlaceNames(), least=2))["new"] == 0
        async with scene.database.reading() as tx:
            assert [(each.said, each.who) for each in await read_names(tx, 1)] == [("confirmed", "ada")]

    played(database_url, play)


def test_a_location_falls_into_names() -> None:
    assert list(parts("Linda-a-Velha, Oeiras (Portugal) | 38.7, -9.2")) == ["Linda-a-Velha", "Oeiras", "Portugal"]


def test_stored_posts_are_judged_once_for_each_version_of_a_judge(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        judge = WordJudge()
        scene.judges["word"] = judge
        await scene.people()
        await scene.post(1, author=1, text="olá mundo")
        await scene.post(2, author=1, text="hi", kind="repost")
        await scene.post(3, author=2, text="hello")
        assert await scene.run(Languages(), judges=["word"]) == {"posts": 3, "judged": 2, "judgements": 2}
        said = {(row["id"], row["value"]) for row in await scene.rows("select id, value from judgements")}
        assert said == {("x:1", "ol"), ("x:3", "he")}
        assert (await scene.run(Languages(), judges=["word"]))["posts"] == 0
        judge.version = "2"
        assert (await scene.run(Languages(), judges=["word"]))["judged"] == 2

    played(database_url, play)


def test_stored_profiles_of_candidates_are_judged(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        scene.judges["word"] = WordJudge()
        await scene.people()
        await scene.write(
            "update users set location = 'Faro' where user_no in (1, 3)",
            f"insert into candidates (crawl, user_no, source, state, found_at) values (1, 1, 'mentions', 'valid', {AT})",
            f"insert into candidates (crawl, user_no, source, state, found_at) values (1, 2, 'mentions', 'valid', {AT})",
        )
        assert await scene.run(Profiles(), judge="word") == {"profiles": 2, "judgements": 1}
        assert [row["id"] for row in await scene.rows("select id from judgements")] == ["x:1"]

    played(database_url, play)


async def trouble(scene: Scene, words: str, part: str = "calls") -> None:
    await scene.write(f"insert into errors (at, crawl, part, message) values ({AT}, 1, '{part}', '{words}')")


def test_each_trouble_is_told_once_and_what_could_not_be_sent_is_tried_again(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        heard = scene.messenger = Heard()
        await trouble(scene, "from before")
        assert (await scene.run(Notification(), command=["tell"]))["told"] == 0
        await trouble(scene, "no room on disk 3")
        await trouble(scene, "no room on disk 4")
        heard.fails = True
        failed = await scene.runner(Notification(), options={"command": ["tell"]}).by_hand()
        assert failed.error is not None
        assert "nobody is there" in failed.error
        heard.fails = False
        # Its own failure is trouble too.
        assert (await scene.run(Notification(), command=["tell"]))["told"] == 2
        (message,) = heard.messages
        assert "calls: no room on disk" in message
        await trouble(scene, "no room on disk 5")
        assert (await scene.run(Notification(), command=["tell"]))["told"] == 0
        await scene.clock.sleep_until(START + timedelta(days=8))
        await scene.run(Notification(), command=["tell"])
        await trouble(scene, "no room on disk 6")
        assert (await scene.run(Notification(), command=["tell"]))["told"] == 1

    played(database_url, play)


def test_nobody_is_remembered_by_what_was_told_of_them(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        scene.messenger = Heard()
        await scene.run(Notification(), command=["tell"])
        await trouble(scene, "alice.example cannot be read")
        assert (await scene.run(Notification(), command=["tell"]))["told"] == 1
        (row,) = await scene.rows("select memory from modules")
        assert "alice" not in row["memory"]
        # What an earlier version remembered in words counts as told, and its words go.
        await scene.write(f"""update modules set memory = '{{"error":1,"told":{{"calls bob cannot be read":{AT}}}}}'""")
        await trouble(scene, "bob cannot be read")
        assert (await scene.run(Notification(), command=["tell"]))["told"] == 0
        (row,) = await scene.rows("select memory from modules")
        assert "bob" not in row["memory"]

    played(database_url, play)


def test_a_budget_nearly_spent_and_the_end_are_told(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        heard = scene.messenger = Heard()
        await scene.write(
            "insert into ledgers (bucket, allowance, window_micros, kind, remaining, in_flight, finished, updated_at) "
            "values ('x/money', 10000, 1, 'fixed', 500, 0, 0, 1)"
        )
        use = {"webhook": "https://hook.example", "mail": ["ada@example.org"]}
        assert (await scene.run(Notification(), **use))["told"] == 1
        posted, subject = heard.messages
        assert posted.startswith(subject)
        assert all(value in subject.split() for value in ("bowerbird:", "c:", "95%", "x"))
        runner = scene.runner(Notification(), options=use)
        ended = runner.part().ended
        assert ended is not None
        await ended(CrawlState.FINISHED, "nothing left")
        assert heard.messages[-1].startswith("bowerbird: c: ")
        assert all(value in heard.messages[-1] for value in ("finished", "nothing left"))

    played(database_url, play)


def test_a_message_to_nobody_is_refused(database_url: str) -> None:
    async def play(scene: Scene) -> None:
        ran = await scene.runner(Notification()).by_hand()
        assert ran.error is not None
        assert all(key in ran.error for key in ("command", "webhook", "mail", "[modules.notification]"))

    played(":memory:", play)


async def test_a_command_gets_the_message_on_its_standard_input(tmp_path: Path) -> None:
    target = tmp_path / "told"
    code = f"import sys, pathlib; pathlib.Path({str(target)!r}).write_text(sys.stdin.read())"
    await OutsideMessenger().run([sys.executable, "-c", code], "trouble\n")
    assert target.read_text() == "trouble\n"
    with pytest.raises(OSError, match=r"\b3\b.*\bsorry$"):
        await OutsideMessenger().run([sys.executable, "-c", "import sys; print('sorry', file=sys.stderr); sys.exit(3)"], "x")
    with pytest.raises(OSError, match="'/no/such'"):
        await OutsideMessenger().run(["/no/such"], "x")


class Kept:
    """A vault with one address; implements `ports.Vault`."""

    def __init__(self, address: str) -> None:
        self._address = address

    def credentials(self) -> Sequence[Credential]:
        return ()

    def secret(self, name: str) -> Secret:
        return Secret(name=name, values={"address": self._address})

    def keep(self, secret: Secret) -> None: ...


async def test_a_webhook_gets_json_and_its_address_is_never_told() -> None:
    got: list[Any] = []

    async def hook(request: web.Request) -> web.Response:
        got.append(await request.json())
        return web.Response(status=200 if request.path == "/good" else 410)

    app = web.Application()
    app.router.add_post("/{path}", hook)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        await OutsideMessenger().post(f"http://127.0.0.1:{port}/good", {"text": "hello"})
        with pytest.raises(OSError) as refused:
            await OutsideMessenger().post(f"http://127.0.0.1:{port}/secret", {"text": "hello"})
        assert all(value in str(refused.value) for value in ("127.0.0.1", "410"))
        assert not any(value in str(refused.value) for value in (str(port), "secret"))
        vault = Kept(f"http://127.0.0.1:{port}/good")
        await OutsideMessenger(vault).post("vault:chat", {"text": "hello"})
        with pytest.raises(OSError, match="vault:chat"):
            await OutsideMessenger().post("vault:chat", {"text": "hello"})
    finally:
        await runner.cleanup()
    assert got == [{"text": "hello"}] * 3


async def test_a_mail_is_handed_to_the_server_and_no_password_goes_unencrypted() -> None:
    lines: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        is_letter = False
        while line := (await reader.readline()).decode():
            lines.append(line.rstrip())
            word = line[:4].upper().strip()
            if is_letter and line != ".\r\n":
                continue
            is_letter = word == "DATA"
            writer.write({"DATA": b"354 go on\r\n", "QUIT": b"221 bye\r\n"}.get(word, b"250 ok\r\n"))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        await OutsideMessenger().mail(f"smtp://127.0.0.1:{port}", ["ada@example.org"], "trouble", "something happened")
        hostile = "re\rfused\u2028by\x85 server\x1c\nBcc: eve@example.org"
        await OutsideMessenger().mail(f"smtp://127.0.0.1:{port}", ["ada@example.org"], hostile, "x\r\n.\r\nMAIL FROM:<eve>")
        with pytest.raises(OSError, match=r"127\.0\.0\.1.*SMTPException"):
            await OutsideMessenger().mail(f"smtp://bob:pass@127.0.0.1:{port}", ["ada@example.org"], "trouble", "x")
    assert "Subject: trouble" in lines
    assert "something happened" in lines
    assert "Subject: re fused by  server  Bcc: eve@example.org" in lines
    assert not any(line.startswith("Bcc") for line in lines)
    # Of two letters: a full stop alone ends a letter only where we say so.
    assert lines.count(".") == 2
    assert not any("AUTH" in line for line in lines)
