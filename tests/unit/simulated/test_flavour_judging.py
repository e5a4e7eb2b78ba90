"""The judge of `bowerbird evaluate flavours` finds what is wrong with a store, and nothing in a whole one."""

from __future__ import annotations

from functools import cache

from msgspec.structs import replace

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.errors import UserError
from bowerbird.evaluate.flavours import all_scenes
from bowerbird.evaluate.flavours.judging import Held, Judge, all_posts
from bowerbird.evaluate.flavours.listing import Listing
from bowerbird.evaluate.flavours.running import setups
from bowerbird.evaluate.flavours.scenes import START, Scene, make_world, order
from bowerbird.evaluate.flavours.watching import WatchedTransport
from bowerbird.flows.built_in import builtin_flows
from bowerbird.model import Request, Service
from bowerbird.simulated.service import FLAVOURS, SimulatedService, simulate
from bowerbird.simulated.serving.transport import InProcessTransport
from bowerbird.simulated.world.posts.rows import POST, Row
from bowerbird.simulated.world.settings import from_ms, to_ms
from failures import raises_code

SCENE = Scene(dialect="mastodon", flavour="gotosocial", flow="timelines", is_small=True)

MS = to_ms(START)


@cache
def service() -> SimulatedService:
    return simulate(setups(SCENE)[0], make_world(SCENE))


@cache
def listing() -> Listing:
    return Listing(setups(SCENE)[0], service(), START)


@cache
def targets() -> tuple[str, ...]:
    return tuple(seed for seed in order(SCENE, service()).seeds if not seed.startswith("@"))


@cache
def whole() -> Held:
    """A store that has everything the server lists of the seeds."""
    posts = frozenset(key for target in targets() for key in listing().of("timeline", target) or ())
    people = frozenset(key for target in targets() for key in listing().of("profile", target) or ())
    finished = tuple((facet, target, START) for target in targets() for facet in ("profile", "timeline"))
    return Held(
        posts=posts, gone=frozenset(), users=people, away=frozenset(), follows=frozenset(), reposters=frozenset(),
        finished=finished, accounted={},
    )  # fmt: skip


def judge(**changes: object) -> Judge:
    return Judge(replace(whole(), **changes), listing(), service(), START)


def one_that_counts() -> str:
    """A post whose author may be collected."""
    return next(lost.rsplit(" ", 1)[1] for lost in judge(posts=frozenset()).lost())


def test_nothing_is_wrong_with_a_whole_store() -> None:
    assert whole().posts
    assert judge().lost() == judge().erased() == judge().broken(targets(), ("profile", "timeline")) == []


def test_a_post_that_is_missing_is_lost_unless_it_is_accounted_for() -> None:
    key = one_that_counts()
    lost = judge(posts=whole().posts - {key}).lost()
    assert len(lost) == 1
    assert lost[0].endswith(key)
    target = lost[0].split()[1].rstrip(":")
    assert judge(posts=whole().posts - {key}, accounted={target: 1}).lost() == []


def test_seeds_are_promised_whatever_is_finished_or_accounted_for() -> None:
    key = one_that_counts()
    empty = judge(posts=whole().posts - {key}, finished=(), accounted=dict.fromkeys(targets(), 99))
    assert empty.lost() == []
    assert len(empty.broken(targets(), ("timeline",))) == 1


def test_a_living_post_taken_for_deleted_is_erased_and_so_is_an_open_account() -> None:
    key = one_that_counts()
    assert judge(gone=frozenset({key})).erased() == [f"post {key}"]
    world, numbers = service().world, {key: service().account(key) for key in whole().users}
    person = next(key for key, number in numbers.items() if world.is_open(number, to_ms(START)))
    assert judge(away=frozenset({person})).erased() == [f"account {person}"]


def test_a_post_that_stands_as_it_was_before_an_edit_that_was_told_is_lost() -> None:
    row = next(
        row
        for row in all_posts(service(), START).values()
        if 0 < service().world.contents.of(row).edited_ms <= MS and is_told(row)
    )
    key, told_before = service().dialect.post_key(row.number), from_ms(row.ms - 1)
    posts = frozenset(all_posts(service(), START))
    assert judge(posts=posts).unheard(told_before) == []
    assert judge(posts=posts, first_versions=frozenset({key})).unheard(told_before) == [f"edit: {key}"]


def is_told(row: Row) -> bool:
    world = service().world
    is_public = row.kind == POST and world.contents.visibility(row.number) == "public" and row.gone_at > MS
    return is_public and row.ms < MS - 7_200_000 and service().truth.is_collectable(row.author, START)


def test_a_secret_that_another_host_sees_is_a_leak() -> None:
    async def main(clock: VirtualClock) -> set[tuple[str, str]]:
        watched = WatchedTransport(InProcessTransport({}, clock), {"secret-of-two": "https://two.example"})
        for base in ("https://one.example", "https://two.example"):
            request = Request(path="/", headers={"authorization": "Bearer secret-of-two"})
            await watched.send(Service(name="any", provider="mastodon", base=base), request)
        return watched.leaks

    assert run_virtual(main, start=START) == {("secret-of-two", "https://one.example")}


def test_the_matrix_has_every_built_in_flow_on_every_flavour() -> None:
    scenes = all_scenes()
    pairs = {(scene.flavour, scene.flow) for scene in scenes}
    assert len(pairs) == len(builtin_flows()) * sum(len(names) for names in FLAVOURS.values()) >= 150
    with raises_code(UserError, "unknown_name") as caught:
        all_scenes(["friendica"])
    assert "'friendica'" in caught.value.problem
    assert "gotosocial" in caught.value.advice
