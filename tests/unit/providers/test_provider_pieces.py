"""Times, ids, markup and headers: the small pure pieces that both providers share."""

from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.model import Answer, Reading
from bowerbird.providers.base import path_segment
from bowerbird.providers.headers import next_position, reading, retry_after
from bowerbird.providers.items import Reader, count, identified, listed, shortened
from bowerbird.providers.page import key_before, newest_key, oldest_key
from bowerbird.providers.text import Markup, classic, epoch, iso, moment, plain, text_and_links

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def answer(**headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=200, headers=named, sent_at=NOON, received_at=NOON)


def test_iso_times_become_utc_with_or_without_a_zone() -> None:
    assert iso("2019-12-08T03:48:33.901Z") == datetime(2019, 12, 8, 3, 48, 33, 901000, tzinfo=UTC)
    assert iso("2019-07-15T18:29:57+02:00") == datetime(2019, 7, 15, 16, 29, 57, tzinfo=UTC)
    assert iso("2019-12-10") == datetime(2019, 12, 10, tzinfo=UTC)


def test_the_classic_date_format_is_read_with_its_zone() -> None:
    assert classic("Thu Nov 08 02:31:41 +0000 2012") == datetime(2012, 11, 8, 2, 31, 41, tzinfo=UTC)
    assert classic("Thu Nov 08 02:31:41 +0200 2012") == datetime(2012, 11, 8, 0, 31, 41, tzinfo=UTC)
    assert classic("Thu Nov 08 02:31:41 -0130 2012") == datetime(2012, 11, 8, 4, 1, 41, tzinfo=UTC)


@pytest.mark.parametrize("text", [None, "", "soon", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "٣", "9" * 400])
def test_an_impossible_time_is_no_time(text: str | None) -> None:
    assert iso(text) is None
    assert epoch(text) is None
    assert classic(text) is None


@pytest.mark.parametrize(
    "text", ["Thu Feb 31 02:31:41 +0000 2012", "Thu Nov 08 25:31:41 +0000 2012", "Thu Foo 08 02:31:41 +0000 2012"]
)
def test_a_classic_time_that_no_calendar_has_is_no_time(text: str) -> None:
    assert classic(text) is None


def test_a_reset_time_may_be_iso_or_epoch() -> None:
    assert moment("2026-01-05T12:00:00.019685Z") == NOON.replace(microsecond=19685)
    assert moment("1767614400") == NOON


def test_ids_sort_by_length_and_then_by_letters() -> None:
    assert newest_key(["99", "100", "9"]) == "100"
    assert oldest_key(["99", "100", "9"]) == "9"
    assert newest_key([]) is None


def test_the_id_below_is_one_less_and_never_negative() -> None:
    assert key_before("266367358078169089") == "266367358078169088"
    assert key_before("0") == "0"
    assert key_before("9hQabc") == "9hQabc"


def test_html_becomes_text_that_keeps_lines_links_mentions_and_hashtags() -> None:
    markup = (
        '<p>Hi <span class="h-card"><a href="https://m.example/@bob" class="u-url mention">@<span>bob</span></a></span> &amp; all'
        '</p><p>see <a href="https://e.example/a?b=1&amp;c=2" rel="nofollow"><span class="invisible">https://</span>'
        '<span class="ellipsis">e.example/a</span></a><br />'
        'now <a href="https://m.example/tags/x" class="mention hashtag" rel="tag">#<span>x</span></a></p>'
    )
    said = text_and_links(markup)
    assert said.text == "Hi @bob & all\n\nsee https://e.example/a\nnow #x"
    assert (said.links, said.tags) == (("https://e.example/a?b=1&c=2",), ("x",))


def test_broken_markup_is_read_in_linear_time() -> None:
    assert plain("<" * 200_000) == "<" * 200_000
    assert plain("<p" * 100_000).startswith("<p")


def test_links_that_are_not_web_addresses_are_left_out() -> None:
    assert text_and_links('<a href="javascript:alert(1)">x</a><a href="file:///etc/passwd">y</a>') == Markup("xy")


def test_headers_tell_the_limit_and_nonsense_in_them_is_ignored() -> None:
    said = {"x-ratelimit-limit": "300", "x-ratelimit-remaining": "299", "x-ratelimit-reset": "2026-01-05T12:00:00Z"}
    assert reading(said, "x-ratelimit") == Reading(300, 299, NOON)
    assert reading({"x-ratelimit-limit": "-3", "x-ratelimit-remaining": "many"}, "x-ratelimit") is None
    assert reading({"x-ratelimit-remaining": "7"}, "x-ratelimit") == Reading(None, 7, None)


def test_retry_after_is_read_as_seconds_or_as_a_date_of_the_servers_clock() -> None:
    assert retry_after(answer(retry_after="30")) == timedelta(seconds=30)
    later = answer(retry_after="Mon, 05 Jan 2026 13:01:00 GMT", date="Mon, 05 Jan 2026 13:00:00 GMT")
    assert retry_after(later) == timedelta(minutes=1)
    assert retry_after(answer(retry_after="Mon, 05 Jan 2026 11:00:00 GMT")) == timedelta(0)
    assert retry_after(answer(retry_after="later")) is None
    assert retry_after(answer()) is None


def test_only_the_position_of_a_link_is_taken_never_its_address() -> None:
    link = '<https://elsewhere.example/api?limit=80&max_id=7163058>; rel="next", <https://h.example/x?since_id=9>; rel="prev"'
    assert next_position({"link": link}, "max_id") == "7163058"
    assert next_position({"link": '<https://h.example/x?since_id=9>; rel="prev"'}, "max_id") is None
    for unusable in (
        f'<https://h/x?max_id={"9" * 500}>; rel="next"',
        f'<https://h/x?max_id={"9" * 100_000}>; rel="next"',
        '<http://[broken?max_id=1>; rel="next"',
    ):
        # Said, for it must not pass for the end of the list.
        with pytest.raises(ValueError):
            next_position({"link": unusable}, "max_id")


def test_a_lone_surrogate_in_one_item_leaves_the_others_readable() -> None:
    items = listed(b'[{"id":"1"},{"id":"\\ud800"},{"id":"3"}]')
    assert [identified(item, "id") for item in items] == ["1", None, "3"]


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1,", b'{"a":1}', b"null", b"[" * 100_000, b'[{"a":"\xff"'])
def test_a_body_that_is_no_list_raises_only_what_readers_catch(body: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        listed(body)


def test_nul_characters_are_dropped_and_escaped_backslashes_kept() -> None:
    assert Reader(str).read(b'"a\\u0000b"') == "ab"
    assert Reader(str).read(b'"a\\\\u0000b"') == "a\\u0000b"


@pytest.mark.parametrize("odd", [b'"12"', b'"a\\u0000b"', b'"\\ud800"', b"[" * 100_000])
def test_items_are_read_at_once_unless_one_needs_a_closer_look(odd: bytes) -> None:
    assert Reader(int).read_all([b"1", b"2"]) == [1, 2]
    assert Reader(int).read_all([b"1", odd, b"2"]) is None
    assert Reader(str).read_all([b'"a"', b'"a\\\\u0000b"']) is None
    assert Reader(int).read_all([]) == []
    assert Reader(int).read_all([b"1,2", b"3"]) is None


def test_numbers_in_quotes_are_taken_for_numbers() -> None:
    assert Reader(int).read(b'"12"') == 12


def test_counters_that_no_database_holds_are_unknown() -> None:
    assert [count(number) for number in (0, 5, -1, 2**63, None)] == [0, 5, None, None, None]


def test_a_target_can_never_lead_to_another_path() -> None:
    assert path_segment("../../x?y#z") == "..%2F..%2Fx%3Fy%23z"
    assert path_segment("..") == "%2E%2E"


def test_the_services_words_are_kept_short_and_on_one_line() -> None:
    assert shortened("a\n b\x00c" + "x" * 500) == ("a b c" + "x" * 500)[:200]
