"""The data pages of the dashboard: lists, searches that are kept, downloads, a user, a post, files of media."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from starlette.datastructures import QueryParams
from store_pages import FOLLOWERS, TIMELINE, Crawled, followers, post, user

from bowerbird.cli import COMMANDS, load
from bowerbird.clock import RealClock
from bowerbird.model import Gone, Media, Outcome, Page, Subject
from bowerbird.ports import Database
from bowerbird.reports.browsing.pages import token
from bowerbird.store.forgetting.requests import Forgetter, Wish
from bowerbird.store.searches import saved_searches
from bowerbird.web.pages.data.asking import asked
from bowerbird.web.pages.data.media import inside
from bowerbird.web.security.headers import POLICY
from failures import page_error
from web_site import Client, dashboard

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
async def client(database: Database) -> Client:
    crawled = await Crawled(database).register()
    picture = Media(id="m/1", kind="image", url="https://pictures.example/1.png", description=SCRIPT)
    posts = (
        post("10", text=f"flood {SCRIPT}", likes=5, media=(picture,), url="javascript:alert(1)", tags=("porto",)),
        post("11", "2", text="answer", reply_to="x:10", kind="reply"),
        post("12", "2", kind="repost", repost_of="x:10", text=None),
        post("13", text="gone soon"),
    )
    people = (user("1", name=SCRIPT, description=SCRIPT, url="javascript:alert(2)"), user("2"))
    await crawled.save(Page(users=people, posts=posts), TIMELINE, "1")
    await crawled.save(Page(relations=followers("1", "2")), FOLLOWERS, "1")
    await crawled.save(Page(gone=(Gone(Subject.POST, "13", Outcome.NOT_FOUND, is_stated=True),)))
    return await dashboard(database)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("/data/posts", "flood &lt;script&gt;"),
        ("/data/posts?q=%23porto&sort=likes&columns=text,likes,tags", 'aria-sort="descending"'),
        ("/data/posts?q=nothingofthekind", 'class="empty"'),
        ("/data/users", "&lt;script&gt;"),
        ("/data/relations?user=@u2", "@u1"),
        ("/data/media", "&lt;script&gt;"),
        ("/data/saved", 'class="empty"'),
        ("/users/x%3A1", 'href="/figures/around?account=x%3A1"'),
        ("/posts/x%3A10", 'hx-get="/data/cascades/x%3A10"'),
        ("/posts/x%3A11", 'href="/posts/x%3A10"'),
        ("/posts/x%3A13", 'class="message bad"'),
        ("/data/cascades/x%3A10", ": 1 repost"),
        ("/data/newest/x%3A1", 'href="/data/posts?user=x%3A1"'),
        ("/data/posts/count", "3 posts"),
        ("/data/posts/count?q=flood", "1 post"),
        ("/data/relations/count", "1 relation"),
        ("/data/users?before=" + token([1]), "@u1"),
    ],
)
async def test_every_page_answers_and_escapes_what_networks_say(client: Client, address: str, shown: str) -> None:
    answer = await client.get(address)
    assert answer.status == 200, answer.text
    assert shown in answer.text
    assert SCRIPT not in answer.text
    assert "javascript:" not in answer.text.replace("javascript:alert(2)</bdi>", "").replace("javascript:alert(1)</bdi>", "")


async def test_the_end_of_a_search_is_not_carried_to_the_other_lists(client: Client) -> None:
    page = (await client.get("/data/posts?since=2020-01-01&until=2030-05-01")).text
    assert all(f'<a href="/data/{each}"' in page for each in ("posts", "users", "relations", "media"))


async def test_what_is_gone_is_not_told(client: Client) -> None:
    for address in ("/data/posts", "/posts/x%3A13", "/users/x%3A1", "/data/posts.jsonl"):
        assert "gone soon" not in (await client.get(address)).text


async def test_of_an_account_that_opted_out_a_page_tells_its_id_alone(client: Client, database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute("update users set opts_out = 1 where id = ?", "x:1")
    answer = await client.get("/users/x%3A1")
    assert "<code>x:1</code>" in answer.text
    assert [part for part in ("@u1", 'class="figures"', 'class="timeline"', "/data/posts?user=") if part in answer.text] == []


@pytest.mark.parametrize(
    ("address", "status", "code", "value"),
    [
        ("/data/posts?user=nobody", 400, "unknown_account", "nobody"),
        ("/data/posts?since=soon", 400, "invalid", "'soon'"),
        ("/data/posts?until=9999-12-31", 400, "invalid", "'9999-12-31'"),
        (f"/data/posts?counter=likes&least={10**20}", 400, "invalid", f"'likes={10**20}'"),
        ("/data/posts?after=rubbish", 400, "invalid", "'rubbish'"),
        (f"/data/posts?sort=likes&after={token([9, 1])}", 400, "invalid", token([9, 1])),
        (f"/data/posts?before={token([9, 1, 1])}", 400, "invalid", token([9, 1, 1])),
        (f"/data/relations?before={token([1 << 63, 1])}", 400, "invalid", token([1 << 63, 1])),
        ("/data/users?counter=likes&least=3", 400, "unknown_name", "'likes'"),
        ("/users/nobody", 404, "unknown_account", "nobody"),
        ("/posts/none", 404, "unknown_post", "none"),
        ("/media/m%2F1", 404, "unknown_post", ""),
        ("/media/..%2F..%2Fetc%2Fpasswd", 404, "unknown_post", ""),
    ],
)
async def test_what_cannot_be_is_said_on_the_page(client: Client, address: str, status: int, code: str, value: str) -> None:
    answer = await client.get(address)
    error = page_error(answer)
    assert (answer.status, error.code, value in error.problem) == (status, code, True), answer.text


async def test_a_page_of_any_size_that_is_asked_for_has_rows(client: Client) -> None:
    answer = await client.get(f"/data/posts?size={'9' * 5000}")
    assert (answer.status, "flood" in answer.text) == (200, True)


@pytest.mark.parametrize(
    ("written", "leads"),
    [("@u1", "/users/x%3A1"), ("x:10", "/posts/x%3A10"), ("flood now", "/data/posts?q=flood%20now"), ("", "/data/posts")],
)
async def test_one_box_finds_accounts_posts_and_words(client: Client, written: str, leads: str) -> None:
    answer = await client.get(f"/data/find?q={quote(written)}")
    assert (answer.status, answer.headers["location"]) == (303, leads)
    assert (await client.get("/users/@u2")).headers["location"] == "/users/x%3A2"


async def test_a_download_has_the_rows_of_the_search(client: Client) -> None:
    client.stays = True
    lines = (await client.get("/data/posts.jsonl?q=flood")).text.splitlines()
    assert len(lines) == 1
    table = await client.get("/data/users.csv")
    assert table.headers["content-disposition"].startswith('attachment; filename="users-')
    assert table.text.splitlines()[0].startswith('"id","network"')
    assert len(table.text.splitlines()) == 3
    assert (await client.get("/data/posts.csv?user=nobody")).status == 400


@pytest.mark.parametrize("sort", ["newest", "oldest", "reposts", "likes"])
async def test_a_download_has_the_order_of_the_page(client: Client, sort: str) -> None:
    client.stays = True
    page = (await client.get(f"/data/posts?sort={sort}")).text
    lines = (await client.get(f"/data/posts.jsonl?sort={sort}&only=shown&columns=id,reposts")).text.splitlines()
    rows = [msgspec.json.decode(line) for line in lines]
    assert len(rows) > 1
    assert set(rows[0]) == {"id", "reposts"}
    places = [page.index(f'href="/posts/{quote(row["id"], safe="")}"') for row in rows]
    assert places == sorted(places)


async def test_a_repost_shows_what_it_passes_on_where_that_may_be_told(client: Client, database: Database) -> None:
    assert 'reposted <bdi>@u1</bdi>:</span> <a class="quiet-link"' in (await client.get("/data/posts?kind=repost")).text
    async with database.transaction() as tx:
        await tx.execute("update users set opts_out = 1 where id = ?", "x:1")
    page = (await client.get("/data/posts?kind=repost")).text
    assert "flood" not in page
    assert "@u1" not in page


async def test_what_is_seen_for_the_first_time_is_no_change(client: Client, database: Database) -> None:
    crawled = await Crawled(database).register()
    await crawled.save(Page(users=(user("2", description="hello there"),)), TIMELINE, "2")
    page = (await client.get("/users/x%3A2")).text
    assert "hello there" in page
    assert "<strong>description</strong> was" not in page


async def test_a_sorted_download_says_how_much_it_has(client: Client) -> None:
    sizes = [
        re.findall(r"\b[\d,]*0,000\b", (await client.get(address)).text)
        for address in ("/data/posts", "/data/posts?sort=reposts")
    ]
    assert [("200,000" in found, "20,000" in found) for found in sizes] == [(True, False), (True, True)]


async def test_whoever_is_forgotten_leaves_the_searches_that_name_them(client: Client, database: Database) -> None:
    await client.post("/data/saved", {"what": "posts", "name": "hers", "query": "user=%40u1&q=caf%C3%A9+%26+more"})
    (kept,) = await saved_searches(database)
    assert kept.query == "q=café+%26+more&user=@u1"
    assert "café" in (await client.get(f"/data/posts?{quote(kept.query, safe='=&+%@')}")).text
    async with database.reading() as tx:
        row = await tx.fetch_one("select user_no from users where id = 'x:1'")
    assert row is not None
    await Forgetter(database, RealClock()).forget(Wish(who="u1", why="asked", users=frozenset({row["user_no"]})))
    assert "u1" not in (await saved_searches(database))[0].query


async def test_a_search_is_saved_found_and_deleted(client: Client) -> None:
    form = {"what": "posts", "name": "floods", "query": "q=flood&sort=likes&evil=1"}
    saved = await client.post("/data/saved", form)
    assert saved.headers["location"] == "/data/posts?q=flood&sort=likes"
    assert "floods" in (await client.get("/data/saved")).text
    assert "floods" in (await client.get("/data/posts")).text
    await client.post("/data/saved/delete", {"name": "floods"})
    assert "floods" not in (await client.get("/data/saved")).text
    assert (await client.post("/data/saved", {"what": "secrets", "name": "a"})).status == 400
    assert (await client.post("/data/saved", form, token=False)).status == 403


async def test_plots_and_graphs_have_numbers(client: Client) -> None:
    for address in ("/data/plots/ties/x%3A1", "/data/plots/profile/x%3A1", "/data/plots/counters/x%3A10"):
        told = (await client.get(address)).json()
        assert {len(each["values"]) for each in told["series"]} <= {len(told["xs"])}
    graph = (await client.get("/data/graphs/cascade/x%3A10")).json()
    assert ([node["label"] for node in graph["nodes"]], len(graph["edges"])) == (["@u1", "@u2"], 1)


def test_the_command_line_means_what_the_page_shows() -> None:
    given = QueryParams("q=flood, %23porto&user=@u1&media=1&counter=likes&least=3&since=2026-05-01&kind=reply")
    command = asked("posts", given).command("my crawl.db")
    assert command == (
        "bowerbird export posts 'my crawl.db' --word flood --word '#porto' --user @u1 --kind reply --with-media "
        "--least likes=3 --since 2026-05-01 -o posts.csv"
    )
    known = {option for parameter in load("export").params for option in parameter.opts} if "export" in COMMANDS else set()
    assert {word for word in command.split() if word.startswith("--")} <= known


async def test_films_that_are_kept_may_be_shown_and_no_others(client: Client) -> None:
    assert "media-src 'self';" in (await client.get("/data/media")).headers["content-security-policy"]


@pytest.mark.parametrize(
    ("name", "kind", "manner"),
    [
        ("one.png", "image/png", "inline"),
        ("two.html", "application/octet-stream", "attachment"),
        ("three.svg", "application/octet-stream", "attachment"),
        ("four.bin", "application/octet-stream", "attachment"),
        ('a"; x=.html', "application/octet-stream", 'attachment; filename="file"'),
    ],
)
async def test_a_file_that_is_kept_runs_nothing_and_only_pictures_and_films_are_shown(
    client: Client, tmp_path: Path, name: str, kind: str, manner: str
) -> None:
    (tmp_path / "media").mkdir()
    (tmp_path / "media" / name).write_text("<script>alert(1)</script>")
    (tmp_path / "crawl.toml").write_text(_CRAWL)
    settings = msgspec.json.encode({"called": {"file": str(tmp_path / "crawl.toml")}}).decode()
    async with client.site.database.transaction() as tx:
        await tx.execute(_CALLED, settings)
        await tx.execute(_KEPT, "m/1", name)
    answer = await client.get("/media/m%2F1")
    assert (answer.status, answer.headers["content-type"]) == (200, kind)
    assert answer.headers["content-disposition"].startswith(manner)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    own, _, general = answer.headers["content-security-policy"].partition(", ")
    assert own.endswith("; sandbox")
    assert general == POLICY


_CRAWL = (
    'store = "x.db"\nflow = "timelines"\nseeds = ["@a"]\n'
    '[service]\nprovider = "mastodon"\nbase = "https://m.example"\n[media]\nfolder = "media"\n'
)
_CALLED = """
insert into crawls (name, flow, settings, state, wanted, created_at, updated_at) values ('x', 'x', ?, 'done', 'running', 0, 0)
"""
_KEPT = """
insert into media_files (id, kind, url, state, path, due, found_at) values (?, 'photo', 'x', 'kept', ?, 0, 0)
"""


def test_only_files_below_the_folder_are_served(tmp_path: Path) -> None:
    (tmp_path / "media" / "ab").mkdir(parents=True)
    for name in ("media/ab/one.png", "secret.png"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "media" / "ab" / "away.png").symlink_to(tmp_path / "secret.png")
    folder = tmp_path / "media"
    assert inside(folder, "ab/one.png") == (folder / "ab" / "one.png").resolve()
    for name in ("../secret.png", "ab/away.png", "ab/none.png", "ab", "/etc/passwd"):
        assert inside(folder, name) is None
