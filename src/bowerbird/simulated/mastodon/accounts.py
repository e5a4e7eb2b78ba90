"""Accounts: profiles, followers, following, their statuses."""

from __future__ import annotations

from itertools import islice

import numpy as np

from bowerbird.simulated.mastodon.call import Call, refuse
from bowerbird.simulated.mastodon.ids import FIRST_FOLLOW
from bowerbird.simulated.mastodon.payloads import Payloads
from bowerbird.simulated.mastodon.reasons import NOT_FOUND, UNKNOWN_NAME
from bowerbird.simulated.wire import Reply, raw_list, reply
from bowerbird.simulated.world import Availability
from bowerbird.simulated.world.people.population import Array
from bowerbird.simulated.world.posts.rows import REPLY, REPOST, Row
from bowerbird.simulated.world.posts.tags import NO_TAG, tag_name, tag_number
from bowerbird.simulated.world.world import FAR, Wanted

_BATCH = 40
_ACCOUNT_BITS = 18


class Accounts:
    """Handlers of `/api/v1/accounts…`."""

    def __init__(self, payloads: Payloads) -> None:
        self._write = payloads
        self._world = payloads.world
        self._flavour = payloads.vantage.flavour

    def batch(self, call: Call) -> Reply:
        wanted = call.params.all("id[]") or call.params.all("id")
        if len(wanted) > _BATCH:
            raise refuse(422, "Mastodon::ValidationError")
        found = dict.fromkeys(number for number in map(self._write.ids.account_number, wanted) if number is not None)
        return raw_list(self._write.account(each, call.now) for each in found if self._world.exists(each, call.now))

    def one(self, call: Call, key: str) -> Reply:
        return _single(self._write.account(self.find(call, key), call.now))

    def lookup(self, call: Call) -> Reply:
        name, _, domain = call.params.get("acct").lstrip("@").partition("@")
        account, vantage = self._world.profiles.account_of(name, 0), self._write.vantage
        if account is None or not self._world.exists(account, call.now) or (domain or vantage.domain) != vantage.home(account):
            raise refuse(404, NOT_FOUND, UNKNOWN_NAME)
        if not vantage.knows(account, call.now) or self._is_hidden(account, call):
            raise refuse(404, NOT_FOUND, UNKNOWN_NAME)
        return _single(self._write.account(account, call.now))

    def followers(self, call: Call, key: str) -> Reply:
        account = self.find(call, key)
        return self._listing(call, account, *self._world.graph.followers(account, call.now))

    def following(self, call: Call, key: str) -> Reply:
        account = self.find(call, key)
        return self._listing(call, account, *self._world.graph.following(account, call.now))

    def statuses(self, call: Call, key: str) -> Reply:
        account, limit = self.find(call, key), call.limit(20)
        if not self._world.is_open(account, call.now) or call.params.flag("pinned"):
            return raw_list(())
        is_shown, is_filtered = self.wanted(call), self._flavour.filters_after_paging
        rows = self._page(call, account, limit, (lambda row: self._held(row, call)) if is_filtered else is_shown)
        # Who filters a page after it was cut knows no better than that there may be more.
        has_next = bool(rows) and (is_filtered or len(rows) == limit)
        last = self._write.ids.post(rows[-1].number) if has_next else None
        first = self._write.ids.post(rows[0].number) if rows else None
        shown = [row for row in rows if is_shown(row)]
        return raw_list(self._write.statuses(shown, call.now), call.links(first, last, prev="min_id"))

    def featured_tags(self, call: Call, key: str) -> Reply:
        account = self.find(call, key)
        rows = self._world.timeline(account, call.now, wanted=lambda row: self._held(row, call))
        used = [row.tag for row in islice(rows, 60) if row.tag != NO_TAG]
        counts = sorted(((used.count(tag), tag) for tag in set(used)), reverse=True)[:5]
        base = f"{self._write.base}/@{self._write.name(account)}/tagged"
        return reply(
            [
                {
                    "id": str(tag),
                    "name": tag_name(tag),
                    "url": f"{base}/{tag_name(tag)}",
                    "statuses_count": str(count),
                    "last_status_at": None,
                }
                for count, tag in counts
            ]
        )

    def find(self, call: Call, key: str) -> int:
        account = self._write.ids.account_number(key)
        if account is None or not self._world.exists(account, call.now) or self._is_hidden(account, call):
            raise refuse(404, NOT_FOUND)
        return account

    def _is_hidden(self, account: int, call: Call) -> bool:
        return self._flavour.hides_suspended and self._world.availability(account, call.now) is Availability.SUSPENDED

    def _held(self, row: Row, call: Call) -> bool:
        return self._write.vantage.holds(row, call.now) and (row.kind != REPOST or self._flavour.lists_boosts)

    def wanted(self, call: Call) -> Wanted:
        """Which posts a visitor gets to see under the filters of the request."""
        params, world, write = call.params, self._world, self._write
        no_replies, no_reblogs = params.flag("exclude_replies"), params.flag("exclude_reblogs")
        only_media, tag = params.flag("only_media"), tag_number(params.get("tagged")) if params.has("tagged") else None

        def is_wanted(row: Row) -> bool:
            if not self._held(row, call):
                return False
            if row.kind == REPOST:
                return not (no_reblogs or only_media or tag is not None) and write.is_passed_on(row, call.now)
            if (no_replies and row.kind == REPLY) or (tag is not None and not row.is_about(tag)):
                return False
            return world.contents.visibility(row.number) != "private" and not (only_media and not world.contents.of(row).pictures)

        return is_wanted

    def _page(self, call: Call, account: int, limit: int, wanted: Wanted) -> list[Row]:
        ids, params = self._write.ids, call.params
        if params.get("min_id"):
            return self._world.oldest_above(account, call.now, ids.number(params.get("min_id")) or 0, limit, wanted)
        below = ids.number(params.get("max_id"))
        above = 0 if self._flavour.ignores_since else ids.number(params.get("since_id")) or 0
        rows = self._world.timeline(account, call.now, below=FAR if below is None else below, above=above, wanted=wanted)
        return list(islice(rows, limit))

    def _listing(self, call: Call, account: int, others: Array, ranks: Array) -> Reply:
        limit = call.limit(40)
        is_shown = self._world.availability(account, call.now) is not Availability.SUSPENDED
        if not is_shown or self._world.people.hides_network[account]:
            return raw_list(())
        people = self._world.people
        is_away = (people.suspended[others] <= call.now) & (call.now < people.returned[others])
        kept = np.flatnonzero(~is_away & self._write.vantage.known_follows(account, others))
        if self._flavour.lists_by_account:
            return self._by_account(call, others[kept], limit)
        follows, ids = ranks[kept].astype(np.int64) + FIRST_FOLLOW, self._write.ids
        places = call.page(follows, limit, ids.place)
        first = ids.row(int(follows[places[0]])) if len(places) else None
        last = ids.row(int(follows[places[-1]])) if len(places) and len(places) == limit else None
        return self._people(call, [int(others[kept[place]]) for place in places], call.links(first, last))

    def _by_account(self, call: Call, others: Array, limit: int) -> Reply:
        """A list in the order of account ids, with a next page as long as there is anything on this one."""
        created, ids = self._world.people.created, self._write.ids
        order = others[np.lexsort((others, created[others]))]
        keys = (created[order].astype(np.int64) << _ACCOUNT_BITS) | order

        def read(text: str) -> int | None:
            account = ids.account_number(text)
            return None if account is None else (int(created[account]) << _ACCOUNT_BITS) | account

        chosen = [int(order[place]) for place in call.page(keys, limit, read)]
        ends = (ids.account(chosen[0]), ids.account(chosen[-1])) if chosen else (None, None)
        return self._people(call, chosen, call.links(*ends, prev="min_id"))

    def _people(self, call: Call, accounts: list[int], links: dict[str, str]) -> Reply:
        return raw_list([self._write.account(each, call.now, is_embedded=True) for each in accounts], links)


def _single(body: bytes) -> Reply:
    return Reply(200, body, {"content-type": "application/json; charset=utf-8"})
