"""Flows in TOML and in Python: the same object, and mistakes that name their line and say what is allowed."""

from __future__ import annotations

import re
from datetime import timedelta

import msgspec
import pytest

from bowerbird.errors import FlowError
from bowerbird.flows.built_in import builtin_flows
from bowerbird.flows.files.flow_check import check, problems
from bowerbird.flows.files.flow_file import parse_flow
from bowerbird.flows.flow import Edge, FacetUse, Filters, Flow, Size, Stop, Vocabulary, wakes
from bowerbird.model import Facet, Subject
from bowerbird.policies import RANKERS
from bowerbird.providers import PROVIDERS, provider
from failures import raises_code


def facet(name: str, subject: Subject, *yields: str) -> Facet:
    return Facet(name=name, subject=subject, yields=frozenset(yields))


FACETS = {
    each.name: each
    for each in (
        facet("profiles", Subject.USER, "users"),
        facet("timeline", Subject.USER, "posts", "users"),
        facet("followers", Subject.USER, "relations"),
        facet("posts", Subject.POST, "posts"),
        facet("hashtag", Subject.WORD, "posts", "users"),
    )
}

TEXT = """\
name = "mine"
about = "What it is for."
seeds = ["profiles"]
weight = 2

[facets.profiles]
ranker = "random"
options = { seed = 7 }
revisit = "1h30m"

[facets.timeline]
weight = 4.5
max_pages = 16
hints = { limit = 40, exclude_replies = true }

[[edges]]
from = "profiles"
to = "timeline"
take = "asked"
when = "news"

[stop]
calls = 100
duration = "7d"

[filters]
languages = ["pt", "en"]
max_depth = 0
"""


def parsed(text: str) -> Flow:
    return parse_flow(text, "mine.toml", FACETS, RANKERS)


IN_PYTHON = Flow(
    name="mine",
    about="What it is for.",
    seeds=("profiles",),
    weight=2.0,
    facets=(
        FacetUse("profiles", ranker="random", options={"seed": 7}, revisit=timedelta(minutes=90)),
        FacetUse("timeline", weight=4.5, max_pages=16, hints={"limit": "40", "exclude_replies": "true"}),
    ),
    edges=(Edge("profiles", "timeline", "asked", "news"),),
    stop=Stop(calls=100, duration=timedelta(days=7)),
    filters=Filters(languages=("pt", "en"), max_depth=0),
)


def test_toml_and_python_make_the_same_object() -> None:
    assert parsed(TEXT) == IN_PYTHON
    assert check(IN_PYTHON, FACETS, RANKERS) is IN_PYTHON


def test_a_flow_survives_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(IN_PYTHON), type=Flow) == IN_PYTHON


@pytest.mark.parametrize(
    ("old", "new", "line", "code", "named"),
    [
        ('name = "mine"', "", None, "missing_value", "name ="),
        ('ranker = "random"', 'rankr = "random"', 7, "unknown_key", "'rankr' 'profiles' 'ranker'"),
        ('ranker = "random"', 'ranker = "randm"', 7, "unknown_name", "'randm' 'random' bfs circular"),
        ('ranker = "random"', "ranker = 3", 7, "invalid_file", "ranker 3"),
        ("seed = 7", "sed = 7", 8, "unknown_name", "'random' 'sed' 'seed'"),
        ('"1h30m"', '"90 minutes"', 9, "invalid_file", "revisit '90 minutes' 15m"),
        ('"1h30m"', "90", 9, "invalid_file", "revisit 90 15m"),
        ("[facets.timeline]", "[facets.timelin]", 11, "unknown_name", "'timelin' 'timeline' followers"),
        ("weight = 4.5", "weight = -1", 12, "invalid_file", "weight -1"),
        ("weight = 4.5", "weight = true", 12, "invalid_file", "weight True"),
        ("max_pages = 16", "max_pages = 0", 13, "invalid_file", "max_pages 0"),
        ("limit = 40", "limit = [40]", 14, "invalid_file", "limit [40]"),
        ('from = "profiles"', 'form = "profiles"', 17, "unknown_key", "'form' 'from'"),
        (
            'to = "timeline"',
            'to = "timelines"',
            18,
            "unknown_name",
            "'to' 'timelines' 'timeline' profiles",
        ),
        ('to = "timeline"', "", 16, "missing_value", "to ="),
        ('take = "asked"', 'take = "askd"', 19, "unknown_name", "'askd' 'asked' authors"),
        (
            'take = "asked"',
            'take = "authors"',
            19,
            "unsupported",
            "'authors' posts 'profiles' asked, missing, reposters, users",
        ),
        ('when = "news"', 'when = "nws"', 20, "invalid_file", "'nws' 'news'"),
        ('when = "news"', 'when = "likes > 3"', 20, "unsupported", "likes 'profiles'"),
        ('when = "news"', 'wakes = "yes"', 20, "invalid_file", "wakes 'yes'"),
        ("calls = 100", "calls = 1.5", 23, "invalid_file", "calls 1.5"),
        ("calls = 100", "cals = 100", 23, "unknown_key", "'cals' [stop] 'calls'"),
        ('["pt", "en"]', '["pt", 3]', 27, "invalid_file", "languages 3"),
        ('["pt", "en"]', "3", 27, "invalid_file", "languages 3"),
        (
            'seeds = ["profiles"]',
            'seeds = ["profile"]',
            3,
            "unknown_name",
            "'profile' 'profiles' timeline",
        ),
        ('seeds = ["profiles"]', "", None, "no_seeds", 'seeds = ["profiles"]'),
        (
            'seeds = ["profiles"]',
            'seeds = ["timeline"]',
            6,
            "no_seeds",
            "'profiles' timeline",
        ),
    ],
)
def test_a_mistake_names_its_line_and_says_what_is_allowed(old: str, new: str, line: int | None, code: str, named: str) -> None:
    assert old in TEXT
    with raises_code(FlowError, code) as caught:
        parsed(TEXT.replace(old, new, 1))
    assert all(value in str(caught.value) for value in named.split())
    assert caught.value.line == line
    assert str(caught.value).startswith(f"mine.toml:{line}: " if line else "mine.toml: ")


def test_targets_must_be_what_the_facet_asks_about() -> None:
    edges = "\n[facets.posts]\n[[edges]]\nfrom = 'timeline'\nto = 'posts'\ntake = 'mentions'\n"
    with raises_code(FlowError, "conflicting_options") as caught:
        parsed(TEXT + edges)
    assert all(value in caught.value.problem for value in ("'mentions'", "user", "'posts'"))


def test_seeds_are_of_one_kind() -> None:
    flow = Flow("x", (FacetUse("profiles"), FacetUse("hashtag")), seeds=("profiles", "hashtag"))
    with raises_code(FlowError, "conflicting_options") as caught:
        check(flow, FACETS, RANKERS)
    assert all(value in caught.value.problem for value in ("seeds", "user", "word"))


def test_an_edge_that_would_wake_its_own_loop_for_ever_is_refused() -> None:
    loop = (Edge("profiles", "timeline", "asked", wakes=True), Edge("timeline", "profiles", "authors"))
    flow = Flow("x", (FacetUse("profiles"), FacetUse("timeline")), loop, ("profiles",))
    found = list(problems(flow, FACETS, RANKERS))
    assert [problem.path for problem in found] == [("edges", 0, "wakes")]
    assert {"news", "new", "new_post", "changed"} <= set(re.findall(r"\w+", found[0].advice))


def test_python_flows_are_checked_with_the_path_of_the_mistake() -> None:
    with raises_code(FlowError, "unknown_name") as caught:
        check(Flow("x", (FacetUse("profiles", ranker="best"),), seeds=("profiles",)), FACETS, RANKERS)
    assert caught.value.problem.startswith("flow 'x': facets.profiles.ranker: ")
    assert "'best'" in caught.value.problem
    with raises_code(FlowError, "missing_value") as caught:
        check(Flow("x", ()), FACETS, RANKERS)
    assert caught.value.problem.startswith("flow 'x': facets: ")
    with raises_code(FlowError, "already_exists") as caught:
        check(Flow("x", (FacetUse("profiles"), FacetUse("profiles")), seeds=("profiles",)), FACETS, RANKERS)
    assert caught.value.problem.startswith("flow 'x': facets.profiles: ")
    with raises_code(FlowError, "invalid_file") as caught:
        check(Flow("x", (FacetUse("profiles"),), seeds=("profiles",), stop=Stop(calls=0)), FACETS, RANKERS)
    assert caught.value.problem.startswith("flow 'x': stop.calls: ")


def test_edges_wake_when_they_are_about_change_or_told_to() -> None:
    assert wakes(Edge("a", "b", "users", "news and depth < 2"))
    assert not wakes(Edge("a", "b", "users", "depth < 2"))
    assert not wakes(Edge("a", "b", "users"))
    assert wakes(Edge("a", "b", "users", wakes=True))


@pytest.mark.parametrize(
    ("stop", "named"),
    [
        (Stop(), None),
        (Stop(calls=11, posts=31), None),
        (Stop(calls=10), "10 calls"),
        (Stop(users=20, posts=1000), "20 users"),
        (Stop(duration=timedelta(hours=1)), "1 h 00 min"),
        (Stop(duration=timedelta(seconds=24.100268)), "24 s"),
    ],
)
def test_the_first_stop_condition_reached_ends_the_crawl(stop: Stop, named: str | None) -> None:
    reason = stop.reached(Size(calls=10, users=20, posts=30, elapsed=timedelta(hours=1)))
    assert named in reason if named and reason else reason is named


def seconds_in(reason: str | None) -> list[str]:
    return re.findall(r"\d+ s\b", reason or "")


def test_a_run_that_its_time_ends_says_its_own_and_that_with_earlier_runs() -> None:
    size = Size(elapsed=timedelta(seconds=17), earlier=timedelta(seconds=7))
    assert seconds_in(Stop(duration=timedelta(seconds=17)).reached(size)) == ["10 s", "17 s"]
    hardly = Size(elapsed=timedelta(seconds=17), earlier=timedelta(seconds=0.1))
    assert seconds_in(Stop(duration=timedelta(seconds=17)).reached(hardly)) == ["17 s"], "the difference would not be seen"


def test_a_run_whose_time_was_over_before_it_began_does_not_say_that_it_ran() -> None:
    size = Size(elapsed=timedelta(seconds=17.2), earlier=timedelta(seconds=17.1))
    reason = Stop(duration=timedelta(seconds=17)).reached(size)
    assert seconds_in(reason) == ["17 s"]
    assert reason != Stop(duration=timedelta(seconds=17)).reached(Size(elapsed=timedelta(seconds=17.2)))


@pytest.mark.parametrize("network", sorted(PROVIDERS))
@pytest.mark.parametrize("name", sorted(builtin_flows()))
def test_every_built_in_flow_runs_on_every_provider(name: str, network: str) -> None:
    flow = parse_flow(builtin_flows()[name], f"{name}.toml", provider(network).facets, RANKERS)
    assert flow.name == name
    assert flow.about


def test_the_built_in_flows_are_there() -> None:
    assert set(builtin_flows()) >= {"timelines", "hydrate", "graph"}


def test_facets_of_all_providers_together_carry_what_any_of_them_carries() -> None:
    other = {"followers": facet("followers", Subject.USER, "users")}
    words = Vocabulary(rankers=RANKERS, providers={"one": FACETS, "two": other})
    assert words.facets()["followers"].yields == {"users", "relations"}
    assert words.facets("one")["followers"].yields == {"relations"}


@pytest.mark.parametrize(
    ("stop", "line", "code", "named"),
    [
        ("half_width = 2", 6, "invalid_file", "half_width 2"),
        ('half_width = 0.1\nestimates = ["degre"]', 7, "unknown_name", "'degre' 'degree'"),
    ],
)
def test_the_stop_rule_of_a_sample_is_checked(stop: str, line: int, code: str, named: str) -> None:
    text = f'name = "s"\nseeds = ["followers"]\n[facets.followers]\nranker = "rwrw"\n[stop]\n{stop}\n'
    with raises_code(FlowError, code) as caught:
        parsed(text)
    assert caught.value.line == line
    assert all(value in str(caught.value) for value in named.split())


def test_only_a_walk_can_be_good_enough() -> None:
    with raises_code(FlowError, "conflicting_options") as caught:
        parsed(TEXT.replace("calls = 100", "half_width = 0.1"))
    assert caught.value.line == 23
    assert "half_width" in caught.value.problem


BOTH = 'calls = 100\nduration = "7d"'


@pytest.mark.parametrize("stop", ["spread = true", "spread = true\ncalls = 100", 'spread = true\nduration = "2d"'])
def test_calls_are_spread_only_where_their_number_and_the_time_are_known(stop: str) -> None:
    with raises_code(FlowError, "missing_value") as caught:
        parsed(TEXT.replace(BOTH, stop))
    assert all(value in caught.value.advice for value in ("calls", "duration", "[stop]"))


def test_calls_are_spread_when_the_file_says_so() -> None:
    assert not parsed(TEXT).stop.spread
    assert parsed(TEXT.replace(BOTH, f"{BOTH}\nspread = true")).stop.spread


@pytest.mark.parametrize("name", sorted(builtin_flows()))
def test_who_a_batch_leaves_out_is_asked_about_alone_wherever_seeds_go_to_batches(name: str) -> None:
    """Otherwise a seed that is not there is told from one that is quiet by nobody."""
    flow = parse_flow(builtin_flows()[name], f"{name}.toml", provider("bluesky").facets, RANKERS)
    asked = {(edge.source, edge.to) for edge in flow.edges if edge.take == "missing"}
    assert ("profiles" in flow.seeds) == (("profiles", "profile") in asked)
