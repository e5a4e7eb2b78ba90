"""How servers that speak Mastodon's API say what they are, what they lack, and how they refuse."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from provider_payloads import NOON, account, answer, read, status

from bowerbird.model import EPOCH, Answer, Ask, NotOffered, Outcome, Progress, Request, ServerInfo
from bowerbird.providers.limit_overrides import with_limits
from bowerbird.providers.mastodon import Mastodon
from bowerbird.providers.mastodon.stream import MASTODON_KEYS, PLEROMA_KEYS, ULID_KEYS

mastodon = Mastodon()
GOTOSOCIAL = ServerInfo(software="gotosocial", version="0.20.0")
TAKAHE = ServerInfo(software="takahe", version="0.11.0")
HTML = b"<html>404</html>"


def said(value: Any, status: int = 200) -> Answer:
    return answer(json.dumps(value).encode() if not isinstance(value, bytes) else value, status)


def asked(*answers: Answer) -> list[str]:
    """The paths that are asked for one after the other, given these answers."""
    paths: list[str] = []
    while isinstance(step := mastodon.probe_server(answers[: len(paths)]), Request):
        paths.append(step.path)
    return paths


@pytest.mark.parametrize(
    ("instance", "software", "version"),
    [
        ({"version": "4.5.0"}, "mastodon", "4.5.0"),
        ({"version": "4.2.10+glitch"}, "mastodon", "4.2.10+glitch"),
        ({"version": "2.7.2 (compatible; Pleroma 2.9.1)"}, "pleroma", "2.9.1"),
        ({"version": "2.7.2 (compatible; Akkoma 3.13.2-0-g)"}, "akkoma", "3.13.2-0-g"),
        ({"version": "takahe/0.11.0"}, "takahe", "0.11.0"),
        (
            {"version": "0.20.0+git-1", "source_url": "https://codeberg.org/superseriousbusiness/gotosocial"},
            "gotosocial",
            "0.20.0+git-1",
        ),
    ],
)
def test_software_and_version_are_told_by_the_instance(instance: dict[str, str], software: str, version: str) -> None:
    found = mastodon.probe_server([said(instance)])
    assert isinstance(found, ServerInfo)
    assert (found.software, found.version) == (software, version)


def test_a_bare_low_number_is_explained_by_the_node() -> None:
    links = {
        "links": [{"rel": "http://nodeinfo.diaspora.software/ns/schema/2.0", "href": "https://elsewhere.example/nodeinfo/2.0"}]
    }
    node = {"software": {"name": "GoToSocial", "version": "0.20.1"}}
    answers = [said({"version": "0.20.1"}), said(links), said(node)]
    assert asked(*answers) == ["/api/v2/instance", "/.well-known/nodeinfo", "/nodeinfo/2.0"]
    found = mastodon.probe_server(answers)
    assert isinstance(found, ServerInfo)
    assert (found.software, found.version) == ("gotosocial", "0.20.1")


def test_a_server_without_the_new_route_is_asked_by_the_old_one() -> None:
    assert asked(said(HTML, 404), said({"version": "3.3.0"})) == ["/api/v2/instance", "/api/v1/instance"]


@pytest.mark.parametrize("status", [0, 429, 500, 503])
def test_a_server_that_is_not_well_is_asked_no_further(status: int) -> None:
    assert mastodon.probe_server([Answer(status=status, sent_at=NOON, received_at=NOON)]) == ServerInfo()


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"version": 7}', b"\xff", b'{"version": null}', b"[" * 50_000])
def test_nonsense_about_itself_leaves_a_server_unknown(body: bytes) -> None:
    found = mastodon.probe_server([said(body), said(body), said(body), said(body)])
    assert isinstance(found, ServerInfo)
    assert found.software in ("", "mastodon") or body == b'{"version": 7}'


def test_streaming_address_and_closed_timelines_are_read() -> None:
    access = {
        "hashtag_feeds": {"local": "disabled", "remote": "disabled"},
        "live_feeds": {"local": "authenticated", "remote": "public"},
    }
    found = mastodon.probe_server(
        [said({"version": "4.5.0", "configuration": {"urls": {"streaming": "wss://s.example"}, "timelines_access": access}})]
    )
    assert isinstance(found, ServerInfo)
    assert found.streaming == "https://s.example"
    assert "hashtag" in mastodon.missing_facets(found)
    assert "hashtag" not in mastodon.for_server(found).facets
    there = mastodon.for_server(found)
    assert [kind for kind in there.tables if "public" in there.tables[kind]] == ["user"]


@pytest.mark.parametrize("version", ["4.2.10", "3.5.0"])
def test_before_batches_each_is_asked_for_alone(version: str) -> None:
    old = mastodon.for_server(ServerInfo(software="mastodon", version=version))
    assert (old.facets["profiles"].objects_per_call, old.facets["posts"].objects_per_call) == (1, 1)
    assert old.request(Ask("profiles", ("7",))).path == "/api/v1/accounts/7"
    assert old.request(Ask("posts", ("7",))).path == "/api/v1/statuses/7"
    assert "quotes" not in old.facets


def test_a_batch_that_was_under_way_is_still_one() -> None:
    old = mastodon.for_server(ServerInfo(refused={"posts": NotOffered("405", EPOCH)}))
    assert old.request(Ask("posts", ("7", "8"))).query == (("id[]", "7"), ("id[]", "8"))
    assert read(old, "posts", "7", answer(b"405 method not allowed", 405)).outcome is Outcome.NOT_OFFERED


@pytest.mark.parametrize(
    ("facet", "status", "body", "outcome"),
    [
        ("profiles", 405, b"405 method not allowed", Outcome.NOT_OFFERED),
        ("profiles", 404, HTML, Outcome.NOT_OFFERED),
        ("posts", 404, b'{"error":"Not Found"}', Outcome.NOT_OFFERED),
        ("directory", 404, b'{"error":"Not Found"}', Outcome.NOT_OFFERED),
        ("quotes", 404, b'{"error":"Not implemented"}', Outcome.NOT_OFFERED),
        ("quotes", 404, b'{"error":"Not Found"}', Outcome.NOT_FOUND),
        ("hashtag", 404, b'{"error":"Not Found: tag was not found"}', Outcome.NOT_FOUND),
        ("link", 404, b'{"error":"Record not found"}', Outcome.NOT_FOUND),
        ("post", 404, b'{"error":"Not implemented"}', Outcome.NOT_OFFERED),
        ("post", 501, b"", Outcome.NOT_OFFERED),
    ],
)
def test_a_missing_route_is_told_from_a_missing_object(facet: str, status: int, body: bytes, outcome: Outcome) -> None:
    assert read(mastodon, facet, "7", answer(body, status)).outcome is outcome


def test_mastodons_own_words_tell_a_missing_route() -> None:
    known = mastodon.for_server(ServerInfo(software="mastodon", version="4.5.0"))
    assert read(known, "quotes", "7", answer(b'{"error":"Not Found"}', 404)).outcome is Outcome.NOT_OFFERED
    assert read(known, "quotes", "7", answer(b'{"error":"Record not found"}', 404)).outcome is Outcome.NOT_FOUND


COUNTED = {"x-ratelimit-limit": "300", "x-ratelimit-remaining": "299", "x-ratelimit-reset": "2026-08-01T13:55:00.348080Z"}


def test_newer_mastodon_says_not_found_of_posts_and_counts_the_call() -> None:
    """A deleted post must not end the look for quotes on the whole server."""
    known = mastodon.for_server(ServerInfo(software="mastodon", version="4.7.0"))
    missing = answer(b'{"error":"Not Found"}', 404, **COUNTED)
    assert read(known, "quotes", "7", missing).outcome is Outcome.NOT_FOUND
    assert read(known, "post", "7", missing).gone
    seconds = answer(b'{"error":"Not Found"}', 404, **{**COUNTED, "x-ratelimit-reset": "300"})
    assert not read(known, "post", "7", seconds).gone


FASTIFY = b'{"message":"Route GET:/api/v1/statuses/7 not found","error":"Not Found","statusCode":404}'


@pytest.mark.parametrize("facet", ["post", "posts", "profile", "profiles"])
@pytest.mark.parametrize(
    ("software", "status", "body", "is_believed"),
    [
        ("mastodon", 404, b'{"error":"Record not found"}', True),
        ("", 404, b'{"error":"Record not found"}', True),
        ("akkoma", 404, b'{"error":"Can\'t find user"}', True),
        ("gotosocial", 404, b'{"error":"Not Found"}', True),
        ("gotosocial", 404, FASTIFY, False),
        ("gotosocial", 404, b'{"error":"Not Found: who?"}', False),
        ("mastodon", 404, b'{"error":"Not Found"}', False),
        ("misskey", 404, FASTIFY, False),
        ("", 404, b'{"error":"Not Found","statusCode":404}', False),
        ("pixelfed", 404, b'{"error":"no such thing"}', False),
        ("mastodon", 410, b'{"error":"Gone"}', True),
        ("mastodon", 410, b'{"error":"Gone","statusCode":410}', False),
        ("sharkey", 410, b'{"error":"Gone"}', False),
    ],
)
def test_an_absence_is_believed_at_once_only_in_the_words_of_the_servers_software(
    facet: str, software: str, status: int, body: bytes, is_believed: bool
) -> None:
    """Whoever answers at an address later, or before it, says `Not Found` of everything."""
    alone = {name: NotOffered("405", EPOCH) for name in ("posts", "profiles")}
    provider = mastodon.for_server(ServerInfo(software=software, version="3.0.0", refused=alone))
    found = read(provider, facet, "7", answer(body, status))
    meant = Outcome.NOT_FOUND if status == 404 else Outcome.SUSPENDED
    assert (found.outcome, found.perhaps) == ((meant, None) if is_believed else (Outcome.UNREADABLE, meant))
    assert bool(found.gone) == is_believed


def test_a_name_that_nobody_has_is_unknown_in_any_words() -> None:
    assert read(mastodon, "profile", "@ada", answer(FASTIFY, 404)).outcome is Outcome.NOT_FOUND


def test_a_page_of_html_means_an_absence_only_perhaps() -> None:
    found = read(mastodon, "post", "7", answer(HTML, 404))
    assert (found.outcome, found.perhaps, found.gone) == (Outcome.UNREADABLE, Outcome.NOT_FOUND, ())


@pytest.mark.parametrize(
    ("status", "kind", "body", "outcome"),
    [
        (400, "text/plain", b"Invalid Bearer token", Outcome.BAD_TOKEN),
        (400, "text/html; charset=utf-8", b"Invalid Bearer token", Outcome.BAD_TOKEN),
        (400, "text/html; charset=utf-8", b"<html>Your token is missing</html>", Outcome.BAD_REQUEST),
        (403, "application/json", b'{"error":"Invalid credentials."}', Outcome.BAD_TOKEN),
        (403, "application/json", b'{"error":"Insufficient permissions: read."}', Outcome.FORBIDDEN_SCOPE),
        (403, "application/json", b'{"error":"Your login is currently disabled"}', Outcome.BAD_TOKEN),
        (403, "application/json", b'{"error":"This account has been suspended"}', Outcome.SUSPENDED),
        (400, "application/json", b'{"error":"identity_token_required"}', Outcome.FORBIDDEN_SCOPE),
        (401, "text/html", b"<html>401</html>", Outcome.UNREADABLE),
        (401, "text/plain", b"go away", Outcome.UNREADABLE),
        (400, "text/plain", b"no", Outcome.BAD_REQUEST),
    ],
)
def test_refusals_of_tokens_are_read_whatever_their_status(status: int, kind: str, body: bytes, outcome: Outcome) -> None:
    found = read(mastodon, "profile", "7", answer(body, status, content_type=kind))
    assert found.outcome is outcome
    if outcome is Outcome.BAD_TOKEN and kind == "text/plain":
        assert "Invalid Bearer token" in found.detail


def test_what_would_stay_silent_is_known() -> None:
    assert set(mastodon.missing_channels(TAKAHE)) == set(mastodon.channels)
    assert {"hashtag", "hashtag_local", "public_events"} <= set(mastodon.missing_channels(GOTOSOCIAL))
    assert "public" not in mastodon.missing_channels(GOTOSOCIAL)
    assert "hashtag" in mastodon.for_server(GOTOSOCIAL).facets, "the timeline of a hashtag is another thing than its stream"
    assert mastodon.missing_channels(ServerInfo()) == {}


def onward(facet: str, body: Any, cursor: str | None, following: str, newest: str | None = None) -> tuple[str | None, str, bool]:
    link = f'<https://h/x?max_id={following}>; rel="next"'
    page = read(
        mastodon,
        facet,
        "7",
        answer(body, link=link),
        **({"cursor": cursor} if cursor else {}),
        **({"newest": newest} if newest else {}),
    )
    return page.cursor, page.detail, page.is_whole


@pytest.mark.parametrize("facet", ["timeline", "followers", "hashtag", "reposts", "quotes"])
def test_an_empty_page_with_a_next_one_is_not_the_end(facet: str) -> None:
    cursor, _, is_whole = onward(facet, [], "99", "90")
    assert cursor is not None
    assert is_whole
    assert ("max_id", "90") in mastodon.request(Ask(facet, ("7",), Progress(cursor))).query


def test_a_revisit_ends_at_what_is_known_where_since_id_is_ignored() -> None:
    assert onward("timeline", [], "99", "50", newest="60")[0] is None
    assert onward("timeline", [], "99", "70", newest="60")[0] is not None


AT = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.mark.parametrize("form", [MASTODON_KEYS, ULID_KEYS, PLEROMA_KEYS])
def test_ids_tell_their_time(form: Any) -> None:
    assert form.time_of(form.key_at(AT)) == AT
    assert form.key_at(AT) < form.key_at(AT + timedelta(milliseconds=1))


def test_known_ids_are_of_their_time() -> None:
    # The example of the specification of ULIDs, and a post of a Pleroma server of 2019.
    assert ULID_KEYS.time_of("01ARYZ6S41TSV4RRFFQ69G5FAV") == datetime(2016, 7, 30, 22, 36, 16, 385000, tzinfo=UTC)
    told = PLEROMA_KEYS.time_of("9hQpcFUVRvOOMSvGkq")
    assert told is not None
    assert told.year == 2019


@pytest.mark.parametrize("key", ["", "x", "01HZX3VJ5T8W6M2N4P7Q9R0S1I", "7" * 400, "ZZZZZZZZZZZZZZZZZZZZZZZZZZ"])
def test_what_is_no_id_tells_no_time(key: str) -> None:
    assert ULID_KEYS.time_of(key) is None


@pytest.mark.parametrize("form", [MASTODON_KEYS, ULID_KEYS, PLEROMA_KEYS])
def test_keys_of_times_that_have_not_come_are_known_as_such(form: Any) -> None:
    assert form.is_ahead(form.key_at(AT + timedelta(days=2)), AT)
    assert not form.is_ahead(form.key_at(AT), AT)
    assert not form.is_ahead("!", AT)
    assert not ULID_KEYS.is_ahead("116000000000000000", AT)


def test_ids_that_come_as_numbers_are_ids_all_the_same() -> None:
    numbered = status("100", content='<p>\\"id\\":5,</p>', in_reply_to_id=99) | {"id": 100, "account": account("1") | {"id": 1}}
    (post,) = read(mastodon, "timeline", "1", answer([numbered])).posts
    assert (post.key, post.reply_to) == ("100", "mastodon:m/99")
    assert post.text is not None
    assert "id" in post.text
    assert read(mastodon, "profile", "1", answer(account("1") | {"id": 1})).about == "1"


def test_what_search_finds_is_said_as_it_is() -> None:
    (usual,) = mastodon.warnings(ServerInfo(software="mastodon", version="4.5.0"), {"search"})
    own = mastodon.warnings(GOTOSOCIAL, {"search"})[0]
    assert "search" in usual
    assert "search" in own
    assert own != usual


def test_what_a_server_leaves_out_is_said() -> None:
    takahe = ServerInfo(software="takahe", version="0.11")
    said = mastodon.warnings(takahe, {"timeline"})
    assert [("timeline" in each, "#nobot" in each) for each in said] == [(False, True), (True, False)]
    assert mastodon.warnings(ServerInfo(software="mastodon", version="4.5.0"), {"timeline"}) == ()


def test_who_may_ask_what_depends_on_the_server_and_the_token() -> None:
    takers = {kind: set(table) for kind, table in mastodon.tables.items()}
    assert takers["user"] - takers["none"] == takers["user"] - takers["app"] == {"search", "quotes"}
    assert not mastodon.for_server(GOTOSOCIAL).facets_for("none")
    assert "followers" in mastodon.for_server(ServerInfo(software="takahe", version="0.11")).facets_for("none")


@pytest.mark.parametrize(
    "spoilt",
    ["\x1b]0;x\x07https://one.example/users/ada", "https://one.example/users/ada\n", "\u202ehttps://one.example/a", "a-secret"],
)
def test_what_is_no_address_names_nobody(spoilt: str) -> None:
    """Taken for an id it would be another account, which nobody could ever ask for."""
    page = read(mastodon, "reposts", "7", answer([account("1"), account("2", uri=spoilt)]))
    assert ([user.key for user in page.users], len(page.broken)) == (["1"], 1)


def test_gotosocial_counts_addresses_whoever_asks_and_for_whichever_page() -> None:
    """Two tokens on one address share 300 calls in five minutes, and pages are not counted apart."""
    for kind in ("user", "app"):
        for facet in mastodon.for_server(GOTOSOCIAL).facets_for(kind).values():
            told = [(limit.bucket, limit.allowance, limit.window, limit.only_paged) for limit in facet.limits]
            assert told == [("{service}/address", 300, timedelta(minutes=5), False)], facet.name


def test_what_a_crawl_file_says_of_limits_holds_for_gotosocial_too() -> None:
    slow = with_limits(mastodon, {"*": {"token": {"allowance": 60}}})
    assert {facet.limits[0].allowance for facet in slow.for_server(GOTOSOCIAL).facets_for("user").values()} == {60}
