"""Saves one page: everything it says, in the transaction it is given."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.flows.consent import USUAL, Consent
from bowerbird.model import Facet, Gone, Outcome, Page, RelationEnd, Saved, Service, Subject, Task, asked_about
from bowerbird.ports import Database, Transaction
from bowerbird.store.absences.authority import homes_of, without_forged
from bowerbird.store.absences.gone import PURGED, GoneStatements, readable_again, save_gone
from bowerbird.store.context import Origin, SaveContext
from bowerbird.store.forgetting.filtering import Filter
from bowerbird.store.forgetting.tombstones import Tombstones
from bowerbird.store.intake.bounds import bounded_page
from bowerbird.store.intake.clean import clean_page
from bowerbird.store.intake.quarantine import set_aside
from bowerbird.store.judgements.withdrawn_places import forget_places
from bowerbird.store.locks import Firmness, Locks
from bowerbird.store.payloads.raw import Packer
from bowerbird.store.people.identities import PagePeople, PeopleStatements, number_people
from bowerbird.store.people.profiles import UserStatements, came_along, note_checked, save_users
from bowerbird.store.people.tags import TagStatements, save_trends, save_user_tags
from bowerbird.store.posts.counts import save_counts
from bowerbird.store.posts.listed import ListedStatements, is_source, note_sightings
from bowerbird.store.posts.posts import PostStatements, save_posts
from bowerbird.store.relations.listed import RelationStatements, save_relations
from bowerbird.store.relations.lists import ListStatements, clean_lists, named_in_lists, save_lists
from bowerbird.store.relations.reactions import ReactionStatements, clean_reactions, reacting, save_reactions
from bowerbird.store.relations.single import end_edges
from bowerbird.store.services import registered_service

DAY = timedelta(days=1)
_UNKNOWN = frozenset({Outcome.NOT_FOUND, Outcome.DEACTIVATED})
"""What a host says of an account that it never held, or that has moved away."""


class _Question(Struct, frozen=True):
    """What was asked to get the page."""

    facet: Facet
    tasks: Sequence[Task]

    @property
    def is_lookup(self) -> bool:
        """It asked for profiles themselves; elsewhere they come along, and those of others may here too."""
        return self.facet.is_lookup

    @property
    def is_about_tags(self) -> bool:
        return "user_tags" in self.facet.yields

    @property
    def users(self) -> list[str]:
        """Keys of the users it was about; a handle is no key."""
        is_about_users = self.facet.subject is Subject.USER
        return [task.target for task in self.tasks if is_about_users and not task.target.startswith("@")]

    @property
    def owners(self) -> dict[str, Firmness]:
        """How firmly those are held whom it was about: their lists are compared with what is stored."""
        is_list = self.facet.side is not None or self.is_about_tags
        return dict.fromkeys(self.users, Firmness.CHANGED if is_list else Firmness.SHOWN)

    def proves(self, gone: Gone) -> bool:
        """Whether this was the way to learn that something is gone: by asking for it, or by its own mark. That an account may
        not be read is believed where its posts are asked for."""
        if gone.is_stated:
            return True
        asked = [task for task in self.tasks if task.target == gone.key and gone.subject is self.facet.subject]
        if self.facet.knows_own_only and gone.reason in _UNKNOWN:
            return any(task.was_shown for task in asked)
        return bool(asked) and (self.facet.is_own_route or (gone.reason not in PURGED and self.facet.lists_own_posts))


class Store:
    """Users, posts and relations with their history, on either database."""

    def __init__(
        self,
        database: Database,
        *,
        keeps_sightings: bool = False,
        heeds_counters: bool = True,
        counters_every: timedelta = DAY,
        consent: Consent = USUAL,
    ) -> None:
        """`keeps_sightings`: whether it is written down which search or stream listed which post; `heeds_counters`: whether
        the crawl does something about it when the counter of a profile has moved since the last look-up; `consent`: which
        signs of not wishing to be collected count."""
        self._consent = consent
        self._has_own_signs = bool(consent.also or consent.override)
        self._keeps_deleted = consent.keeps_deleted
        self._heeds_counters = heeds_counters
        self._counters_every = int(counters_every / timedelta(microseconds=1))
        self._database = database
        self._sightings = ListedStatements(database) if keeps_sightings else None
        self._packer = Packer()
        self._tombstones = Tombstones()
        self._locks = Locks(database, self._tombstones)
        self._origins: dict[str, Origin] = {}
        self._people = PeopleStatements(database)
        self._users = UserStatements(database)
        self._posts = PostStatements(database)
        self._relations = RelationStatements(database)
        self._gone = GoneStatements(database)
        self._words = TagStatements(database)
        self._lists = ListStatements(database)
        self._reactions = ReactionStatements(database)

    def clean(self, page: Page) -> Page:
        if self._has_own_signs:
            page = self._consent.heeded(page)
        page = clean_page(bounded_page(page))
        return clean_reactions(clean_lists(page)) if _brings_more(page) else page

    async def allowed(self, tx: Transaction, page: Page, service: Service) -> Page:
        await self._tombstones.load(tx)
        if not self._tombstones:
            return page
        look = await self._filter(tx, service)
        if learned := look.learned(page):
            await self._tombstones.add(tx, learned)
        return look.page(page)

    async def allowed_targets(self, tx: Transaction, service: Service, targets: Collection[str]) -> frozenset[str]:
        await self._tombstones.load(tx)
        if not self._tombstones:
            return frozenset(targets)
        look = await self._filter(tx, service)
        return frozenset(target for target in targets if not look.is_target(target))

    async def _filter(self, tx: Transaction, service: Service) -> Filter:
        network = (await self._origin(tx, service)).network
        return Filter(self._tombstones, network, service.name)

    async def save(
        self, tx: Transaction, page: Page, *, service: Service, tasks: Sequence[Task], facet: Facet, call: int, now: datetime
    ) -> Saved:
        """Writes what the page says and nothing else; the caller commits."""
        s = await self._sighting(tx, service, call, now, is_live=False)
        if self._tombstones:
            tasks = (await self._filter(tx, service)).tasks(tasks)
        return await self._save_page(s, page, _Question(facet, tasks))

    async def hear(self, tx: Transaction, page: Page, *, service: Service, facet: Facet, call: int, now: datetime) -> Saved:
        """The same for what a stream said: it brings nothing back that was deleted, nor content of an account that is gone."""
        s = await self._sighting(tx, service, call, now, is_live=True)
        return await self._save_page(s, page, _Question(facet, ()))

    async def save_alone(self, tx: Transaction) -> None:
        await self._locks.save_alone(tx)

    async def _save_page(self, s: SaveContext, page: Page, question: _Question) -> Saved:
        await self._packer.prepare(s.tx)
        page = without_forged(s, page)
        saved = await self._save_items(s, page, question)
        if page.broken:
            await set_aside(s, question.facet.name, page.broken)
        await self._packer.learn(s.tx, s.at)
        return saved

    async def _sighting(self, tx: Transaction, service: Service, call: int, now: datetime, *, is_live: bool) -> SaveContext:
        return SaveContext(
            tx=tx,
            database=self._database,
            origin=await self._origin(tx, service),
            call=call,
            at=to_micros(now),
            is_live=is_live,
            counters_every=self._counters_every,
            keeps_deleted=self._keeps_deleted,
        )

    async def _origin(self, tx: Transaction, service: Service) -> Origin:
        name = service.name
        if name not in self._origins:
            number, network, base = await registered_service(tx, name)
            self._origins[name] = Origin(number=number, name=name, network=network, homes=homes_of(network, name, base))
        return self._origins[name]

    async def _save_items(self, s: SaveContext, page: Page, question: _Question) -> Saved:
        gone = _told_gone(page, question)
        # A service may still send the empty shell of a suspended account: that is no profile.
        missing = {g.key for g in gone if g.subject is Subject.USER}
        gone = [g for g in gone if s.is_live or question.proves(g)]
        touched = await self._locks.begin(s, page, gone, question.owners)
        authors = {post.author for post in page.posts}
        people = await number_people(s, self._people, page.users, authors, set(_named(page, gone, question)))
        if touched:
            await self._locks.hold(s, touched, people)
        asked = asked_about(question.tasks, page) if question.is_lookup else {}
        shown = [user if user.key in asked else came_along(user) for user in page.users if user.key not in missing]
        users = await save_users(s, self._users, shown, people, self._packer)
        if question.is_lookup:
            seen = [user for user in users if user.key in asked]
            await note_checked(s, self._users, seen, people, is_heeded=self._heeds_counters)
        posts = await save_posts(s, self._posts, page.posts, people, self._packer) if page.posts else []
        if self._sightings is not None and is_source(question.facet):
            await note_sightings(s, self._sightings, page)
        added, removed = await self._save_relations(s, page, question, people)
        await self._save_absences(s, page, gone, question, people)
        if page.withdrawn_places:
            await forget_places(s, page.withdrawn_places, people)
        tagged = await self._save_words(s, page, question, people)
        reacted = 0
        if _brings_more(page) or "reactions" in question.facet.yields:
            await save_lists(s, self._lists, page, people)
            reacted = await save_reactions(s, self._reactions, page, question.facet, question.tasks, people)
        await save_counts(s)
        return Saved(
            users=tuple(users),
            posts=tuple(posts),
            relations_new=added,
            relations_removed=removed,
            reactions_new=reacted,
            tags_new=tagged,
        )

    async def _save_relations(self, s: SaveContext, page: Page, question: _Question, people: PagePeople) -> tuple[int, int]:
        if page.outcome is not Outcome.OK or not (page.relations or page.ended or question.facet.side):
            return 0, 0
        before, after = _ends(page)
        added, removed = 0, await end_edges(s, self._relations.edges, before) if before else 0
        if page.relations or question.facet.side:
            added, gone = await save_relations(s, self._relations, page, question.facet, question.tasks, people)
            removed += gone
        return added, removed + (await end_edges(s, self._relations.edges, after) if after else 0)

    async def _save_words(self, s: SaveContext, page: Page, question: _Question, people: PagePeople) -> int:
        if page.trends:
            await save_trends(s, page.trends)
        if question.is_about_tags and page.outcome is Outcome.OK:
            return await save_user_tags(s, self._words, page.user_tags, question.users, people)
        return 0

    async def _save_absences(
        self, s: SaveContext, page: Page, gone: Sequence[Gone], question: _Question, people: PagePeople
    ) -> None:
        if gone:
            await save_gone(s, self._gone, gone, people)
        asked = {people.keys.get(key) or people.ids.get(s.origin.id_of(key)) for key in question.users}
        shown = {people.ids[author] for author in {post.author for post in page.posts}} & asked if asked else set()
        # Unless this very page says that some are gone, it is known of most that they were not.
        if perhaps_gone := shown if gone else shown - people.present - people.new:
            await readable_again(s, self._gone, perhaps_gone)


def _told_gone(page: Page, question: _Question) -> list[Gone]:
    """Subjects that are said not to be had; the outcome of a whole call speaks for its targets when the page does not."""
    gone = [g for g in page.gone if not g.key.startswith("@")]
    if page.gone or page.outcome is Outcome.OK or not page.outcome.is_about_target or question.facet.subject is Subject.WORD:
        return gone
    return [Gone(question.facet.subject, task.target, page.outcome) for task in question.tasks if not task.target.startswith("@")]


def _brings_more(page: Page) -> bool:
    """Whether a page has anything besides accounts, posts, relations and tags: most have not, and cost nothing for it."""
    return bool(page.lists or page.members or page.versions or page.volumes or page.reactions)


def _ends(page: Page) -> tuple[list[RelationEnd], list[RelationEnd]]:
    """The ends of relations of other pages, then those that may be of this one: a record is made before it ends."""
    named = {(relation.source, relation.record) for relation in page.relations if relation.record is not None}
    before = [end for end in page.ended if end.record is not None and (end.source, end.record) not in named]
    return before, [end for end in page.ended if end.record is None or (end.source, end.record) in named]


def _named(page: Page, gone: Sequence[Gone], question: _Question) -> Iterator[str]:
    """Keys of everybody the page names without a profile."""
    for post in page.posts:
        yield from post.mentions
    yield from (tag.user for tag in page.user_tags)
    if _brings_more(page):
        yield from named_in_lists(page)
        yield from reacting(page)
    if question.is_about_tags:
        yield from question.users
    for relation in page.relations:
        yield relation.source
        yield relation.target
    yield from (g.key for g in gone if g.subject is Subject.USER)
    yield from (each.user for each in page.withdrawn_places)
    if page.outcome is Outcome.OK and question.facet.side is not None:
        yield from question.users
