"""Things of a first week that bring something from a network, each one command, held against what is true there."""

from __future__ import annotations

import csv
from typing import Any

from bowerbird.evaluate.week.scene import Failed, Scene, check, keys_of
from bowerbird.evaluate.week.serving import Server, live

_WORD = "year"
_TAG = "#music"


def posts_of_one(scene: Scene, server: Server) -> None:
    (account,), name = server.writers(1), f"one-{server.name}.csv"
    scene.do("timeline", server.handle(account), *server.options(), "-o", name)
    _check_posts(scene.rows(name), server, account)


def _check_posts(rows: list[dict[str, Any]], server: Server, account: int) -> None:
    found, wanted = keys_of(rows, "id", server), server.posts(account)
    strange, lacking = len(found - server.written(account)), len(wanted - found)
    check(
        not strange and not lacking,
        f"of {len(wanted)} posts of {server.handle(account)} {lacking} are missing, {strange} are not theirs",
    )


def posts_of_many(scene: Scene, server: Server) -> None:
    accounts, name = server.writers(5), f"many-{server.name}.csv"
    with (scene.folder / f"users-{server.name}.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("who", "group"))
        table.writerows((server.handle(each), f"group {each}") for each in accounts)
    scene.do("timelines", "-i", f"users-{server.name}.csv", "--column", "who", *server.options(), "-o", name)
    rows = scene.rows(name)
    for each in accounts:
        own = [row for row in rows if row["group"] == f"group {each}"]
        _check_posts(own, server, each)


def one_keyword(scene: Scene, server: Server) -> None:
    word, name = _TAG if server.name == "weibo" else _WORD, f"word-{server.name}.csv"
    scene.do("search", word, *server.options(), "--limit", "20", "-o", name)
    _check_found(scene, server, name, word)


def several_keywords(scene: Scene, server: Server) -> None:
    words, name = (_TAG, "#cats") if server.name == "weibo" else (_WORD, _TAG), f"words-{server.name}.jsonl"
    scene.do("searches", *words, *server.options(), "--limit", "20", "-o", name)
    check(_TAG in {row["input"] for row in scene.rows(name)}, "nothing was found for one of the words")
    for word in words:
        _check_found(scene, server, name, word)


def _check_found(scene: Scene, server: Server, name: str, word: str) -> None:
    for row in scene.rows(name):
        if row.get("input", word) == word:
            check(
                row["kind"] == "repost" or word.strip("#") in (row["text"] or "").lower(), f"{row['id']} has not the word {word}"
            )
            (account,) = keys_of([row], "author_id", server) if server.name != "mastodon" else {""}
            author = server.service.account(account) if account else None
            check(author is None or keys_of([row], "id", server) <= server.posts(author), f"{row['id']} was never written")


def followers(scene: Scene, server: Server) -> None:
    _edges(scene, server, "followers", "source_id")


def following(scene: Scene, server: Server) -> None:
    _edges(scene, server, "following", "target_id")


def _edges(scene: Scene, server: Server, command: str, end: str) -> None:
    (account,), name, truth = server.writers(1), f"{command}-{server.name}.csv", server.service.truth
    scene.do(command, server.handle(account), *server.options(), "-o", name)
    rows = scene.rows(name)
    now = server.service.world.settings.until
    if now is None:
        raise Failed("the world does not stand still")
    listed = getattr(truth, command)(account, now)
    wanted = {_name(server, each) for each in listed if truth.is_collectable(each, now)}
    found = {row[end] for row in rows}
    check(wanted <= found <= {_name(server, each) for each in listed}, f"{len(wanted - found)} of {len(wanted)} are missing")


def _name(server: Server, account: int) -> str:
    key = server.key(account)
    match server.name:
        case "bluesky":
            return key
        case "mastodon":
            return f"https://{server.service.dialect.domain}/users/{server.handle(account).removeprefix('@')}"
        case "weibo":
            return f"weibo:{key}"
        case _:
            return f"x:{key}"


def ids_to_posts(scene: Scene, server: Server) -> None:
    own = [key for account in server.writers(20) for key in sorted(server.posts(account)) if "repost" not in key]
    name = f"hydrated-{server.name}.jsonl"
    scene.do("hydrate", "-", *server.options(), "-o", name, given="\n".join(own[:60]))
    check(keys_of(scene.rows(name), "id", server) == set(own[:60]), "these are not the posts that were asked for")


def conversation(scene: Scene, server: Server) -> None:
    answered, name = server.replies(), f"thread-{server.name}.csv"
    post = max(answered, key=lambda each: len(answered[each]))
    scene.do("thread", post, *server.options(), "-o", name)
    rows = scene.rows(name)
    check(post in keys_of(rows, "id", server), "the post itself is missing")
    check(len(rows) > len(answered[post]), f"{len(answered[post])} answered, and there are {len(rows)} rows")


def passed_on(scene: Scene, server: Server) -> None:
    found, name = server.reposts(), f"reposts-{server.name}.csv"
    post = max(found, key=lambda each: len(found[each]))
    scene.do("reposts", post, *server.options(), "-o", name)
    names = {row["user_id"] for row in scene.rows(name)}
    check({_name(server, each) for each in found[post]} <= names, "some of those who passed it on are missing")


def profiles(scene: Scene, server: Server) -> None:
    accounts, name = server.writers(8), f"profiles-{server.name}.csv"
    (scene.folder / f"users-{server.name}.txt").write_text("\n".join(server.handle(each) for each in accounts))
    scene.do("users", "-i", f"users-{server.name}.txt", *server.options(), "-o", name)
    check({row["id"] for row in scene.rows(name)} == {_name(server, each) for each in accounts}, "some profiles are missing")


def listening(scene: Scene, server: Server) -> None:
    name = f"heard-{server.name}.jsonl"
    with live(server.name) as lively:
        scene.add_key(lively)
        scene.do("stream", "the", *lively.options(), "--limit", "3", "--for", "60s", "-o", name)
    rows = scene.rows(name)
    # A repost was heard for the words of what it passes on.
    written = [row for row in rows if row["kind"] != "repost"]
    check(len(rows) >= 3 and all("the" in (row["text"] or "").lower() for row in written), "what was heard has not the word")


def trends(scene: Scene, server: Server) -> None:
    name = f"trends-{server.name}.csv"
    scene.do("trends", *server.options(), "-o", name)
    check([row["rank"] for row in scene.rows(name)][:2] == ["1", "2"], "there is no order in it")


def counts(scene: Scene, server: Server) -> None:
    name = f"counts-{server.name}.csv"
    scene.do("counts", _WORD, *server.options(), "-o", name)
    counted = sum(int(row["posts"]) for row in scene.rows(name))
    scene.do("search", _WORD, *server.options(), "-o", f"counted-{server.name}.jsonl")
    found = len(scene.rows(f"counted-{server.name}.jsonl"))
    check(0 < found <= counted, f"{counted} were counted, and {found} are to be found")
