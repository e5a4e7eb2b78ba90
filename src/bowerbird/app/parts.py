"""The list of what runs in a process besides its calls. What a `Part` is stands in `ports.py`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bowerbird.app.engine import Engine
from bowerbird.app.events import event_parts
from bowerbird.crawl.life.good_enough import sample_part
from bowerbird.crawl.life.rebuilding import Rebuilder
from bowerbird.crawl.process.keeping import Keeping
from bowerbird.crawl.process.workers.claims import WorkerClaims
from bowerbird.crawl.seeding.questions import LaneQuestions
from bowerbird.crawl.streaming.hearing import Hearing
from bowerbird.crawl.streaming.streamer import Streamer
from bowerbird.export.copies_with_backups import copies_of
from bowerbird.modules.parts import Around, module_parts
from bowerbird.modules.running.context import Surroundings
from bowerbird.modules.running.runners import module_runners
from bowerbird.ports import Part
from bowerbird.reports.studies.sample import enough
from bowerbird.starting.enrolling import Enrolled, Opening
from bowerbird.starting.judges import judge_named, knows_place
from bowerbird.store.for_modules import StoredThings
from bowerbird.store.people.keys import StoredKeys
from bowerbird.store.posts.recall import Recall


def parts_of(opening: Opening, who: Enrolled, engine: Engine) -> list[Part]:
    """Everything that the plan asks for; what it does not ask for is no part."""
    keeping = Keeping(opening.database, opening.outside.clock, WorkerClaims(who.me.number), who.tally)
    hearing = Hearing(engine.books, engine.store, engine.targets, engine.signer, who.tally)
    streamers = [Streamer(hearing, stream) for stream in who.gathered.streams]
    return [
        *(each.part() for each in streamers),
        *event_parts(who, streamers, engine, keeping),
        *who.gathered.mute,
        *_jobs(opening, keeping),
        *module_runners(opening.plan.flow, _surroundings(opening, who, engine), lambda: who.tally.calls),
        Rebuilder(engine.books, engine.targets, Recall(opening.database), who.tally).part(who.gathered.queues),
        *_community(opening, who, engine, keeping),
        *_sample(opening, who, engine),
    ]


def _jobs(opening: Opening, keeping: Keeping) -> Sequence[Part]:
    """Scheduled backups, and downloads."""
    around = Around(keeping.database, keeping.clock, keeping.claims)
    return module_parts(opening.plan, around, opening.outside.media, copies_of(opening.plan, keeping.database, keeping.clock))


def _surroundings(opening: Opening, who: Enrolled, engine: Engine) -> Surroundings:
    """What the modules of the crawl work with."""
    plan, database, clock = opening.plan, opening.database, opening.outside.clock
    return Surroundings(
        crawl=who.crawl,
        crawl_name=plan.name,
        database=database,
        clock=clock,
        claims=WorkerClaims(who.me.number),
        worker=who.me.number,
        questions=_questions(opening, engine),
        stored=StoredThings(database),
        judge=partial(judge_named, lambda: engine.judges),
        knows_place=partial(knows_place, plan.community),
        messenger=opening.outside.messenger,
    )


def _community(opening: Opening, who: Enrolled, engine: Engine, keeping: Keeping) -> Sequence[Part]:
    community = opening.plan.community
    if community is None or not community.is_reviewed:
        return ()
    # Loaded for such crawls alone: names of places take a while.
    from bowerbird.community.classifier import CommunityClassifier
    from bowerbird.community.review import ReviewPart

    questions = _questions(opening, engine)
    classifiers = [judge for judge in engine.judges if isinstance(judge, CommunityClassifier)]
    return [ReviewPart(who.crawl, each, questions, keeping).part() for each in classifiers[:1]]


def _questions(opening: Opening, engine: Engine) -> LaneQuestions:
    return LaneQuestions(StoredKeys(opening.database), engine.lanes, engine.targets, opening.outside.clock)


def _sample(opening: Opening, who: Enrolled, engine: Engine) -> Sequence[Part]:
    if opening.plan.flow.stop.half_width is None:
        return ()
    is_enough = partial(enough, opening.database, opening.plan.name)
    return (sample_part(is_enough, who.tally, opening.outside.clock, engine.worker.end),)
