"""Statuses by id: single, batch, thread, edit history, who boosted and who liked."""

from __future__ import annotations

import numpy as np

from bowerbird.simulated.mastodon.call import Call, refuse
from bowerbird.simulated.mastodon.payloads import Payloads, iso
from bowerbird.simulated.mastodon.reasons import NO_POST, NOT_FOUND
from bowerbird.simulated.wire import JSON, Reply, raw_list, reply
from bowerbird.simulated.world.posts.reactions import Reactions
from bowerbird.simulated.world.posts.rows import QUOTE, REPLY, REPOST, Row, author_of

_BATCH = 20
_GUEST_ANCESTORS, _GUEST_DESCENDANTS, _GUEST_DEPTH = 40, 60, 20
_USER_CONTEXT = 4_096


class Statuses:
    """Handlers of `/api/v1/statuses…`."""

    def __init__(self, payloads: Payloads) -> None:
        self._write = payloads
        self._world = payloads.world
        self._reactions = Reactions(payloads.world)

    def batch(self, call: Call) -> Reply:
        wanted = call.params.all("id[]") or call.params.all("id")
        if len(wanted) > _BATCH:
            raise refuse(422, "Mastodon::ValidationError")
        rows = [row for row in (self._visible(call, key) for key in dict.fromkeys(wanted)) if row is not None]
        return raw_list(self._write.statuses(rows, call.now))

    def one(self, call: Call, key: str) -> Reply:
        return Reply(200, self._write.statuses([self._find(call, key)], call.now)[0], {"content-type": JSON})

    def context(self, call: Call, key: str) -> Reply:
        row = self._find(call, key)
        up, down, depth = (_USER_CONTEXT,) * 3 if call.is_user else (_GUEST_ANCESTORS, _GUEST_DESCENDANTS, _GUEST_DEPTH)
        ancestors = self._write.statuses(self._ancestors(call, row, up), call.now)
        descendants = self._write.statuses(self._descendants(call, row, down, depth), call.now)
        body = b'{"ancestors":[%b],"descendants":[%b]}' % (b",".join(ancestors), b",".join(descendants))
        return Reply(200, body, {"content-type": JSON})

    def history(self, call: Call, key: str) -> Reply:
        row = self._find(call, key)
        content = self._world.contents.of(row)
        edits = [(row.ms, False)] + ([(content.edited_ms, True)] if 0 < content.edited_ms <= call.now else [])
        account = {"id": self._write.ids.account(row.author), "acct": self._write.acct(row.author)}
        return reply(
            [
                {
                    "content": self._write.content_html(row, content, is_edited), "spoiler_text": "", "created_at": iso(ms),
                    "sensitive": content.is_sensitive, "account": account, "media_attachments": [], "emojis": [],
                }
                for ms, is_edited in edits
            ]
        )  # fmt: skip

    def reblogged_by(self, call: Call, key: str) -> Reply:
        row = self._find(call, key)
        return self._reacted(call, row, self._reactions.reposters(row.number, call.now))

    def favourited_by(self, call: Call, key: str) -> Reply:
        row = self._find(call, key)
        return self._reacted(call, row, self._reactions.likers(row.number, call.now))

    def quotes(self, call: Call, key: str) -> Reply:
        call.require_user()
        numbers = np.array(self._reactions.posts(self._find(call, key).number, call.now, QUOTE), np.int64)
        limit = call.limit(20)
        places = call.page(numbers >> 22, limit, self._write.ids.place)
        rows = [row for row in (self._open(int(numbers[place]), call.now) for place in places) if row is not None]
        last = self._write.ids.row(int(numbers[places[-1]]) >> 22) if len(places) and len(places) == limit else None
        return raw_list(self._write.statuses(rows, call.now), call.links(None, last))

    def _reacted(self, call: Call, row: Row, pairs: list[tuple[int, int]]) -> Reply:
        """Accounts with the internal id of their reaction, which only the `Link` header shows."""
        limit, vantage = call.limit(40), self._write.vantage
        # What others did to a post from elsewhere is told to its own server, not to this one.
        known = pairs if vantage.is_local(row.author) else [pair for pair in pairs if vantage.is_local(pair[1])]
        shown = [(ms, account) for ms, account in known if self._world.is_open(account, call.now)]
        # Reaction ids rise with time and are unique: milliseconds and a little of the account.
        ids = np.array([ms * 64 + account % 64 for ms, account in shown], np.int64)
        order = np.argsort(ids, kind="stable")
        manner = vantage.flavour.reactions
        places = call.page(
            ids[order], len(ids) if manner == "whole" else limit, self._moment if manner == "first" else self._write.ids.place
        )
        chosen = [(int(ids[order[place]]), shown[order[place]][1]) for place in places]
        people = [self._write.account(account, call.now, is_embedded=True) for _, account in chosen]
        return raw_list(people, self._reaction_links(call, chosen, limit))

    def _reaction_links(self, call: Call, chosen: list[tuple[int, int]], limit: int) -> dict[str, str]:
        ids, manner = self._write.ids, self._write.vantage.flavour.reactions
        if not chosen or manner == "whole":
            return {}
        if manner == "first":
            return call.links(ids.account(chosen[0][1]), ids.account(chosen[-1][1]), prev="min_id")
        return call.links(ids.row(chosen[0][0]), ids.row(chosen[-1][0]) if len(chosen) == limit else None)

    def _moment(self, text: str) -> int | None:
        """Where a list of reactions is taken up by one who gives an account's id: at the time the account was made."""
        account = self._write.ids.account_number(text)
        return None if account is None else int(self._world.people.created[account]) * 64

    def _ancestors(self, call: Call, row: Row, most: int) -> list[Row]:
        found: list[Row] = []
        while row.kind == REPLY and len(found) < most:
            parent = self._open(row.target, call.now)
            if parent is None:
                break
            found.append(parent)
            row = parent
        return found[::-1]

    def _descendants(self, call: Call, row: Row, most: int, depth: int) -> list[Row]:
        found: list[Row] = []
        layer = [row.number]
        for _ in range(depth):
            children = [child for number in layer for child in self._reactions.posts(number, call.now, REPLY)]
            rows = [each for each in (self._open(child, call.now) for child in children) if each is not None]
            found += rows
            layer = [each.number for each in rows]
            if not layer or len(found) >= most:
                break
        return sorted(found[:most], key=lambda each: each.number)

    def _find(self, call: Call, key: str) -> Row:
        row = self._visible(call, key)
        if row is None:
            raise refuse(404, NOT_FOUND, NO_POST)
        return row

    def _visible(self, call: Call, key: str) -> Row | None:
        number = self._write.ids.number(key)
        return self._open(number, call.now) if number else None

    def _is_here(self, row: Row, now: int) -> bool:
        """Whether the post came by itself, or was fetched because somebody here answered, quoted or passed it on."""
        vantage = self._write.vantage
        if vantage.holds(row, now):
            return True
        referring = (self._reactions.posts(row.number, now, kind) for kind in (REPLY, REPOST, QUOTE))
        return any(vantage.is_local(author_of(number)) for numbers in referring for number in numbers)

    def _open(self, number: int, now: int) -> Row | None:
        row = self._world.post(number, now)
        if row is None or not self._world.is_open(row.author, now) or not self._is_here(row, now):
            return None
        if row.kind == REPOST:
            return row if self._write.is_passed_on(row, now) else None
        return row if self._world.contents.visibility(number) != "private" else None
