"""Figures in the dashboard: every page on an empty and on a crawled store, numbers for plots, studies of words, bad input."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from store_pages import START, TIMELINE, post, user
from store_pages import Crawled as Filled

from bowerbird.clock import RealClock
from bowerbird.model import Page, PostKind
from bowerbird.modules.statistics.preparing import Preparing
from bowerbird.ports import Database
from bowerbird.reports.statistics.series import Peak, Series, peak
from bowerbird.studies.word_studies import StudyRunner
from failures import page_error
from web_site import Answer, Client, dashboard

PAGES = ("", "/top", "/influence", "/accounts", "/languages", "/map", "/friends", "/around", "/words")
NUMBERS = (
    "plots/volumes/written?unit=hour", "plots/volumes/stored?unit=month", "plots/degrees", "plots/languages", "plots/map",
    "graphs/friends",
)  # fmt: skip
INJECTED = "<script>alert(1)</script>"
HOUR = timedelta(hours=1)


@pytest.fixture
async def client(database: Database) -> Client:
    """A store in which two people talk about rain, one of them with an unkind name, and a dashboard over it."""
    scene = await Filled(database).register()
    talk = [
        post(
            str(n),
            str(1 + n % 2),
            kind=PostKind.REPLY if n > 1 else PostKind.POST,
            reply_to=f"x:{n - 1}" if n > 1 else None,
            created_at=START + n * HOUR,
            text=f"rain again {INJECTED}",
            tags=("Rain",),
            links=("javascript:alert(1)", "https://www.example.org/a"),
            language="pt",
        )
        for n in range(1, 9)
    ]
    people = (user("1", handle="ana", followers=10, following=3), user("2", handle=INJECTED, followers=2, following=400))
    await scene.save(Page(users=people, posts=tuple(talk)), TIMELINE, "1")
    await Preparing(database, RealClock(), rest=0).run()
    return await dashboard(database)


async def study(client: Client, **more: str) -> str:
    """Makes a study and has it looked through; its address."""
    answer = await client.post("/figures/words", {"words": "rain\nsnow", "unit": "hour", **more})
    assert answer.status == 303, answer.text
    while await StudyRunner(client.site.database, RealClock(), rest=0).run_next() is not None:
        pass
    return answer.headers["location"]


async def upload(client: Client, path: str, body: bytes, name: str = "share.csv") -> Answer:
    token = (await client.token()).encode()
    parts = [
        b'--cut\r\nContent-Disposition: form-data; name="token"\r\n\r\n' + token,
        b'--cut\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s' % (name.encode(), body),
        b"--cut--\r\n",
    ]
    headers = {"content-type": "multipart/form-data; boundary=cut", "origin": "http://127.0.0.1"}
    return await client._ask("POST", path, headers, b"\r\n".join(parts))


@pytest.mark.parametrize("page", PAGES)
async def test_every_page_says_what_to_do_on_an_empty_store(database: Database, page: str) -> None:
    answer = await (await dashboard(database)).get(f"/figures{page}")
    assert answer.status == 200
    assert 'class="empty"' in answer.text


@pytest.mark.parametrize("page", PAGES)
async def test_every_page_shows_what_is_counted_and_escapes_it(client: Client, page: str) -> None:
    answer = await client.get(f"/figures{page}")
    assert answer.status == 200, answer.text
    assert INJECTED not in answer.text
    assert 'href="javascript' not in answer.text


@pytest.mark.parametrize("what", ["tag", "link", "domain", "mention", "author", "answered", "reposted"])
async def test_every_list_can_be_shown_by_month(client: Client, what: str) -> None:
    answer = await client.get(f"/figures/top?what={what}&month=2026-03")
    assert answer.status == 200
    assert INJECTED not in answer.text
    assert 'href="javascript' not in answer.text


async def test_lists_name_what_is_counted(client: Client) -> None:
    tags = (await client.get("/figures/top?what=tag")).text
    assert "#rain" in tags
    address = tags.partition('href="/data/posts')[2].partition('"')[0]
    assert 'value="#rain"' in (await client.get(f"/data/posts{address}")).text
    assert "example.org" in (await client.get("/figures/top?what=domain")).text
    assert "@ana" in (await client.get("/figures/top?what=author")).text
    assert "@ana" in (await client.get("/figures/influence")).text


@pytest.mark.parametrize("path", NUMBERS)
async def test_plots_are_given_numbers(client: Client, path: str) -> None:
    answer = await client.get(f"/figures/{path}")
    assert answer.status == 200
    assert answer.json()["as_of"]


def test_a_peak_is_of_the_time_between_the_first_and_the_last() -> None:
    days = [datetime(2026, 5, day, tzinfo=UTC) for day in range(1, 7)]
    series = Series(as_of=days[-1], times=days, values={"stored": [0, 4, 0, 8, 8, 0], "post": [0] * 6}, before=0)
    assert peak(series, "stored") == Peak(mean=5.0, most=8, at=days[4])
    assert peak(series, "post") is None
    assert peak(series, "reply") is None


async def test_volumes_are_those_of_the_store(client: Client) -> None:
    assert "/figures/plots/volumes/stored?unit=month" in (await client.get("/figures?unit=month")).text
    told = (await client.get("/figures/plots/volumes/written?unit=day")).json()
    assert {one["label"]: sum(one["values"]) for one in told["series"]} == {"post": 1, "reply": 7}
    assert (told["y_label"], told["unit"]) == ("posts per day", "posts")


async def test_the_graphs_show_who_talks_with_whom(client: Client) -> None:
    friends = (await client.get("/figures/graphs/friends")).json()
    assert len(friends["nodes"]) == 2
    assert [edge["weight"] for edge in friends["edges"]] == [7]
    around = await client.get("/figures/around?account=ana")
    assert "@ana" in around.text
    ties = (await client.get("/figures/around/ties?account=x%3A1")).text
    assert 'id="strongest"' in ties
    assert re.search(r"answered by \d, replies \d", ties)
    assert (await client.get("/figures/around/ties?account=nobody")).status == 404
    graph = (await client.get("/figures/graphs/around/x%3A1")).json()
    assert {edge["kind"] for edge in graph["edges"]} == {"replies"}
    assert (await client.get("/figures/around?account=nobody")).status == 404


async def test_who_passes_on_what_an_account_wrote_is_around_it(client: Client) -> None:
    scene = await Filled(client.site.database).register()
    passed = post("20", "3", kind=PostKind.REPOST, repost_of="x:2", text=None, created_at=START + 30 * HOUR)
    await scene.save(Page(users=(user("3", handle="eva"),), posts=(passed,)), TIMELINE, "3")
    graph = (await client.get("/figures/graphs/around/x%3A1")).json()
    assert "reposts" in {edge["kind"] for edge in graph["edges"]}
    assert "reposted by 1" in (await client.get("/figures/around/ties?account=x%3A1")).text
    assert "reposts 1" in (await client.get("/figures/around/ties?account=x%3A3")).text
    assert "/figures/around?account=x%3A1" in (await client.get("/users/x%3A1")).text


@pytest.mark.parametrize("address", ["?unit=week", "/top?what=nothing", "/top?month=spring", "/around?account=" + "x" * 501])
async def test_what_cannot_be_shown_is_refused_in_words(client: Client, address: str) -> None:
    assert (await client.get(f"/figures{address}")).status == 400


async def test_somebody_may_ask_for_new_numbers(client: Client) -> None:
    answer = await client.post("/figures/refresh", {"back": "/figures/map"})
    assert (answer.status, answer.headers["location"]) == (303, "/figures/map")
    elsewhere = await client.post("/figures/refresh", {"back": "https://evil.example/figures/"})
    assert elsewhere.headers["location"] == "/figures"


async def test_a_study_is_made_shown_and_removed(client: Client) -> None:
    path = await study(client, name=INJECTED)
    shown = (await client.get(path)).text
    assert INJECTED not in shown
    assert f"/figures/plots{path.removeprefix('/figures')}/references" in shown
    told = (await client.get(f"/figures/plots{path.removeprefix('/figures')}/references")).json()
    assert {one["label"]: sum(one["values"]) for one in told["series"]} == {"posts": 8, "people": 8}
    assert INJECTED not in (await client.get("/figures/words")).text
    assert (await client.post(f"{path}/remove")).status == 303
    assert (await client.get(path)).status == 404


async def test_the_last_day_of_a_study_belongs_to_it(client: Client) -> None:
    days = (await client.get("/figures/plots/volumes/written?unit=day")).json()["xs"]
    last = max(days)[: len("2026-03-01")]
    path = await study(client, since=last, until=last)
    told = (await client.get(f"/figures/plots{path.removeprefix('/figures')}/references")).json()
    assert sum(told["series"][0]["values"]) > 0


async def test_a_number_that_no_study_has_is_not_found(client: Client) -> None:
    assert (await client.get(f"/figures/words/{10**20}")).status == 404


async def test_a_series_is_uploaded_and_held_against_the_references(client: Client) -> None:
    path = await study(client)
    rows = "\n".join(f"{START + n * HOUR:%Y-%m-%d %H:%M},{n % 3}" for n in range(-3, 6))
    assert (await upload(client, f"{path}/series", rows.encode())).status == 303
    shown = (await client.get(path)).text
    lags = shown.partition('id="lags"')[2].partition("</section>")[0]
    assert '<tr class="chosen"><td class="n">0</td><td class="n">9</td>' in lags
    told = (await client.get(f"/figures/plots{path.removeprefix('/figures')}/lags")).json()
    assert len(told["series"]) == 4
    figures = re.findall(r'<span class="label">([^<]*)</span>\s*<a class="value" href="#lags">', shown)
    tried = re.search(r"\d+", figures[1])
    assert tried is not None
    assert re.search(rf"\b{tried[0]}\b", lags.partition("</p>")[0]), "the best of many is high by chance"
    assert told["xs"][0] == -24


@pytest.mark.parametrize(
    ("body", "code", "value"),
    [(b"day,share\nx,1\n", "invalid", "'x'"), (b"\xff", "file_unreadable", "UTF-8"), (b"", "file_unreadable", "")],
)
async def test_what_is_no_series_is_refused_in_words(client: Client, body: bytes, code: str, value: str) -> None:
    path = await study(client)
    answer = await upload(client, f"{path}/series", body)
    error = page_error(answer)
    assert (answer.status, error.code, value in error.problem) == (400, code, True)


async def test_a_file_that_is_too_large_is_refused(client: Client) -> None:
    path = await study(client)
    assert (await upload(client, f"{path}/series", b"2026-03-01,1\n" * 100_000)).status in (400, 413)


async def test_posts_of_the_sample_are_labelled_one_after_the_other(client: Client) -> None:
    path = await study(client)
    for place, word in enumerate(["yes", "yes", "no", "unsure"]):
        page = (await client.get(f"{path}/label")).text
        assert f"{place} of 8" in page
        assert INJECTED not in page
        number = page.partition('name="post" value="')[2].partition('"')[0]
        assert (await client.post(f"{path}/label", {"post": number, "label": word})).status == 303
    shown = (await client.get(path)).text
    assert "66.7 %" in shown
    assert (await client.post(f"{path}/label", {"post": number, "label": "perhaps"})).status == 400
    for none in ("x", "²", "9" * 20):
        assert (await client.post(f"{path}/label", {"post": none})).status == 400


@pytest.mark.parametrize("form", [{"words": " "}, {"words": "x", "unit": "week"}, {"words": "x", "since": "spring"}])
async def test_a_study_that_cannot_be_is_refused(client: Client, form: dict[str, str]) -> None:
    assert (await client.post("/figures/words", form)).status == 400
