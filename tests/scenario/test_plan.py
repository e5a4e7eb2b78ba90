"""Plans: a crawl rehearsed on a scale model says what the whole crawl then takes."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from bowerbird import cli
from bowerbird.app import vocabulary
from bowerbird.cli.screens.plan_page import learned
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.errors import UserError
from bowerbird.evaluate import plans
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.limits.bucket import Bucket
from bowerbird.limits.rate_limits import read_buckets
from bowerbird.model import Credential, origin
from bowerbird.planning.cast import cast
from bowerbird.planning.course import Course
from bowerbird.planning.plan import Inquiry, figures, hours, likely_course, plan_crawl
from bowerbird.planning.probe import Found, check_seeds, fitted, most_dollars, probe
from bowerbird.planning.rehearsal import Scope, rehearse, world_of
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.people.population import populate
from bowerbird.simulated.world.posts.events import planned_event
from failures import json_error, raises_code
from marks import long

SMALL = WorldSettings(accounts=300, history=timedelta(days=2), longest_history=50, following=8.0)
SHORT = Scope(length=timedelta(hours=6), items=400)


def crawl(flow: str, provider: str = "mastodon", more: str = "") -> CrawlPlan:
    text = f'{flow}\nseeds = ["1"]\n[service]\nprovider = "{provider}"\nbase = "https://planned.example"\n{more}'
    return parse_crawl(text, Path("planned.toml"), vocabulary())


def course(plan: CrawlPlan, seeds: int, scope: Scope = SHORT, credentials: tuple[Credential, ...] = ()) -> Course:
    return rehearse(plan, cast(plan, credentials), SMALL, scope, seeds)


@pytest.mark.parametrize("provider", ["mastodon", "bluesky", *long("x", "twitter_v1", "weibo")])
def test_a_plan_of_timelines_can_be_made_for_every_network(provider: str) -> None:
    found = course(crawl('flow = "timelines"', provider), 40, Scope(length=timedelta(hours=1), items=300))
    assert found.count("posts", timedelta(hours=1)) > 0
    assert found.complete(timedelta(hours=1)) > 0.9
    assert (found.samples[-1].dollars > 0) == (provider == "x")


@pytest.mark.parametrize("provider", ["bluesky", *long("mastodon", "x", "weibo")])
def test_plan_of_an_event_predicts_posts_and_searches(provider: str) -> None:
    base = {"bluesky": "https://public.api.bsky.app"}.get(provider, "https://planned.example")
    text = f'flow = "event"\nseeds = ["#flood"]\nstop.duration = "3h"\n[service]\nprovider = "{provider}"\nbase = "{base}"\n'
    found = course(parse_crawl(text, Path("planned.toml"), vocabulary()), 1)
    assert found.factor == 1.0
    assert found.count("posts", timedelta(hours=3)) > 10
    assert found.count("calls", timedelta(hours=3)) > 10
    assert (found.samples[-1].dollars > 0) == (provider == "x")


def test_plan_of_an_event_counts_the_probes_of_every_frame() -> None:
    more = 'base = "https://public.api.bsky.app"\n'
    text = f'flow = "event"\nseeds = ["#flood"]\nstop.duration = "2h"\n[service]\nprovider = "bluesky"\n{more}'
    found = course(parse_crawl(text, Path("planned.toml"), vocabulary()), 1)
    searches = {use.facet: use.calls for use in found.uses}["search"]
    # Twenty in each of 24 frames, but for the first ones, which know few words.
    assert 0.75 * 20 * 24 < searches <= 20 * 24


@pytest.mark.parametrize("provider", ["x", *long("bluesky", "weibo")])
def test_plan_of_an_event_predicts_the_requests_of_another_world(provider: str) -> None:
    length = timedelta(hours=3)

    async def crawl_event(clock: VirtualClock) -> tuple[CrawlPlan, Sequence[Credential], int]:
        empty = Laboratory(Setup(dialect=provider, world=plans.world(1_001)), clock)
        planned = world_of(empty.plan('flow = "event"', ["#any"]), plans.world(1_001))
        laboratory = Laboratory(Setup(dialect=provider, world=planned, tokens=1, app_tokens=1), clock)
        event = planned_event(planned)
        assert event is not None
        plan = laboratory.plan('flow = "event"', [f"#{event.tags[0]}"], 'stop.duration = "3h"')
        async with laboratory.crawl(plan) as crawled:
            await laboratory.run(crawled)
            return plan, laboratory.outside().vault.credentials(), crawled.tally.calls

    plan, credentials, calls = run_virtual(crawl_event, start=plans.world(1).start)
    inquiry = Inquiry(seeds=1, credentials=tuple(credentials), world=plans.world(1), scope=Scope(length=length))
    assert likely_course(plan, inquiry).count("calls", length) == pytest.approx(calls, rel=plans.ALLOWED)


def test_a_plan_ends_when_the_time_of_the_file_is_over_and_not_when_something_comes_due_next() -> None:
    found = course(crawl('flow = "topic"\nstop.duration = "12m"', "x"), 1)
    assert found.end == (timedelta(minutes=12), "it may run for 12 min 00 s")


def test_calls_that_are_spread_are_planned_over_all_of_their_time() -> None:
    found = course(crawl('flow = "timelines"\nstop = {duration = "10d", calls = 400, spread = true}', "twitter_v1"), 20)
    assert found.end == (timedelta(days=10), "it may run for 10 d 0 h")
    assert found.samples[-1].calls / found.factor == pytest.approx(400 * 0.6 / 9.5 / 4, abs=2)


def test_a_model_with_a_quarter_of_the_ids_takes_the_same_time_and_is_multiplied_back() -> None:
    plan = crawl('flow = "hydrate"', more='limits.posts = { allowance = 40, window = "5m" }')
    part, whole = course(plan, 2_000, Scope(items=500)), course(plan, 2_000, Scope(items=2_000))
    assert part.factor == 0.25
    assert whole.factor == 1.0
    assert part.count("calls", timedelta(days=1)) == whole.count("calls", timedelta(days=1)) == 100
    assert hours(part) == pytest.approx(hours(whole), rel=0.1)


def test_limits_of_the_crawl_file_are_played_not_the_usual_ones() -> None:
    usual = course(crawl('flow = "hydrate"'), 2_000)
    tighter = course(crawl('flow = "hydrate"', more='limits.posts = { allowance = 10, window = "5m" }'), 2_000)
    assert hours(usual) < 0.1
    assert hours(tighter) == pytest.approx(100 / 10 * 5 / 60, rel=0.15)
    assert tighter.buckets[0].used > 0.9


def test_a_limit_holds_a_crawl_up_that_needs_less_than_a_window_of_it() -> None:
    plan = crawl('flow = "hydrate"', more='limits.posts = { allowance = 100, window = "1h" }')
    many, few = course(plan, 900), course(plan, 200)
    assert 0.1 < hours(many) < 1
    assert many.buckets[0].used > 0.9
    assert hours(few) < 0.01
    assert few.buckets[0].used < 0.5


def test_limits_on_requests_with_a_position_count_for_those_who_send_them() -> None:
    plan = crawl('flow = "timelines"', more='limits.timeline.paging = { allowance = 1, window = "1h" }')
    uses = {use.facet: use.hours for use in course(plan, 40, Scope(length=timedelta(hours=6), items=300)).uses}
    assert uses["timeline"] == pytest.approx(6)
    assert uses["profiles"] < 0.1


@pytest.mark.long
def test_a_sample_ends_when_it_is_good_enough_within_the_rehearsal_or_after_it() -> None:
    plan = crawl('flow = "sample"', more="[stop]\nhalf_width = 0.2")
    whole = course(plan, 3, Scope(calls=1_000))
    assert whole.end == (whole.length, "the sample is good enough")
    part = course(plan, 3, Scope(calls=100))
    assert not part.is_finished
    assert part.end is not None
    assert part.end[1] == "the sample is good enough"
    assert part.count("calls", timedelta(days=30)) == pytest.approx(whole.samples[-1].calls, rel=0.8)


def test_of_a_sample_so_much_is_rehearsed_that_the_rest_can_be_reckoned() -> None:
    part = course(crawl('flow = "sample"', more="[stop]\nhalf_width = 0.1"), 3, Scope(of_sample=0.6))
    assert part.end is not None
    assert part.end[1] == "the sample is good enough"
    assert 0.5 < part.samples[-1].calls / part.count("calls", timedelta(days=30)) < 0.75


def test_what_goes_on_to_others_is_complete_when_questions_are_answered_not_when_the_seeds_are_read() -> None:
    found = course(crawl('flow = "robots"'), 2, Scope(length=timedelta(hours=1), items=200, calls=60))
    assert not found.is_about_posts
    assert found.complete(timedelta(hours=1)) < 0.5


def test_what_is_looked_at_on_the_hour_belongs_to_it() -> None:
    found = course(crawl('flow = "timelines"'), 40, Scope(length=timedelta(hours=7), items=300))
    assert timedelta(hours=6) in [sample.at for sample in found.samples if sample.complete is not None]


def test_another_credential_halves_the_time_of_a_crawl_that_limits_hold_up() -> None:
    plan = crawl('flow = "hydrate"', more='limits.posts.token = { allowance = 10, window = "5m" }')
    own = Credential(name="mine", provider="mastodon", account="me", servers=(origin(plan.services[0].service.base),))
    made = plan_crawl(plan, Inquiry(seeds=2_000, credentials=(own,), world=SMALL, scope=SHORT))
    more = figures(made)["variants"]["one more credential"]
    assert more["hours"] == pytest.approx(more["hours_before"] / 2, rel=0.15)
    assert made.bottleneck() is not None
    # Without one the server is only asked what it is.
    assert {use.credential for use in made.likely.uses} - {None} == {"mine"}


@pytest.mark.long
def test_another_credential_changes_how_fast_a_sample_is_and_not_how_many_calls_it_takes() -> None:
    limits = 'limits."*".token = { allowance = 20, window = "5m" }\n[stop]\nhalf_width = 0.3'
    plan = crawl('flow = "sample"', more=limits)
    own = Credential(name="mine", provider="mastodon", account="me", servers=(origin(plan.services[0].service.base),))
    made = plan_crawl(plan, Inquiry(seeds=3, credentials=(own,), world=SMALL, scope=Scope(calls=100)))
    more = figures(made)["variants"]["one more credential"]
    assert more["hours"] == pytest.approx(more["hours_before"] / 2, rel=0.15)
    assert more["calls_on_the_first_day"] == pytest.approx(more["calls_on_the_first_day_before"])


def test_the_same_rehearsal_tells_the_same_to_the_last_byte() -> None:
    plan = crawl('flow = "hydrate"')
    # The first store of a process is created by statements, those after it are copies.
    _, one, other = (course(plan, 2_000) for _ in range(3))
    assert one == other


@pytest.mark.long
def test_rehearsals_at_the_same_time_tell_the_same() -> None:
    plan = crawl('flow = "hydrate"')
    inquiry = Inquiry(seeds=300, world=SMALL, scope=SHORT)
    assert figures(plan_crawl(plan, inquiry, jobs=2)) == figures(plan_crawl(plan, inquiry))


def test_the_command_says_it_all_as_json_and_calls_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path))
    file = tmp_path / "crawl.toml"
    file.write_text('flow = "hydrate"\nseeds = ["1", "2"]\n[service]\nprovider = "x"\nbase = "https://nobody.invalid"\n')
    assert cli.run(["plan", str(file), "--seeds", "300", "--no-variants", "--jobs", "2", "--json"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["ends"]
    assert said["seeds"] == 300
    assert said["after"]["day"]["calls"]["likely"] == 3
    assert said["after"]["day"]["dollars"]["likely"] > 0.5
    assert [each["name"] for each in said["credentials"]] == ["assumed"]
    assert not list(tmp_path.glob("*.db"))


def test_a_probe_makes_the_world_as_lively_as_the_accounts_it_saw() -> None:
    lively = WorldSettings(accounts=300, posts_per_day=4.0, following=12.0, history=timedelta(days=9))

    async def main(clock: VirtualClock) -> Found:
        laboratory = Laboratory(Setup(dialect="mastodon", world=lively), clock)
        return await probe(laboratory.plan('flow = "timelines"', laboratory.keys()), laboratory.outside(), 60)

    found: Found = run_virtual(main, start=lively.start)
    # One of the sixty asked the server what it is.
    assert found.calls == 59
    assert found.accounts > 150
    assert found.posts_per_day == pytest.approx(lively.posts_per_day, rel=0.6)
    fit = fitted(SMALL, found)
    people = populate(fit)
    assert float((people.history + people.rate * fit.warm).mean()) == pytest.approx(found.posts, rel=0.2)
    assert fit.following == pytest.approx(found.following)


def test_a_probe_of_handles_sees_timelines_too_and_keeps_to_its_calls() -> None:
    async def main(clock: VirtualClock) -> Found:
        laboratory = Laboratory(Setup(dialect="mastodon", world=SMALL), clock)
        handles = [f"@{laboratory.service.dialect.handle_of(account, clock.now())}" for account in range(4)]
        return await probe(laboratory.plan('flow = "timelines"', handles), laboratory.outside(), 6)

    found: Found = run_virtual(main, start=SMALL.start)
    assert found.calls <= 6
    assert found.posts_per_day is not None


@pytest.mark.parametrize("dialect", ["weibo", "x"])
def test_what_a_probe_spends_is_booked_in_the_store_of_the_crawl(dialect: str, tmp_path: Path) -> None:
    async def main(clock: VirtualClock) -> list[dict[str, Bucket]]:
        laboratory = Laboratory(Setup(dialect=dialect, world=SMALL), clock)
        plan = laboratory.plan('flow = "timelines"', laboratory.keys(3), store=str(tmp_path / "crawl.db"))
        booked = []
        for _ in range(2):
            await probe(plan, laboratory.outside(), 4)
            async with laboratory.crawl(plan) as crawl, crawl.database.reading() as tx:
                booked.append({state.name: state for state in await read_buckets(tx)})
        return booked

    # About midnight it would not be certain which day an answer is billed to.
    once, twice = run_virtual(main, start=SMALL.start + timedelta(hours=1))
    is_money = {bucket: bucket.endswith(("/money", "/posts")) for bucket in once}
    assert any(is_money.values()) == (dialect == "x")
    assert sum(state.spent for state in once.values()) > 0
    assert all(state.spent == state.allowance - state.remaining and not state.in_flight for state in once.values())
    for bucket, state in twice.items():
        # What was paid for a moment ago is free until midnight; calls never are.
        assert state.spent == (1 if is_money[bucket] else 2) * once[bucket].spent


def test_a_probe_says_what_it_learned_and_what_not() -> None:
    found = Found(calls=4, accounts=3, posts=81.2, posts_per_day=0.26, followers=120.0, following=95.4)
    assert re.findall(r"[\d.]*\d", learned(found)) == ["4", "3", "81", "120", "95", "0.26"]
    unknown = learned(Found(calls=1, accounts=3, posts=81, posts_per_day=None, following=None))
    assert re.findall(r"[\d.]*\d", unknown) == ["1", "3", "81", f"{SMALL.posts_per_day:g}"]  # what is usual


def test_probe_of_other_seeds_than_accounts_names_what_it_cannot_learn() -> None:
    problems = set()
    for flow in ("hydrate", "topic"):
        with raises_code(UserError, "unsupported") as caught:
            check_seeds(crawl(f'flow = "{flow}"'))
        assert caught.value.problem.startswith("--probe")
        assert flow in caught.value.problem
        problems.add(caught.value.problem.replace(flow, "FLOW"))
    assert len(problems) == 2  # posts and words, each with what is unknown about them


def test_a_probe_on_x_says_first_what_it_may_cost() -> None:
    timelines = crawl('flow = "timelines"', "x")
    assert most_dollars(timelines, 20) == pytest.approx(0.010 + 100 * 0.005)
    assert most_dollars(crawl('flow = "timelines"'), 20) is None


def test_hashtags_and_words_are_both_rehearsed_where_the_file_has_both() -> None:
    text = 'flow = "topic"\nseeds = ["#flood", "news"]\n[service]\nprovider = "bluesky"\nbase = "https://planned.example"\n'
    plan = parse_crawl(text, Path("planned.toml"), vocabulary())
    found = course(plan, 2, Scope(length=timedelta(minutes=1), items=1_000, calls=20))
    assert {"search", "hashtag"} <= {use.facet for use in found.uses}


def test_a_flow_along_lists_is_rehearsed_with_less_than_a_batch_of_seeds() -> None:
    found = course(crawl('flow = "graph"'), 50, Scope(length=timedelta(hours=6), items=200))
    assert found.factor < 40 / 50
    assert found.is_finished
    assert found.samples[-1].calls <= 1_000


def test_a_probe_asks_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    file = tmp_path / "crawl.toml"
    file.write_text('flow = "timelines"\nseeds = ["1"]\n[service]\nprovider = "mastodon"\nbase = "https://nobody.invalid"\n')
    assert cli.run(["plan", str(file), "--probe", "3"]) == 1
    asked = capsys.readouterr().err
    assert re.search(r"\b3\b.* nobody\.invalid", asked)
    assert not list(tmp_path.glob("*.db"))


def test_a_policy_that_does_not_exist_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text('flow = "hydrate"\nseeds = ["1"]\n[service]\nprovider = "mastodon"\nbase = "https://nobody.invalid"\n')
    assert cli.run(["plan", str(file), "--ranker", "posts=best", "--json"]) == 2
    error = json_error(capsys.readouterr().err)
    assert error.code == "unknown_name"
    assert "posts=best" in error.problem


def test_what_was_planned_happens_in_another_world() -> None:
    found = plans.evaluate_plans(("hydrate", "cascades"), scale=0.1, say=lambda _: None)
    assert found["flows"]["hydrate"]["planned"]["calls"] == found["flows"]["hydrate"]["happened"]["calls"] == 45
    assert found["flows"]["hydrate"]["error"]["items"] < 0.2
    assert found["flows"]["cascades"]["error"]["calls"] < 0.5


@pytest.mark.parametrize(
    ("flow", "provider"), [("hydrate", "bluesky"), ("cascades", "bluesky"), ("topic", "bluesky"), ("topic", "mastodon")]
)
def test_a_plan_without_credentials_is_not_refused_what_the_crawl_would_be_given(flow: str, provider: str) -> None:
    seed = "at://did:plc:ewvi7nxzyoun6zhxrhs64oiz/app.bsky.feed.post/3l3qubsu4jj2q" if flow != "topic" else "birds"
    text = f'flow = "{flow}"\nseeds = ["{seed}"]\n[service]\nprovider = "{provider}"\nbase = "https://planned.example"\n'
    plan = parse_crawl(text, Path("planned.toml"), vocabulary())
    assert course(plan, 5, Scope(length=timedelta(minutes=20), items=100, calls=100)).samples[-1].items > 0


@pytest.mark.parametrize(("provider", "kind"), [("x", "app"), ("twitter_v1", "user")])
def test_the_credential_assumed_for_a_stream_may_open_it(provider: str, kind: str) -> None:
    options = {"x": 'rules = ["birds"]', "twitter_v1": 'track = ["birds"]'}[provider]
    plan = crawl('flow = "listen"', provider, f'[[streams]]\nchannel = "filter"\n{options}')
    assert [each.kind for each in cast(plan, ())] == [kind]
