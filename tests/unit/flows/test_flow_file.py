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
    ("old", "new", "line", "message"),
    [
        ('name = "mine"', "", None, "name is missing; write for example"),
        ('ranker = "random"', 'rankr = "random"', 7, "unknown key 'rankr' in the facet 'profiles' (did you mean 'ranker'?)"),
        ('ranker = "random"', 'ranker = "randm"', 7, "unknown ranker 'randm' (did you mean 'random'?); allowed: bfs, circular"),
        ('ranker = "random"', "ranker = 3", 7, "ranker must be a text in quotes, not 3"),
        ("seed = 7", "sed = 7", 8, "the ranker 'random' has no option 'sed' (did you mean 'seed'?); allowed: seed"),
        ('"1h30m"', '"90 minutes"', 9, "revisit: '90 minutes' is not a duration; write a number with a unit"),
        ('"1h30m"', "90", 9, "revisit: 90 is not a duration"),
        ("[facets.timeline]", "[facets.timelin]", 11, "unknown facet 'timelin' (did you mean 'timeline'?); allowed: followers"),
        ("weight = 4.5", "weight = -1", 12, "weight must be above 0, not -1"),
        ("weight = 4.5", "weight = true", 12, "weight must be a whole number, not True"),
        ("max_pages = 16", "max_pages = 0", 13, "max_pages must be 1 or more, not 0"),
        ("limit = 40", "limit = [40]", 14, "limit must be a text, a number, true or false"),
        ('from = "profiles"', 'form = "profiles"', 17, "unknown key 'form' in an edge (did you mean 'from'?)"),
        (
            'to = "timeline"',
            'to = "timelines"',
            18,
            "the edge's 'to' names 'timelines' (did you mean 'timeline'?), which the flow does",
        ),
        ('to = "timeline"', "", 16, "to is missing; write for example"),
        ('take = "asked"', 'take = "askd"', 19, "unknown take 'askd' (did you mean 'asked'?); allowed: asked, authors"),
        (
            'take = "asked"',
            'take = "authors"',
            19,
            "'authors' needs posts, but pages of 'profiles' carry users; possible: asked, missing, reposters, users",
        ),
        ('when = "news"', 'when = "nws"', 20, "uses the unknown word 'nws' (did you mean 'news'?)"),
        ('when = "news"', 'when = "likes > 3"', 20, "likes cannot be known here: pages of 'profiles' carry users and no posts"),
        ('when = "news"', 'wakes = "yes"', 20, "wakes must be true or false, not 'yes'"),
        ("calls = 100", "calls = 1.5", 23, "calls must be a whole number, not 1.5"),
        ("calls = 100", "cals = 100", 23, "unknown key 'cals' in [stop] (did you mean 'calls'?)"),
        ('["pt", "en"]', '["pt", 3]', 27, "languages must hold texts in quotes, not 3"),
        ('["pt", "en"]', "3", 27, "languages must be a list of texts, not 3"),
        (
            'seeds = ["profiles"]',
            'seeds = ["profile"]',
            3,
            "seeds go to 'profile' (did you mean 'profiles'?), which the flow does not use",
        ),
        ('seeds = ["profiles"]', "", None, 'seeds = ["profiles"]'),
        (
            'seeds = ["profiles"]',
            'seeds = ["timeline"]',
            6,
            "nothing leads to 'profiles': no seeds and no edge from timeline go there",
        ),
    ],
)
def test_a_mistake_names_its_line_and_says_what_is_allowed(old: str, new: str, line: int | None, message: str) -> None:
    assert old in TEXT
    with pytest.raises(FlowError) as caught:
        parsed(TEXT.replace(old, new, 1))
    assert message in str(caught.value)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"mine.toml:{line}: " if line else "mine.toml: ")


def test_targets_must_be_what_the_facet_asks_about() -> None:
    edges = "\n[facets.posts]\n[[edges]]\nfrom = 'timeline'\nto = 'posts'\ntake = 'mentions'\n"
    with pytest.raises(FlowError, match="'mentions' gives targets of kind user, but 'posts' asks about a post"):
        parsed(TEXT + edges)


def test_seeds_are_of_one_kind() -> None:
    flow = Flow("x", (FacetUse("profiles"), FacetUse("hashtag")), seeds=("profiles", "hashtag"))
    with pytest.raises(FlowError, match="seeds cannot be user, word at once"):
        check(flow, FACETS, RANKERS)


def test_an_edge_that_would_wake_its_own_loop_for_ever_is_refused() -> None:
    loop = (Edge("profiles", "timeline", "asked", wakes=True), Edge("timeline", "profiles", "authors"))
    flow = Flow("x", (FacetUse("profiles"), FacetUse("timeline")), loop, ("profiles",))
    found = list(problems(flow, FACETS, RANKERS))
    assert [problem.path for problem in found] == [("edges", 0, "wakes")]
    assert {"news", "new", "new_post", "changed"} <= set(re.findall(r"\w+", found[0].advice))


def test_python_flows_are_checked_with_the_path_of_the_mistake() -> None:
    with pytest.raises(FlowError, match=r"flow 'x': facets\.profiles\.ranker: unknown ranker 'best'"):
        check(Flow("x", (FacetUse("profiles", ranker="best"),), seeds=("profiles",)), FACETS, RANKERS)
    with pytest.raises(FlowError, match="the flow uses no facet"):
        check(Flow("x", ()), FACETS, RANKERS)
    with pytest.raises(FlowError, match="used twice"):
        check(Flow("x", (FacetUse("profiles"), FacetUse("profiles")), seeds=("profiles",)), FACETS, RANKERS)
    with pytest.raises(FlowError, match="calls must not be 0"):
        check(Flow("x", (FacetUse("profiles"),), seeds=("profiles",), stop=Stop(calls=0)), FACETS, RANKERS)


def test_edges_wake_when_they_are_about_change_or_told_to() -> None:
    assert wakes(Edge("a", "b", "users", "news and depth < 2"))
    assert not wakes(Edge("a", "b", "users", "depth < 2"))
    assert not wakes(Edge("a", "b", "users"))
    assert wakes(Edge("a", "b", "users", wakes=True))


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        (Stop(), None),
        (Stop(calls=11, posts=31), None),
        (Stop(calls=10), "10 calls reached"),
        (Stop(users=20, posts=1000), "20 users reached"),
        (Stop(duration=timedelta(hours=1)), "ran for 1 h 00 min"),
        (Stop(duration=timedelta(seconds=24.100268)), "ran for 24 s"),
    ],
)
def test_the_first_stop_condition_reached_ends_the_crawl(stop: Stop, reason: str | None) -> None:
    assert stop.reached(Size(calls=10, users=20, posts=30, elapsed=timedelta(hours=1))) == reason


def test_a_run_that_its_time_ends_says_its_own_and_that_with_earlier_runs() -> None:
    size = Size(elapsed=timedelta(seconds=17), earlier=timedelta(seconds=7))
    assert Stop(duration=timedelta(seconds=17)).reached(size) == "ran for 10 s (17 s with earlier runs)"
    hardly = Size(elapsed=timedelta(seconds=17), earlier=timedelta(seconds=0.1))
    assert Stop(duration=timedelta(seconds=17)).reached(hardly) == "ran for 17 s", "the difference would not be seen"


def test_a_run_whose_time_was_over_before_it_began_does_not_say_that_it_ran() -> None:
    size = Size(elapsed=timedelta(seconds=17.2), earlier=timedelta(seconds=17.1))
    reason = "its time is over: earlier runs took the 17 s that it may run"
    assert Stop(duration=timedelta(seconds=17)).reached(size) == reason


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
    ("stop", "message"),
    [
        ("half_width = 2", "half_width is a part of one, such as 0.05, not 2"),
        ('half_width = 0.1\nestimates = ["degre"]', "unknown estimate 'degre' (did you mean 'degree'?)"),
    ],
)
def test_the_stop_rule_of_a_sample_is_checked(stop: str, message: str) -> None:
    text = f'name = "s"\nseeds = ["followers"]\n[facets.followers]\nranker = "rwrw"\n[stop]\n{stop}\n'
    with pytest.raises(FlowError) as caught:
        parsed(text)
    assert message in str(caught.value)


def test_only_a_walk_can_be_good_enough() -> None:
    with pytest.raises(FlowError) as caught:
        parsed(TEXT.replace("calls = 100", "half_width = 0.1"))
    assert "no facet of the flow uses a ranker that walks" in str(caught.value)


BOTH = 'calls = 100\nduration = "7d"'


@pytest.mark.parametrize("stop", ["spread = true", "spread = true\ncalls = 100", 'spread = true\nduration = "2d"'])
def test_calls_are_spread_only_where_their_number_and_the_time_are_known(stop: str) -> None:
    with pytest.raises(FlowError) as caught:
        parsed(TEXT.replace(BOTH, stop))
    assert "write calls and duration under [stop] as well" in str(caught.value)


def test_calls_are_spread_when_the_file_says_so() -> None:
    assert not parsed(TEXT).stop.spread
    assert parsed(TEXT.replace(BOTH, f"{BOTH}\nspread = true")).stop.spread


@pytest.mark.parametrize("name", sorted(builtin_flows()))
def test_who_a_batch_leaves_out_is_asked_about_alone_wherever_seeds_go_to_batches(name: str) -> None:
    """Otherwise a seed that is not there is told from one that is quiet by nobody."""
    flow = parse_flow(builtin_flows()[name], f"{name}.toml", provider("bluesky").facets, RANKERS)
    asked = {(edge.source, edge.to) for edge in flow.edges if edge.take == "missing"}
    assert ("profiles" in flow.seeds) == (("profiles", "profile") in asked)
