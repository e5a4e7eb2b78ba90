"""Crawl files: five lines are enough, everything can be said, and mistakes name their line."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from bowerbird.app import vocabulary
from bowerbird.errors import FlowError, UserError
from bowerbird.flows.built_in import builtin_flows
from bowerbird.flows.files.crawl_file import parse_crawl, read_crawl_file
from bowerbird.flows.files.example import example
from bowerbird.flows.files.flow_file import parse_flow
from bowerbird.policies import RANKERS
from bowerbird.providers import PROVIDERS, provider
from bowerbird.starting.plan_checks import sorted_seeds
from failures import raises_code

WORDS = vocabulary()
SHORT = """\
flow = "timelines"
seeds = ["@Gargron", "14715", "@Gargron"]
[service]
provider = "mastodon"
base = "https://mastodon.social/"
"""


def test_five_lines_are_a_crawl(tmp_path: Path) -> None:
    plan = parse_crawl(SHORT, tmp_path / "people.toml", WORDS)
    assert (plan.name, plan.store, plan.flow.name) == ("people", str(tmp_path / "people.db"), "timelines")
    assert list(plan.seeds) == ["@Gargron", "14715"]
    service = plan.services[0].service
    assert (service.name, service.provider, service.base) == ("mastodon.social", "mastodon", "https://mastodon.social")
    assert plan.services[0].credentials == ()


FULL = """\
name = "election"
store = "postgresql://me@db/election"
concurrency = 20
contact = "me@university.edu"

[flow]
use = "graph"
[flow.facets.profiles]
ranker = "circular"
revisit = "1d"

[filters]
max_depth = 3

[stop]
users = 500

[seeds]
list = ["1"]
file = "seeds.csv"
column = "id"

[[services]]
name = "old"
provider = "twitter_v1"
base = "http://127.0.0.1:8000"
credentials = ["a", "b"]
[services.limits.timeline]
allowance = 10
window = "15m"
[services.limits.'*'.search]
allowance = 7

[[services]]
provider = "mastodon"
base = "https://example.org"
"""


def test_everything_can_be_said(tmp_path: Path) -> None:
    (tmp_path / "seeds.csv").write_text("\ufeffid,name\n2,b\n 3 ,c\n,d\n1,a\n", "utf-8")
    plan = parse_crawl(FULL, tmp_path / "x.toml", WORDS)
    assert (plan.name, plan.store, plan.concurrency, plan.contact) == (
        *("election", "postgresql://me@db/election"),
        *(20, "me@university.edu"),
    )
    profiles = plan.flow.facet("profiles")
    assert (profiles.ranker, profiles.revisit, profiles.weight) == ("circular", timedelta(days=1), 1.0)
    assert (plan.flow.filters.max_depth, plan.flow.filters.max_users, plan.flow.stop.users) == (3, 100000, 500)
    assert len(plan.flow.edges) == 6
    assert list(plan.seeds) == ["1", "2", "3"]
    old, new = plan.services
    assert old.limits == {"timeline": {"allowance": 10, "window": timedelta(minutes=15)}, "*": {"search": {"allowance": 7}}}
    assert (old.service.name, old.credentials, new.service.name) == ("old", ("a", "b"), "example.org")


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_table_may_have_commas_semicolons_or_tabs(tmp_path: Path, mark: str) -> None:
    (tmp_path / "s.csv").write_text('\ufeffname,id\na,@a\n"b;,",@b\n'.replace(",", mark), "utf-8")
    text = SHORT.replace('seeds = ["@Gargron", "14715", "@Gargron"]', 'seeds.file = "s.csv"\nseeds.column = "id"')
    assert list(parse_crawl(text, tmp_path / "x.toml", WORDS).seeds) == ["@a", "@b"]


def test_a_flow_may_be_declared_in_the_crawl_file_or_beside_it(tmp_path: Path) -> None:
    inline = '[flow]\nseeds = ["posts"]\n[flow.facets.posts]\n'
    rest = SHORT.replace('flow = "timelines"\n', "")
    assert parse_crawl(rest + inline, tmp_path / "mine.toml", WORDS).flow.name == "mine"
    (tmp_path / "own.toml").write_text('name = "own"\nseeds = ["posts"]\n[facets.posts]\n', "utf-8")
    beside = SHORT.replace('"timelines"', '"own.toml"')
    assert parse_crawl(beside, tmp_path / "x.toml", WORDS).flow.name == "own"


def test_seeds_in_a_text_file_may_be_commented(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("# people\n@a\n\n#tag\n  @b  \n@a\n", "utf-8")
    text = SHORT.replace('seeds = ["@Gargron", "14715", "@Gargron"]', 'seeds.file = "s.txt"')
    assert list(parse_crawl(text, tmp_path / "x.toml", WORDS).seeds) == ["@a", "#tag", "@b"]


@pytest.mark.parametrize("seeds", ['file = "s.txt"', 'file = "s.csv"\nseeds.column = "id"'])
def test_a_line_of_seeds_that_is_no_text_is_one_bad_seed(seeds: str, tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_bytes("@a\n@caf\xe9\n@b\n".encode("latin-1"))
    (tmp_path / "s.csv").write_bytes("id,name\n@a,x\n@caf\xe9,y\n@b,\xe9\n".encode("latin-1"))
    text = SHORT.replace('seeds = ["@Gargron", "14715", "@Gargron"]', f"seeds.{seeds}")
    unusable = sorted_seeds(parse_crawl(text, tmp_path / "x.toml", WORDS), {})
    assert (unusable.good, unusable.bad) == (2, 1)
    line = 2 if "txt" in seeds else 3
    assert f":{line}: '@caf\ufffd'" in unusable.first[0]


def test_a_file_of_seeds_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(f"id,name\n1,{'x' * 200_000}\n", "utf-8")
    text = SHORT.replace('seeds = ["@Gargron", "14715", "@Gargron"]', 'seeds.file = "s.csv"\nseeds.column = "id"')
    plan = parse_crawl(text, tmp_path / "x.toml", WORDS)
    with raises_code(UserError, "file_damaged") as caught:
        list(plan.seeds)
    assert str(tmp_path / "s.csv") in caught.value.problem
    (tmp_path / "s.csv").unlink()
    with raises_code(UserError, "file_unreadable") as caught:
        list(plan.seeds)
    assert str(tmp_path / "s.csv") in caught.value.problem


@pytest.mark.parametrize(
    ("old", "new", "line", "code", "named"),
    [
        (
            'flow = "timelines"',
            'flow = "timeline"',
            1,
            "unknown_flow",
            "'timeline' 'timelines' cascades graph",
        ),
        ('flow = "timelines"', 'flow = "other.toml"', 1, "file_not_found", "other.toml'"),
        ('flow = "timelines"', "", None, "missing_value", 'flow "timelines"'),
        ('flow = "timelines"', "flow = 3", 1, "invalid_file", "flow 3"),
        ("seeds = [", "seds = [", 2, "unknown_key", "'seds' 'seeds'"),
        ('["@Gargron", "14715", "@Gargron"]', "[]", 2, "no_seeds", "seeds.file"),
        (
            'seeds = ["@Gargron", "14715", "@Gargron"]',
            'seeds.file = "no.txt"',
            2,
            "file_not_found",
            "no.txt'",
        ),
        (
            'provider = "mastodon"',
            'provider = "mastadon"',
            4,
            "unknown_provider",
            "'mastadon' 'mastodon' bluesky",
        ),
        ('provider = "mastodon"', "", 3, "missing_value", "provider"),
        ('"https://mastodon.social/"', '"mastodon.social"', 5, "invalid_address", "'mastodon.social' https://"),
        ('"https://mastodon.social/"', '"https://me:pw@mastodon.social"', 5, "insecure_address", "base"),
        ('base = "https', 'basis = 1\nbase = "https', 5, "unknown_key", "'basis' 'base' credentials"),
        ("[service]", "[services]", 3, "invalid_file", "services {'provider':"),
        ("[service]", 'store = "mysql://x"\n[service]', 3, "invalid_address", "'mysql://x' postgresql://"),
        ("[service]", "concurrency = 0\n[service]", 3, "invalid_file", "concurrency 0"),
        ("[service]", "in_memory = 0\n[service]", 3, "invalid_file", "in_memory 0"),
        ("[service]", 'name = "a/b"\n[service]', 3, "invalid_file", "name 'a/b'"),
        ("[service]", "stop.cals = 1\n[service]", 3, "unknown_key", "'cals' [stop] 'calls'"),
        ("[service]", 'filters.max_depth = "x"\n[service]', 3, "invalid_file", "max_depth 'x'"),
        (
            "[service]",
            "[service.limits.timelin]\nallowance = 1\n[service]",
            3,
            "unknown_key",
            "'timelin' mastodon 'timeline'",
        ),
    ],
)
def test_a_mistake_names_its_line(tmp_path: Path, old: str, new: str, line: int | None, code: str, named: str) -> None:
    assert old in SHORT
    with raises_code(FlowError, code) as caught:
        parse_crawl(SHORT.replace(old, new, 1), tmp_path / "people.toml", WORDS)
    assert all(value in str(caught.value) for value in named.split())
    assert "me:pw" not in str(caught.value)
    assert (caught.value.line, caught.value.file) == (line, str(tmp_path / "people.toml"))


def test_a_mistake_in_an_override_is_found_in_the_crawl_file(tmp_path: Path) -> None:
    text = SHORT.replace('flow = "timelines"\n', "") + '[flow]\nuse = "timelines"\n[flow.facets.profiles]\nranker = "best"\n'
    with raises_code(FlowError, "unknown_name") as caught:
        parse_crawl(text, tmp_path / "people.toml", WORDS)
    assert caught.value.problem.startswith(f"{tmp_path / 'people.toml'}:8: ")
    assert "'best'" in caught.value.problem


def test_a_flow_must_fit_every_service(tmp_path: Path) -> None:
    text = SHORT.replace('flow = "timelines"\n', "") + '[flow]\nseeds = ["liked"]\n[flow.facets.liked]\n'
    with raises_code(FlowError, "unknown_name") as caught:
        parse_crawl(text, tmp_path / "people.toml", WORDS)
    assert caught.value.problem.startswith(f"{tmp_path / 'people.toml'}:7: ")
    assert "'liked'" in caught.value.problem
    assert "'likes'" in caught.value.problem


@pytest.mark.parametrize(
    ("file", "column", "code", "named"),
    [
        ("s.csv", "", "ambiguous", "column = 'id'"),
        ("s.csv", "idd", "unknown_name", "'idd' 'id' name"),
        ("", "id", "missing_value", "file ="),
    ],
)
def test_a_csv_needs_a_column_that_is_there(tmp_path: Path, file: str, column: str, code: str, named: str) -> None:
    (tmp_path / "s.csv").write_text("id,name\n1,a\n", "utf-8")
    seeds = f'[seeds]\nlist = ["1"]\nfile = "{file}"\ncolumn = "{column}"\n'
    text = SHORT.replace('seeds = ["@Gargron", "14715", "@Gargron"]\n', "") + seeds
    with raises_code(FlowError, code) as caught:
        parse_crawl(text, tmp_path / "x.toml", WORDS)
    assert all(value in str(caught.value) for value in named.split())


def test_two_services_need_two_names(tmp_path: Path) -> None:
    again = '[[services]]\nprovider = "mastodon"\nbase = "https://mastodon.social"\n'
    with raises_code(FlowError, "already_exists") as caught:
        parse_crawl(SHORT + again, tmp_path / "x.toml", WORDS)
    assert "'mastodon.social'" in caught.value.problem


def test_a_missing_file_says_how_to_get_one(tmp_path: Path) -> None:
    with raises_code(FlowError, "file_not_found") as caught:
        read_crawl_file(tmp_path / "no.toml", WORDS)
    assert str(tmp_path / "no.toml") in caught.value.problem
    assert "`bowerbird init`" in caught.value.advice


@pytest.mark.parametrize("network", sorted(PROVIDERS))
@pytest.mark.parametrize("name", sorted(builtin_flows()))
def test_every_example_runs_as_it_is(tmp_path: Path, name: str, network: str) -> None:
    flow = parse_flow(builtin_flows()[name], name, {}, RANKERS)
    if not flow.seeds and network not in WORDS.channels:
        with raises_code(FlowError, "missing_value") as caught:
            parse_crawl(example(flow, network), tmp_path / "crawl.toml", WORDS)
        assert "[[streams]]" in caught.value.advice
        return
    file = tmp_path / "crawl.toml"
    file.write_text(example(flow, network), "utf-8")
    plan = read_crawl_file(file, WORDS)
    assert (plan.flow.name, plan.services[0].service.provider) == (name, network)
    if not flow.seeds:
        assert plan.streams
        return
    seed = next(iter(plan.seeds))
    takers = [use for use in plan.flow.seeds if _takes(network, seed, use)]
    assert takers, f"no facet of {plan.flow.seeds} takes the example's seed {seed!r}"


def _takes(network: str, seed: str, facet: str) -> bool:
    chosen = provider(network)
    try:
        return facet in chosen.facets and bool(chosen.target(seed, chosen.facets[facet]))
    except UserError:
        return False


def test_commented_overrides_of_an_example_are_valid_too(tmp_path: Path) -> None:
    flow = parse_flow(builtin_flows()["timelines"], "timelines", {}, RANKERS)
    text = example(flow, "mastodon").replace('flow = "timelines"\n', "", 1)
    start = text.index("# [flow]")
    uncommented = text[:start] + text[start:].replace("# ", "")
    plan = parse_crawl(uncommented, tmp_path / "x.toml", WORDS)
    assert plan.flow.facet("profiles").revisit == timedelta(minutes=5)


def test_commented_keywords_of_the_event_example_are_valid(tmp_path: Path) -> None:
    flow = parse_flow(builtin_flows()["event"], "event", {}, RANKERS)
    text = example(flow, "mastodon")
    start = text.index("# [keywords]")
    uncommented = text[:start] + re.sub(r"^# (?=\[|\w+ = )", "", text[start:], flags=re.MULTILINE, count=4)
    use = parse_crawl(uncommented, tmp_path / "x.toml", WORDS).flow.keywords
    assert use is not None
    assert use.blacklist == ("#nowplaying",)


def test_seeds_of_a_file_stand_where_an_example_says(tmp_path: Path) -> None:
    flow = parse_flow(builtin_flows()["timelines"], "timelines", {}, RANKERS)
    text = example(flow, "mastodon")
    assert 'seeds.file = "seeds.txt"' in text
    (tmp_path / "seeds.txt").write_text("1\n")
    text = re.sub("^seeds = .*$", 'seeds.file = "seeds.txt"', text, flags=re.MULTILINE).replace("# contact =", "contact =")
    assert parse_crawl(text, tmp_path / "x.toml", WORDS).contact == "you@university.edu"


def test_media_go_to_a_folder_beside_the_file_and_mistakes_are_named(tmp_path: Path) -> None:
    assert parse_crawl(SHORT, tmp_path / "a.toml", WORDS).media is None
    plain = parse_crawl(f"{SHORT}[media]\n", tmp_path / "a.toml", WORDS).media
    assert plain is not None
    assert (plain.folder, plain.kinds, plain.allows_private) == (str(tmp_path / "media"), ("photo", "image"), False)
    text = f'{SHORT}[media]\nfolder = "pictures"\nkinds = ["video"]\nmax_bytes = 1000\nprivate_addresses = true\n'
    full = parse_crawl(text, tmp_path / "a.toml", WORDS).media
    assert full is not None
    assert (full.folder, full.kinds, full.max_bytes, full.allows_private) == (str(tmp_path / "pictures"), ("video",), 1000, True)
    with raises_code(FlowError, "unknown_key") as caught:
        parse_crawl(f'{SHORT}[media]\nkind = "video"\n', tmp_path / "a.toml", WORDS)
    assert "'kind'" in caught.value.problem
    assert "'kinds'" in caught.value.problem
