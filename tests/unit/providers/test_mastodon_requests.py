"""Asks as Mastodon requests: paths, page sizes, and positions only where they are needed."""

import pytest
from provider_payloads import mastodon

from bowerbird.errors import CredentialError, UserError
from bowerbird.model import Ask, Progress, Secret
from failures import raises_code


def built(facet: str, *targets: str, hints: dict[str, str] | None = None, **progress: str) -> tuple[str, list[tuple[str, str]]]:
    request = mastodon.request(Ask(facet, targets, Progress(**progress), hints or {}))
    return request.path, list(request.query)


def test_profiles_are_asked_in_one_call() -> None:
    assert built("profiles", "1", "2") == ("/api/v1/accounts", [("id[]", "1"), ("id[]", "2")])


def test_a_profile_is_asked_by_id_or_by_handle() -> None:
    assert built("profile", "1") == ("/api/v1/accounts/1", [])
    assert built("profile", "@alice@s.example") == ("/api/v1/accounts/lookup", [("acct", "alice@s.example")])


def test_a_first_visit_to_a_timeline_carries_no_position() -> None:
    assert built("timeline", "1") == ("/api/v1/accounts/1/statuses", [("limit", "40")])


def test_the_first_page_of_a_revisit_saves_the_paging_throttle() -> None:
    ask = Ask("timeline", ("1",), Progress(newest="50"))
    assert ("since_id", "50") not in mastodon.request(ask).query
    assert not mastodon.is_paged(ask)


def test_later_pages_of_a_revisit_stay_between_cursor_and_newest() -> None:
    ask = Ask("timeline", ("1",), Progress(cursor="90", newest="50"))
    assert mastodon.request(ask).query == (("limit", "40"), ("max_id", "90"), ("since_id", "50"))
    assert mastodon.is_paged(ask)


@pytest.mark.parametrize("facet", sorted(mastodon.facets))
@pytest.mark.parametrize("progress", [Progress(), Progress(newest="5"), Progress(cursor="9"), Progress(cursor="9", newest="5")])
def test_is_paged_tells_the_truth_about_the_request(facet: str, progress: Progress) -> None:
    ask = Ask(facet, ("all",), progress)
    names = {name for name, _ in mastodon.request(ask).query}
    assert mastodon.is_paged(ask) is bool(names & {"page", "min_id", "max_id", "since_id"})


def test_hints_narrow_the_page_and_unknown_ones_are_left_out() -> None:
    hints = {"limit": "10", "any": "cats, dogs", "password": "x"}
    assert built("hashtag", "birds", hints=hints) == (
        "/api/v1/timelines/tag/birds",
        [("limit", "10"), ("any[]", "cats"), ("any[]", "dogs")],
    )
    assert built("timeline", "1", hints={"limit": "4000"})[1] == [("limit", "40")]


def test_search_goes_on_by_offset() -> None:
    path, query = built("search", "two words", cursor="40", newest="7")
    assert path == "/api/v2/search"
    assert query == [("q", "two words"), ("type", "statuses"), ("limit", "40"), ("min_id", "7"), ("offset", "40")]


def test_a_hashtag_is_one_part_of_the_path_whatever_it_contains() -> None:
    assert built("hashtag", "a/../b?c")[0] == "/api/v1/timelines/tag/a%2F..%2Fb%3Fc"


def test_the_token_travels_as_a_bearer() -> None:
    request = mastodon.request(Ask("profile", ("1",)))
    signed = mastodon.sign(request, Secret(name="me", values={"access_token": "abc"}))
    assert signed.headers["authorization"] == "Bearer abc"
    with raises_code(CredentialError, "invalid_credential") as caught:
        mastodon.sign(request, Secret(name="me"))
    assert all(value in caught.value.problem for value in ("me", "access_token"))


@pytest.mark.parametrize(
    ("facet", "text", "target"),
    [
        ("profile", " 109348677773283527 ", "109348677773283527"),
        ("profile", "alice", "@alice"),
        ("profile", "@alice", "@alice"),
        ("profile", "@alice@s.example", "@alice@s.example"),
        ("profile", "https://s.example/@alice", "@alice@s.example"),
        ("profile", "https://s.example/users/alice", "@alice@s.example"),
        ("profile", "9hQpcFUVRvOOMSvGkq", "9hQpcFUVRvOOMSvGkq"),
        ("followers", "12", "12"),
        ("post", "https://s.example/@alice/1234", "1234"),
        ("posts", "https://s.example/users/alice/statuses/1234", "1234"),
        ("thread", "1234", "1234"),
        ("hashtag", "#Birds", "birds"),
        ("hashtag", "local:#Birds, Trees", "local:birds,trees"),
        ("search", " two words ", "two words"),
        ("public", "local", "local"),
        ("public", "all:media", "all:media"),
    ],
)
def test_people_may_write_ids_handles_addresses_and_words(facet: str, text: str, target: str) -> None:
    assert mastodon.target(text, mastodon.facets[facet]) == target


@pytest.mark.parametrize(
    ("facet", "text", "named"),
    [
        ("profile", "not a handle", "handle' @alice@server.example"),
        ("followers", "@alice", "'@alice' `profile`"),
        ("post", "alice", "'alice' https://server.example/@alice/1234"),
        ("hashtag", "two words", "words'"),
        ("hashtag", "birds,,trees", "'birds,,trees'"),
        ("search", "  ", ""),
        ("public", "everything", "'everything' remote:media"),
    ],
)
def test_what_cannot_be_a_target_is_refused_with_advice(facet: str, text: str, named: str) -> None:
    with raises_code(UserError, "invalid") as caught:
        mastodon.target(text, mastodon.facets[facet])
    assert facet in caught.value.problem
    assert all(value in str(caught.value) for value in named.split())
