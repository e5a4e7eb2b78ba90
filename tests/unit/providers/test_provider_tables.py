"""The facet tables as data, and the overrides a crawl may set."""

from datetime import timedelta
from pathlib import Path

import pytest

from bowerbird.errors import UserError
from bowerbird.model import Ask, Limit, Subject
from bowerbird.providers import PROVIDERS, Mastodon, TwitterV1, provider, with_limits
from bowerbird.providers.base import Provider
from bowerbird.providers.limit_overrides import limit_name
from bowerbird.reports.subjects import subject_of
from failures import raises_code

PAGE = Path(__file__).parents[3] / "docs" / "providers.md"


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_fits_the_seam(name: str) -> None:
    made: Provider = provider(name)
    assert made.name == name
    for facet in made.facets.values():
        assert facet.limits
        assert made.request(Ask(facet.name, ("1",))).path.startswith("/")


@pytest.mark.parametrize("name", PROVIDERS)
def test_no_call_takes_twice_from_one_bucket(name: str) -> None:
    made = provider(name)
    for kind in ("user", "app", "none"):
        for facet in made.facets_for(kind).values():
            buckets = [limit.bucket.replace("{facet}", facet.name) for limit in facet.limits]
            assert len(set(buckets)) == len(buckets), (kind, facet.name, buckets)


def test_the_name_of_a_facet_means_the_same_targets_in_every_network() -> None:
    every = [facet for name in PROVIDERS for facet in provider(name).facets.values()]
    assert {(facet.name, subject_of(facet.name)) for facet in every} == {(facet.name, facet.subject) for facet in every}
    assert subject_of("a stream") is Subject.WORD


def test_an_unknown_provider_is_refused_with_the_names_there_are() -> None:
    with raises_code(UserError, "unknown_provider") as caught:
        provider("friendster")
    assert "'friendster'" in caught.value.problem
    assert all(name in str(caught.value) for name in PROVIDERS)


def test_mastodon_counts_by_token_account_and_address() -> None:
    by_kind = {kind: [limit.bucket for limit in table["timeline"].limits] for kind, table in Mastodon().tables.items()}
    assert by_kind == {
        "user": ["{service}/{credential}/token", "{service}/account:{account}/account", "{service}/account:{account}/paging"],
        "app": ["{service}/{credential}/token", "{service}/address", "{service}/address/paging"],
        "none": ["{service}/address", "{service}/address/paging"],
    }


def test_only_the_paging_throttle_counts_only_paged_requests() -> None:
    limits = Mastodon().facets["followers"].limits
    assert [(limit.allowance, limit.window, limit.only_paged) for limit in limits] == [
        (300, timedelta(minutes=5), False),
        (1500, timedelta(minutes=5), False),
        (300, timedelta(minutes=15), True),
    ]


def test_twitter_keeps_separate_numbers_for_users_and_applications() -> None:
    made = TwitterV1()
    assert made.facets_for("user")["timeline"].limits[0].allowance == 900
    assert made.facets_for("app")["timeline"].limits[0].allowance == 1500
    assert made.facets_for("app")["timeline"].limits[1].bucket == "{service}/app:{app}/daily"
    assert "people" not in made.facets_for("app")


def test_a_hashtag_takes_from_the_same_bucket_as_a_search() -> None:
    facets = TwitterV1().facets
    assert facets["hashtag"].limits == facets["search"].limits


def test_overrides_change_the_facets_numbers_for_every_kind_of_credential() -> None:
    made = with_limits(TwitterV1(), {"timeline": {"allowance": 30, "window": 60, "results_per_call": 20}})
    for kind in ("user", "app"):
        facet = made.facets_for(kind)["timeline"]
        assert (facet.limits[0].allowance, facet.limits[0].window, facet.results_per_call) == (30, timedelta(minutes=1), 20)
    assert made.facets["post"].limits[0].allowance == 900
    assert ("count", "20") in made.request(Ask("timeline", ("1",))).query


def test_a_limit_on_all_calls_together_comes_behind_the_services_own() -> None:
    made = with_limits(TwitterV1(), {"together": {"allowance": 75, "window": 900}, "timeline": {"allowance": 30}})
    assert {facet.limits[-1] for facet in made.facets.values()} == {
        Limit(bucket="{service}/together", allowance=75, window=timedelta(minutes=15))
    }
    assert made.facets["timeline"].limits[0].allowance == 30
    with raises_code(UserError, "missing_value") as caught:
        with_limits(TwitterV1(), {"together": {"allowance": 75}})
    assert all(value in str(caught.value) for value in ("together", "allowance", "window"))


def test_only_a_lowered_allowance_remembers_what_the_service_allows() -> None:
    def first(allowance: int) -> Limit:
        return with_limits(TwitterV1(), {"timeline": {"allowance": allowance}}).facets["timeline"].limits[0]

    assert (first(30).published, first(900).published, first(2000).published) == (900, None, None)
    twice = with_limits(with_limits(TwitterV1(), {"timeline": {"allowance": 30}}), {"timeline": {"allowance": 500}})
    assert twice.facets["timeline"].limits[0].published == 900


def test_a_shared_bucket_changes_for_all_facets_that_share_it() -> None:
    made = with_limits(Mastodon(), {"timeline": {"paging": {"allowance": 50}}})
    paging = [limit for limit in made.facets["followers"].limits if limit_name(limit) == "paging"]
    assert [limit.allowance for limit in paging] == [50]


def test_a_star_changes_every_facet() -> None:
    made = with_limits(Mastodon(), {"*": {"token": {"allowance": 7500}, "paging": {"window": timedelta(minutes=5)}}})
    for facet in made.facets.values():
        assert facet.limits[0].allowance == 7500
        assert facet.limits[2].window == timedelta(minutes=5)
    assert made.facets_for("none")["timeline"].limits[0].allowance == 300


@pytest.mark.parametrize(
    ("overrides", "code", "named"),
    [
        ({"timelines": {"allowance": 5}}, "unknown_name", "mastodon 'timelines' profiles"),
        ({"timeline": {"allowence": 5}}, "unknown_key", "timeline 'allowence' allowance"),
        ({"timeline": {"allowance": 0}}, "invalid", "timeline allowance 0"),
        ({"timeline": {"window": -1}}, "invalid", "timeline window -1"),
        ({"timeline": {"paging": {"allowance": True}}}, "invalid", "timeline allowance True"),
        ({"timeline": {"paging": {"speed": 5}}}, "unknown_key", "timeline speed allowance window"),
        ({"timeline": {"pages": {"allowance": 5}}}, "unknown_name", "timeline 'pages' token, account, paging, address"),
        ({"*": {"pages": {"allowance": 5}}}, "unknown_name", "* 'pages' token, account, paging, address"),
    ],
)
def test_wrong_overrides_are_refused_with_advice(overrides: dict[str, dict[str, int]], code: str, named: str) -> None:
    with raises_code(UserError, code) as caught:
        with_limits(Mastodon(), overrides)
    assert all(value in str(caught.value) for value in named.split())


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_facet_is_documented_with_its_numbers(name: str) -> None:
    section = PAGE.read_text(encoding="utf-8").split(f"`{name}`", 1)[1]
    for facet in provider(name).facets.values():
        assert f"| `{facet.name}` | {facet.subject} | {facet.objects_per_call} | {facet.results_per_call} |" in section


@pytest.mark.parametrize("name", [name for name in PROVIDERS if isinstance(provider(name), Provider)])
def test_every_stream_is_documented_with_its_options(name: str) -> None:
    made = provider(name)
    assert isinstance(made, Provider)
    section = PAGE.read_text(encoding="utf-8").split(f": `{name}`\n", 1)[1].split("\n## ", 1)[0]
    names = {word for channel, each in made.channels.items() for word in (channel, *each.options)}
    assert [word for word in sorted(names) if f"`{word}`" not in section] == []
    assert all(each.fills in made.facets for each in made.channels.values() if each.fills)
