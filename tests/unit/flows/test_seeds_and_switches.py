"""Seeds by query, addresses of all networks, and the switches of a flow: facets on and off, optional edges, own credentials."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bowerbird.app import vocabulary
from bowerbird.cli import run as run_command
from bowerbird.cli.checks.start import left_out
from bowerbird.crawl.access.credentials import own_credentials
from bowerbird.errors import CredentialError, FlowError
from bowerbird.evaluate.laboratory import TokenVault
from bowerbird.flows.built_in import builtin_flows
from bowerbird.flows.drawing import as_text
from bowerbird.flows.files.crawl_file import CrawlPlan, ServicePlan, parse_crawl
from bowerbird.flows.files.flow_check import reachable
from bowerbird.flows.files.flow_file import parse_flow
from bowerbird.flows.files.sections.seed_list import SeedQuery
from bowerbird.flows.flow import Edge, FacetUse, Flow
from bowerbird.model import Service
from bowerbird.providers import provider
from bowerbird.simulated.tokens import IssuedTokens
from failures import command_error, raises_code

WORDS = vocabulary()
SERVICE = '[service]\nprovider = "{}"\nbase = "https://api.example"\n'


def parsed(text: str, network: str = "mastodon", seeds: tuple[str, ...] = ()) -> CrawlPlan:
    return parse_crawl(text + "\n" + SERVICE.format(network), Path("x.toml"), WORDS, seeds)


def test_a_query_is_a_choice_and_a_condition(tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    old.touch()
    plan = parsed(f'flow = "graph"\nseeds.query = "users where followers > 1000 and not protected"\nseeds.store = "{old}"')
    assert plan.seeds.query == SeedQuery("users", "followers > 1000 and not protected", str(old))
    assert list(plan.seeds) == []
    assert parsed('flow = "hydrate"\nseeds.query = "posts"').seeds.query == SeedQuery("posts")


@pytest.mark.parametrize(
    ("line", "code", "named"),
    [
        ('seeds.query = "user where followers > 1"', "invalid_file", "'users'"),
        ('seeds.query = "users where followers > "', "invalid_file", "'followers"),
        ('seeds.query = "users where likes > 3"', "unknown_name", "likes followers"),
        ('seeds.query = "users where news"', "unknown_name", "news followers"),
        ('seeds.query = "users; drop table users"', "invalid_file", "drop authors, posts, users"),
        ('seeds.query = "posts where likes > 3"', "conflicting_options", "posts 'graph' user"),
        ('seeds.store = "old.db"', "missing_value", "query ="),
        ('seeds = { query = "users", store = "old.db" }', "file_not_found", "'old.db'"),
    ],
)
def test_a_wrong_query_names_its_line_and_says_what_is_known(line: str, code: str, named: str) -> None:
    with raises_code(FlowError, code) as raised:
        parsed(f'flow = "graph"\n{line}')
    assert raised.value.problem.startswith("x.toml:2: ")
    assert all(value in str(raised.value) for value in named.split())


def test_seeds_of_a_file_know_their_lines(tmp_path: Path) -> None:
    lines, table = tmp_path / "ids.txt", tmp_path / "ids.csv"
    lines.write_text("# comment\n7\n\n7\n@ada\n")
    table.write_text('name,id\n"two\nlines",7\nada,@ada\n')
    written = parsed(f'flow = "graph"\nseeds.list = ["1"]\nseeds.file = "{lines}"').seeds
    assert list(written.located()) == [("1", ""), ("7", f"{lines}:2"), ("@ada", f"{lines}:5")]
    column = parsed(f'flow = "graph"\nseeds.file = "{table}"\nseeds.column = "id"').seeds
    assert list(column.located()) == [("7", f"{table}:3"), ("@ada", f"{table}:4")]


def test_seeds_of_the_command_line_come_first_and_are_enough() -> None:
    assert list(parsed('flow = "graph"', seeds=("7", "@ada")).seeds) == ["7", "@ada"]
    assert list(parsed('flow = "graph"\nseeds = ["1", "7"]', seeds=("7",)).seeds) == ["7", "1"]


@pytest.mark.parametrize(
    ("network", "facet", "text", "target"),
    [
        ("mastodon", "posts", "https://mastodon.example/@ada/115?lang=en", "115"),
        ("mastodon", "posts", "https://mastodon.example/deck/@ada@far.example/115", "115"),
        ("mastodon", "profile", "https://mastodon.example/@ada", "@ada@mastodon.example"),
        ("mastodon", "profile", "https://mastodon.example/@ada@far.example", "@ada@far.example"),
        (
            "bluesky",
            "thread",
            "https://bsky.app/profile/ada.example.org/post/3k2a",
            "at://ada.example.org/app.bsky.feed.post/3k2a",
        ),
        ("bluesky", "posts", "https://bsky.app/profile/did:plc:abc/post/3k2a", "at://did:plc:abc/app.bsky.feed.post/3k2a"),
        ("bluesky", "profile", "https://bsky.app/profile/ada.example.org", "@ada.example.org"),
        ("x", "posts", "https://mobile.twitter.com/ada/status/12/photo/1", "12"),
        ("x", "profile", "https://x.com/ada?lang=en", "@ada"),
        ("twitter_v1", "posts", "https://x.com/i/web/status/12", "12"),
        ("weibo", "posts", "https://weibo.com/1404376560/z0JH2lOMb", "3501756485200075"),
        ("weibo", "posts", "https://m.weibo.cn/detail/3501756485200075", "3501756485200075"),
        ("weibo", "following", "https://weibo.com/u/1404376560", "1404376560"),
    ],
)
def test_addresses_of_every_network_are_understood(network: str, facet: str, text: str, target: str) -> None:
    asked = provider(network)
    assert asked.target(text, asked.facets[facet]) == target


def test_a_facet_that_is_off_takes_along_what_only_it_led_to() -> None:
    plan = parsed('flow.use = "robots"\nflow.facets.timeline.on = false\nseeds = ["1"]', "weibo")
    assert [use.name for use in plan.flow.facets] == ["following", "followers", "profile", "tags"]
    with raises_code(FlowError, "missing_value"):
        parsed('flow.use = "listen"\nflow.facets.profiles.on = false\nseeds = ["1"]')


@pytest.mark.parametrize("name", ["timelin", "likes"])
def test_what_the_flow_does_not_have_cannot_be_switched_off(name: str) -> None:
    with raises_code(FlowError, "unknown_name") as raised:
        parsed(f'flow.use = "timelines"\nflow.facets.{name}.on = false\nseeds = ["1"]')
    assert (raised.value.file, raised.value.line) == ("x.toml", 2)
    assert repr(name) in raised.value.problem
    assert "profile, profiles, timeline" in raised.value.advice
    assert ("'timeline'" in raised.value.problem) is (name == "timelin")


def test_a_flow_about_places_needs_some() -> None:
    with raises_code(FlowError, "missing_value") as raised:
        parsed('flow = "places"\nseeds = ["1"]')
    assert (raised.value.file, raised.value.line) == ("x.toml", 1)
    assert "[[places]]" in raised.value.advice


def test_an_optional_edge_is_left_out_where_pages_do_not_carry_what_it_takes() -> None:
    robots = parse_flow(builtin_flows()["robots"], "robots", WORDS.facets(), WORDS.rankers)
    loops = {name: Edge("reposts", "reposts", "posts", "reposts > 0", optional=True) in robots.among(facets).edges
             for name, facets in WORDS.providers.items()}  # fmt: skip
    assert loops == {"bluesky": False, "mastodon": False, "twitter_v1": True, "weibo": True, "x": True}


def test_what_a_network_lacks_is_said_before_the_start() -> None:
    (line, _) = left_out(parsed('flow = "robots"\nseeds = ["1"]', "x"))
    assert {"api.example", "tags"} <= set(re.findall(r"[\w.]*\w", line))
    assert list(left_out(parsed('flow = "hydrate"\nseeds = ["1"]', "weibo"))) == [], "ids are asked for in another way"
    assert list(left_out(parsed('flow = "robots"\nseeds = ["1"]', "weibo"))) == []


def test_a_mistake_in_one_of_several_ends_names_the_line_of_its_table() -> None:
    text = builtin_flows()["robots"].replace('to = ["followers", "profile", "timeline", "tags"]', 'to = ["followers", "profil"]')
    with raises_code(FlowError, "unknown_name") as raised:
        parse_flow(text, "robots.toml", WORDS.facets(), WORDS.rankers)
    line = next(number for number, each in enumerate(text.splitlines(), 1) if '"profil"' in each)
    assert raised.value.problem.startswith(f"robots.toml:{line}: ")
    assert "'profil'" in raised.value.problem
    assert "'profile'" in raised.value.problem


def test_a_facet_is_asked_with_its_own_credentials_or_with_those_of_the_service() -> None:
    tokens = IssuedTokens()
    vault = TokenVault("weibo", [tokens.issue("user", account=f"user{n}") for n in range(3)], base="https://w")
    planned = ServicePlan(service=Service(name="w", provider="weibo", base="https://w"), credentials=("user1", "user2"))

    def asked_with(*named: str) -> list[str]:
        return [each.name for each in own_credentials(FacetUse("tags", credentials=named), planned, [planned], vault)]

    assert asked_with("user3") == ["user3"]
    assert asked_with() == ["user1", "user2"]
    with raises_code(CredentialError, "unknown_credential") as caught:
        asked_with("user9")
    assert "'user9'" in caught.value.problem
    assert "bowerbird credentials add user9 --provider weibo --server https://w" in caught.value.advice


def test_many_edges_are_drawn_in_bundles() -> None:
    names = [f"f{number}" for number in range(5)]
    edges = tuple(Edge(source, to, "users") for source in names[:3] for to in names)
    drawn = as_text(Flow("many", tuple(FacetUse(name) for name in names), edges, ("f0",)))
    assert "1  f0 → f0, f1, f2, f3, f4  users" in drawn
    picture = drawn.split("\n\n")[1]
    assert (picture.count("├─"), picture.count("◀"), picture.count("┐") - len(names)) == (3, 15, 3)


def test_a_flow_can_be_copied_and_is_never_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command(["flow", "copy", "graph", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"flow": "graph", "file": "graph.toml"}
    assert Path("graph.toml").read_text("utf-8") == builtin_flows()["graph"]
    assert run_command(["flow", "check", "graph.toml"]) == 0
    assert "graph.toml" in command_error("flow", "copy", "graph", code="already_exists").problem
    assert "'graph'" in command_error("flow", "copy", "grap", "mine.toml", code="unknown_flow").problem
    assert run_command(["flow", "copy", "graph", "mine.txt"]) == 2


def test_flows_that_come_back_or_ask_for_news_do_something_about_counters() -> None:
    flows = {name: parse_flow(text, name, WORDS.facets(), WORDS.rankers) for name, text in builtin_flows().items()}
    heeding = {name for name, flow in flows.items() if flow.heeds_counters({"profiles", "profile"})}
    assert heeding >= {"timelines", "robots"}
    assert not heeding & {"graph", "hydrate", "sample"}


@pytest.mark.parametrize("name", ["topic", "robots", "places"])
def test_lists_of_every_author_are_left_out_where_each_entry_is_billed_and_the_start_says_so(name: str) -> None:
    flow = parse_flow(builtin_flows()[name], name, WORDS.facets(), WORDS.rankers)
    asked = {network: {use.name for use in flow.among(facets).facets} for network, facets in WORDS.providers.items()}
    assert "followers" in asked["mastodon"]
    assert not {"followers", "following"} & asked["x"]


def test_whoever_switches_a_paid_facet_on_gets_it() -> None:
    text = 'seeds = ["#cats"]\nflow.use = "topic"\nflow.facets.followers.on = true'
    plan = parsed(text, "x")
    assert {use.name for use in plan.flow.among(WORDS.providers["x"]).facets} >= {"followers"}
    (line,) = left_out(plan)
    assert "following" in line
    assert "api.example" in line
    assert "$0.01" in line


def test_without_its_lists_every_robot_is_still_led_to_its_accounts() -> None:
    flow = parsed('flow = "robots"\nseeds = ["1"]', "x").flow.among(WORDS.providers["x"])
    assert flow.seeds == ("profile",)
    assert reachable(flow) == {use.name for use in flow.facets}
