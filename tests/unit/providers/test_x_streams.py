"""The X API's streams: rules put in place, then connected, then heard."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from provider_payloads import answer
from stream_payloads import disconnected, hear, line, listening, x_line
from x_payloads import PROBLEMS, missing, referring, x, x_post, x_user

from bowerbird.errors import UserError
from bowerbird.limits.rate_limits import call_charges
from bowerbird.model import (
    Answer,
    Ask,
    NoticeKind,
    Opening,
    Outcome,
    Page,
    PostKind,
    Request,
    Secret,
    Subscription,
)
from bowerbird.providers.base import Provider
from bowerbird.providers.x.ids import earlier, taken_in
from failures import raises_code

RULES = "/2/tweets/search/stream/rules"
OURS = "bowerbird:animals"
NONE = answer({"meta": {"sent": "2026-01-05T12:00:00.000Z", "result_count": 0}})


def wanted(*rules: str, **options: tuple[str, ...]) -> Subscription:
    made = x.subscription("filter", {"rules": rules, **options})
    return Subscription(channel=made.channel, options=made.options, name="animals")


def rule(number: str, value: str, tag: str | None = OURS) -> dict[str, Any]:
    return {"id": number, "value": value, **({"tag": tag} if tag is not None else {})}


def listed(*rules: dict[str, Any], token: str | None = None) -> Answer:
    return answer({"data": list(rules), "meta": {"result_count": len(rules), **({"next_token": token} if token else {})}})


def step(subscription: Subscription, *answers: Answer) -> Request | Opening | Page:
    return x.open(subscription, None, answers)


def sent(request: Request | Opening | Page) -> Any:
    assert isinstance(request, Request)
    assert (request.method, request.path) == ("POST", RULES)
    return json.loads(request.body)


def opened(*steps: Any) -> Opening:
    found = step(*steps)
    assert isinstance(found, Opening)
    return found


def test_the_provider_is_one_that_streams() -> None:
    assert isinstance(x, Provider)


def test_the_channels_are_the_applications_and_follow_the_networks_own_back_off() -> None:
    for channel in x.channels.values():
        assert channel.kinds == {"app"}
        assert channel.silence == timedelta(seconds=25)
        assert [channel.lost.wait(each) for each in (1, 2, 100)] == [timedelta(seconds=each) for each in (0.25, 0.5, 16)]
        assert [channel.refused.wait(each) for each in (1, 2, 100)] == [timedelta(seconds=each) for each in (5, 10, 320)]
        assert [channel.limited.wait(each) for each in (1, 2)] == [timedelta(minutes=1), timedelta(minutes=2)]
    assert {name: channel.facet.limits[0].allowance for name, channel in x.channels.items()} == {
        "filter": 50,
        "sample": 50,
        "sample10": 100,
    }


def test_posts_of_a_stream_are_paid_for_like_those_of_a_search() -> None:
    search = x.facets_for("app")["search"]
    assert x.channels["filter"].facet.limits[1:-2] == search.limits[1:]


def test_what_is_sent_before_a_filtered_stream_opens_is_charged_and_stays_within_its_limits() -> None:
    taken = {charge.bucket: charge for charge in call_charges(x.channels["filter"].facet, "x", None)}
    connections = taken["x/app:anonymous/filter"].limit.allowance
    before = {name: taken[f"x/app:anonymous/{name}"] for name in ("rules", "rule_changes")}
    assert {name: (charge.amount, charge.limit.allowance) for name, charge in before.items()} == {
        "rules": (9, 450),
        "rule_changes": (2, 100),
    }
    assert all(connections * charge.amount <= charge.limit.allowance for charge in before.values())
    assert len(x.channels["sample"].facet.limits) + 2 == len(x.channels["filter"].facet.limits)


def test_rules_are_asked_for_first_and_added_before_connecting() -> None:
    subscription = wanted("cat has:images", "dogs: dog lang:en")
    asked = step(subscription)
    assert isinstance(asked, Request)
    assert (asked.method, asked.path, asked.query) == ("GET", RULES, (("max_results", "1000"),))
    assert sent(step(subscription, NONE)) == {
        "add": [{"value": "cat has:images", "tag": OURS}, {"value": "dog lang:en", "tag": f"{OURS}:dogs"}]
    }
    added = answer({"data": [rule("1", "cat has:images"), rule("2", "dog lang:en", f"{OURS}:dogs")]}, 201)
    opening = opened(subscription, NONE, added)
    assert opening.request.path == "/2/tweets/search/stream"
    assert opening.rules == ("1", "2")


def test_a_stream_asks_for_the_same_fields_as_a_search() -> None:
    fields = {"tweet.fields", "user.fields", "media.fields", "place.fields", "poll.fields", "expansions"}
    search = {name: value for name, value in x.request(Ask("search", ("cat",))).query if name in fields}
    assert dict(opened(wanted("cat"), listed(rule("1", "cat"))).request.query) == search


def test_rules_in_place_need_no_call() -> None:
    assert opened(wanted("cat"), listed(rule("1", "cat"))).rules == ("1",)


def test_our_old_rules_go_and_those_of_others_stay() -> None:
    known = listed(
        rule("1", "cat"), rule("2", "bird"), rule("3", "cow", "somebody"), rule("4", "emu", None), rule("5", "ape", OURS + "2")
    )
    subscription = wanted("cat", "dog")
    assert sent(step(subscription, known)) == {"delete": {"ids": ["2"]}}
    deleted = answer({"meta": {"summary": {"deleted": 1, "not_deleted": 0}}})
    assert sent(step(subscription, known, deleted)) == {"add": [{"value": "dog", "tag": OURS}]}
    assert opened(subscription, known, deleted, answer({"data": [rule("6", "dog")]}, 201)).rules == ("1", "6")


def test_a_rule_that_somebody_else_has_already_is_shared() -> None:
    assert opened(wanted("cow"), listed(rule("3", "cow", "somebody"))).rules == ("3",)
    duplicate = {"value": "cow", "id": "3", "title": "DuplicateRule", "type": PROBLEMS + "duplicate-rules"}
    assert opened(wanted("cow"), NONE, answer({"meta": {}, "errors": [duplicate]})).rules == ("3",)


def test_a_long_list_of_rules_is_read_to_its_end() -> None:
    more = step(wanted("cat"), listed(rule("1", "cow", None), token="next"))
    assert isinstance(more, Request)
    assert ("pagination_token", "next") in more.query
    assert opened(wanted("cat"), listed(rule("1", "cow", None), token="next"), listed(rule("2", "cat"))).rules == ("2",)


def test_a_rule_that_is_not_taken_is_named() -> None:
    invalid = {"value": "from:", "title": "UnprocessableEntity", "detail": "Rule is invalid", "type": PROBLEMS + "invalid-rules"}
    for refused in (answer({"errors": [invalid]}, 201), answer({"errors": [invalid], "title": "Invalid Request"}, 400)):
        page = step(wanted("from:"), NONE, refused)
        assert isinstance(page, Page)
        assert page.outcome is Outcome.BAD_REQUEST
        assert "'from:'" in page.detail


@pytest.mark.parametrize(
    ("code", "outcome"),
    [(401, Outcome.BAD_TOKEN), (429, Outcome.RATE_LIMITED), (503, Outcome.OVERLOADED), (200, Outcome.UNREADABLE)],
)
def test_rules_that_cannot_be_read_say_why(code: int, outcome: Outcome) -> None:
    page = step(wanted("cat"), answer(b"<html>", code, retry_after="7"))
    assert isinstance(page, Page)
    assert (page.outcome, page.retry_after) == (outcome, timedelta(seconds=7))


def test_a_change_of_rules_can_be_signed_with_oauth() -> None:
    keys = dict.fromkeys(("consumer_key", "consumer_secret", "access_token", "access_token_secret"), "k")
    clocked = type(x)(now=lambda: NONE.sent_at, nonce=lambda: "once")
    request = step(wanted("a=b&c"), NONE)
    assert isinstance(request, Request)
    bare = Request(method=request.method, path=request.path, headers=request.headers)
    secret = Secret(name="me", values=keys)
    assert clocked.sign(request, secret).headers == clocked.sign(bare, secret).headers


def test_samples_connect_at_once() -> None:
    sample = opened(x.subscription("sample", {"backfill_minutes": ["5"]}))
    assert (sample.request.path, sample.request.query[0]) == ("/2/tweets/sample/stream", ("backfill_minutes", "5"))
    tenth = opened(x.subscription("sample10", {"partition": ["2"]}))
    assert (tenth.request.path, tenth.request.query[0]) == ("/2/tweets/sample10/stream", ("partition", "2"))


@pytest.mark.parametrize(
    ("channel", "options", "code", "named"),
    [
        ("filter", {}, "missing_value", "filter rules"),
        ("filter", {"rules": ("",)}, "invalid", "0 1,024"),
        ("filter", {"rules": ("a" * 1025,)}, "invalid", "1025 1,024"),
        ("filter", {"rules": ("cat", "pets: cat")}, "already_exists", "'cat'"),
        ("filter", {"rules": tuple(f"w{each}" for each in range(1001))}, "too_many", "1001 1,000"),
        ("filter", {"rules": ("t" * 61 + ": cat",)}, "invalid", "60"),
        ("filter", {"rules": ("cat",), "backfill_minutes": ("6",)}, "invalid", "backfill_minutes '6' 0 5"),
        ("sample10", {}, "missing_value", "sample10 partition"),
        ("sample", {"rules": ("cat",)}, "unknown_name", "'rules' backfill_minutes"),
    ],
)
def test_what_the_network_would_refuse_is_refused_with_advice(
    channel: str, options: dict[str, tuple[str, ...]], code: str, named: str
) -> None:
    with raises_code(UserError, code) as caught:
        x.subscription(channel, options)
    assert all(value in str(caught.value) for value in named.split())


def test_a_gap_is_filled_by_one_search_for_all_rules_if_it_fits() -> None:
    assert x.fill_targets(wanted("from:alice cat")) == ("from:alice cat",)
    assert x.fill_targets(wanted("cat", "d: dog")) == ("(cat) OR (dog)",)
    assert x.fill_targets(wanted("a" * 300, "b" * 300)) == ("a" * 300, "b" * 300)
    assert x.fill_targets(wanted("cat", "b" * 600)) == ()
    assert (x.channels["filter"].fills, x.channels["sample"].fills) == ("search", "")


def test_posts_come_with_what_they_name_and_the_rules_they_matched() -> None:
    quoted = x_post("50", author_id="7")
    includes = {"users": [x_user(), x_user("7")], "tweets": [quoted]}
    heard = hear(x, "filter", x_line(x_post(**referring("quoted", "50")), "1", includes=includes), rules=["cat"])
    (page,) = heard.pages
    assert [post.key for post in page.posts] == ["50", "1212092628029698048"]
    assert page.posts[1].kind is PostKind.QUOTE
    assert json.loads(page.posts[1].raw)["matching_rules"] == [{"id": "1", "tag": "cats"}]
    assert (heard.events, heard.newest_at) == (1, taken_in("1212092628029698048"))
    # Posts come in no order: a search that fills a gap starts ten seconds earlier.
    assert heard.head == earlier("1212092628029698048", timedelta(seconds=10))
    assert taken_in("1212092628029698048") - taken_in(heard.head) == timedelta(seconds=10)


def test_both_spellings_are_read() -> None:
    renamed = {**x_post("101"), "referenced_posts": [{"type": "replied_to", "id": "9"}], "edit_history_post_ids": ["100", "101"]}
    del renamed["edit_history_tweet_ids"]
    (page,) = hear(x, "sample", x_line(renamed, includes={"posts": [x_post("9")]})).pages
    assert [post.key for post in page.posts] == ["9", "101"]
    assert (page.posts[1].reply_to, page.posts[1].kind) == ("x:9", PostKind.REPLY)


def test_what_comes_twice_is_saved_once_even_in_another_batch() -> None:
    listener = listening(x, "sample")
    twice = listener.hear([x_line(x_post("100")), x_line(x_post("100")), x_line(x_post("99"))])
    assert ([[post.key for post in page.posts] for page in twice.pages], twice.events, twice.head) == ([["100", "99"]], 3, "100")
    assert listener.hear([x_line(x_post("99"))]).pages == ()


def test_an_edit_is_a_post_of_its_own() -> None:
    later = x_post("1212092628029698049", edit_history_tweet_ids=["1212092628029698048", "1212092628029698049"])
    (page,) = hear(x, "sample", x_line(x_post()), x_line(later)).pages
    assert [post.edited_at is not None for post in page.posts] == [False, True]


def test_what_only_rules_of_others_match_is_passed_over() -> None:
    listener = listening(x, "sample", ours=["1"])
    heard = listener.hear([x_line(x_post("100"), "2"), x_line(x_post("101"), "2", "1"), x_line(x_post("102"))])
    assert [post.key for page in heard.pages for post in page.posts] == ["101", "102"]
    assert heard.events == 3


def test_posts_of_protected_accounts_are_never_kept() -> None:
    (page,) = hear(x, "sample", x_line(x_post("100"), includes={"users": [x_user(protected=True)]})).pages
    assert page.posts == ()


def test_what_a_post_refers_to_and_could_not_be_shown_is_not_proved_gone() -> None:
    error = missing("tweet", "51", "referenced_tweets.id")
    (page,) = hear(x, "sample", x_line(x_post("100", **referring("quoted", "51")), errors=[error])).pages
    assert ([post.quote_of for post in page.posts], page.gone) == (["x:51"], ())
    alone = hear(x, "sample", line({"errors": [error]}))
    assert (alone.closing, alone.events, alone.pages) == (None, 1, ())


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("UpstreamOperationalDisconnect", Outcome.OVERLOADED),
        ("ForceDisconnect", Outcome.RATE_LIMITED),
        ("InvalidRules", Outcome.BAD_REQUEST),
        ("SlowReader", Outcome.OVERLOADED),
        ("Unheard of", Outcome.OVERLOADED),
    ],
)
def test_a_disconnect_ends_the_connection_with_its_reason(kind: str, outcome: Outcome) -> None:
    heard = hear(x, "sample", x_line(x_post("100")), disconnected(kind))
    assert (heard.closing, heard.events) == (outcome, 1)
    kinds = [notice.kind for notice in heard.notices]
    assert kinds == ([NoticeKind.SLOW, NoticeKind.CLOSING] if kind == "SlowReader" else [NoticeKind.CLOSING])
    assert kind in heard.notices[-1].detail


def test_too_many_connections_end_it_too() -> None:
    said = {"title": "ConnectionException", "connection_issue": "TooManyConnections", "type": PROBLEMS + "streaming-connection"}
    assert hear(x, "sample", line(said)).closing is Outcome.RATE_LIMITED
    page = x.refused(x.subscription("sample", {}), answer(said, 429, x_rate_limit_remaining="40"))
    assert page.outcome is Outcome.RATE_LIMITED
    assert "ConnectionException" in page.detail


@pytest.mark.parametrize(
    ("code", "body", "outcome"),
    [
        (409, {"title": "ConnectionException", "connection_issue": "RuleConfigurationIssue"}, Outcome.BAD_REQUEST),
        (403, {"title": "Client Forbidden", "reason": "client-not-enrolled"}, Outcome.FORBIDDEN_SCOPE),
        (402, {"title": "CreditsDepleted", "type": PROBLEMS + "credits"}, Outcome.QUOTA_EXHAUSTED),
        (401, {"title": "Unauthorized"}, Outcome.BAD_TOKEN),
        (503, b"", Outcome.OVERLOADED),
        (200, b"", Outcome.UNREADABLE),
    ],
)
def test_a_refusal_is_an_outcome(code: int, body: object, outcome: Outcome) -> None:
    assert x.refused(x.subscription("sample", {}), answer(body, code)).outcome is outcome


def test_keep_alives_are_nothing_and_garbage_loses_only_itself() -> None:
    heard = hear(x, "sample", b"\r\n", b"", b"{", line({}), line({"data": [x_post("1")]}), x_line(x_post("100")))
    (page,) = heard.pages
    assert (len(page.broken), [post.key for post in page.posts], heard.events) == (3, ["100"], 4)


def test_a_time_has_a_key_from_which_a_search_finds_what_was_taken_in_after_it() -> None:
    at = datetime(2026, 1, 5, 12, tzinfo=UTC)
    key_time = x.channels["filter"].key_time
    assert key_time is not None
    assert taken_in(key_time.key_at(at)) == at
    assert key_time.key_at(datetime(2006, 3, 21, tzinfo=UTC)) == "0"
