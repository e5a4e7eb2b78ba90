"""Who is audited: random members of a crawl, each with the time in which their posts count."""

from __future__ import annotations

from datetime import datetime
from random import Random

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.model import Subject
from bowerbird.ports import Database, Row, Transaction
from bowerbird.providers import provider
from bowerbird.store.people.names import has_local_keys, key_in

# Who was asked about, since when, and when last: by lanes that bring posts.
_FOLLOWED = """
select u.user_no, u.id, f.service, f.since, f.until from (
    select coalesce(
        (select k.user_no from user_keys k where k.service = l.service and k.key = t.target),
        (select x.user_no from users x where x.id in (t.target, s.network || ':' || t.target))) as user_no,
        min(s.name) as service, min(t.added_at) as since, max(t.visited_at) as until
    from tasks t join lanes l on l.lane = t.lane join services s on s.service = l.service
    where l.crawl = ? and l.facet {facets} and t.visits > 0 group by 1
) f join users u on u.user_no = f.user_no
where f.until > f.since and coalesce(u.opts_out, 0) = 0 and coalesce(u.is_protected, 0) = 0
"""
# Of those whom streams and searches alone bring: since the first of their posts came, up to the crawl's last word.
_HEARD = """
select u.user_no, u.id, cast(null as text) as service, min(p.found_at) as since, max(w.updated_at) as until
from posts p join users u on u.user_no = p.author join calls c on c.call = p.found_by join crawls w on w.crawl = c.crawl
where w.crawl = ? and coalesce(u.opts_out, 0) = 0 group by u.user_no, u.id having max(w.updated_at) > min(p.found_at)
"""
_JUDGED = (
    "select u.user_no from judgements j join users u on u.id = j.id where j.judge = ? and j.subject = 'user' and j.value = 'yes'"
)
_KEYS = "select k.key from user_keys k join services s on s.service = k.service where s.name = ? and k.user_no = ?"


class Wish(Struct, frozen=True, kw_only=True):
    """What is to be audited."""

    accounts: int = 200
    newest: int = 200
    """Posts of each account that are asked for at most."""
    judge: str = "community"
    """Whose `yes` makes an account a member, where it has spoken."""
    lots: Random
    dollars: float | None = None


class Chosen(Struct, frozen=True):
    """One account of an audit."""

    number: int
    id: str
    service: str
    key: str
    since: datetime
    until: datetime


async def choose(tx: Transaction, database: Database, plan: CrawlPlan, crawl: int, wish: Wish) -> list[Chosen]:
    """Random accounts of the crawl: members where a judge says who that is, or else all that were asked about."""
    facets = {
        name
        for each in plan.services
        for name, facet in provider(each.service.provider).facets.items()
        if facet.subject is Subject.USER and "posts" in facet.yields
    }
    rows = await tx.fetch(_FOLLOWED.format(facets=database.any("text")), crawl, database.members(sorted(facets)))
    rows = rows or await tx.fetch(_HEARD, crawl)
    judged = {row["user_no"] for row in await tx.fetch(_JUDGED, wish.judge)}
    able = [row for row in rows if not judged or row["user_no"] in judged]
    if not able:
        raise UserError(
            f"nobody can be audited: the crawl {plan.name!r} has asked about no account twice, or long enough, so far"
        )
    wish.lots.shuffle(able := sorted(able, key=lambda row: int(row["user_no"])))
    found: list[Chosen] = []
    for row in able:
        if len(found) < wish.accounts and (each := await _account(tx, plan, row)) is not None:
            found.append(each)
    return found


async def _account(tx: Transaction, plan: CrawlPlan, row: Row) -> Chosen | None:
    """Where an account can be asked about, and under which key; None where it cannot."""
    services = {each.service.name: each.service for each in plan.services}
    for name in [row["service"]] if row["service"] in services else services:
        network = provider(services[name].provider).network
        if has_local_keys(network):
            known = await tx.fetch_one(_KEYS, name, row["user_no"])
            key = None if known is None else str(known["key"])
        else:
            key = key_in(network, row["id"])
        if key:
            return Chosen(row["user_no"], row["id"], name, key, from_micros(row["since"]), from_micros(row["until"]))
    return None
