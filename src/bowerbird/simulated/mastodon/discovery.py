"""Everything around the content: search, directory, what the server says of itself and of a token."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from bowerbird.simulated.mastodon.call import Call, refuse
from bowerbird.simulated.mastodon.payloads import Payloads
from bowerbird.simulated.tokens import IssuedTokens
from bowerbird.simulated.wire import JSON, Reply, raw_list, reply
from bowerbird.simulated.world.posts.crowd import Crowd
from bowerbird.simulated.world.posts.rows import REPOST, Row
from bowerbird.simulated.world.posts.tags import NO_TAG, tag_number
from bowerbird.simulated.world.settings import DAY

_SEARCHED = 30 * DAY


class Discovery:
    """Handlers of search, directory, instance and tokens."""

    def __init__(self, payloads: Payloads, crowd: Crowd, tokens: IssuedTokens, domain: str) -> None:
        self._write = payloads
        self._world = payloads.world
        self._crowd = crowd
        self._tokens = tokens
        self._domain = domain
        self._flavour = payloads.vantage.flavour

    def search(self, call: Call) -> Reply:
        params, kind = call.params, call.params.get("type")
        if not call.is_user and params.has("offset"):
            raise refuse(401, "Search queries pagination is not supported without authentication")
        if not call.is_user and params.flag("resolve"):
            raise refuse(401, "Search queries that resolve remote resources are not supported without authentication")
        limit, offset, text = call.limit(20), params.integer("offset", 0), params.get("q").strip()
        accounts = self._accounts(call, text, offset, limit) if kind in ("", "accounts") else []
        is_searched = call.is_user and kind in ("", "statuses") and text and self._flavour.searches_text
        found = self._statuses(call, text) if is_searched else iter(())
        statuses = self._write.statuses(list(islice(found, offset, offset + limit)), call.now)
        body = b'{"accounts":[%b],"statuses":[%b],"hashtags":%b}'
        tags = reply(_hashtags(call, text) if kind in ("", "hashtags") else []).body
        return Reply(200, body % (b",".join(accounts), b",".join(statuses), tags), {"content-type": JSON})

    def accounts(self, call: Call) -> Reply:
        call.require_user()
        limit = call.limit(40)
        return raw_list(self._accounts(call, call.params.get("q").strip(), call.params.integer("offset", 0), limit))

    def directory(self, call: Call) -> Reply:
        limit, offset = call.limit(40), call.params.integer("offset", 0)
        listed = self._crowd.directory(call.now, call.params.get("order") == "new")
        vantage = self._write.vantage
        is_known = vantage.is_local if call.params.flag("local") else lambda account: vantage.knows(account, call.now)
        known = (account for account in listed.tolist() if is_known(account))
        return raw_list(self._write.account(account, call.now) for account in islice(known, offset, offset + limit))

    def instance(self, call: Call) -> Reply:
        kind, access = self._flavour, {"local": "public", "remote": "public"}
        configuration: dict[str, Any] = {"urls": {"streaming": f"wss://{self._domain}"} if kind.live.has_sockets else {}}
        if kind.tells_access:
            configuration["timelines_access"] = dict.fromkeys(("live_feeds", "hashtag_feeds", "trending_link_feeds"), access)
        versions = {} if kind.api_version is None else {"api_versions": {"mastodon": kind.api_version}}
        return reply({**self._about(), "domain": self._domain, "configuration": configuration, **versions})

    def instance_v1(self, call: Call) -> Reply:
        stats = {"user_count": len(self._world), "domain_count": 1}
        urls = {"streaming_api": f"wss://{self._domain}"} if self._flavour.live.has_sockets else {}
        return reply({**self._about(), "uri": self._domain, "stats": stats, "urls": urls})

    def rules(self, call: Call) -> Reply:
        return reply([{"id": "1", "text": "This server is simulated: nobody here is real.", "hint": ""}])

    def peers(self, call: Call) -> Reply:
        return reply([each for each in self._write.vantage.servers if each != self._domain])

    def nodeinfo(self, call: Call) -> Reply:
        rel = "http://nodeinfo.diaspora.software/ns/schema/2.0"
        return reply({"links": [{"rel": rel, "href": f"{call.base}/nodeinfo/2.0"}]})

    def nodeinfo_two(self, call: Call) -> Reply:
        usage = {"users": {"total": len(self._world)}}
        software = {"name": self._flavour.software, "version": self._flavour.version}
        return reply({"version": "2.0", "software": software, "protocols": ["activitypub"], "usage": usage})

    def front(self, call: Call) -> Reply:
        """The page that people see."""
        return Reply(200, b"<!DOCTYPE html><title>Simulated</title><p>A synthetic microblog.</p>", {"content-type": "text/html"})

    def robots(self, call: Call) -> Reply:
        text = "User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nDisallow: /media_proxy/\nDisallow: /interact/\n"
        return Reply(200, text.encode(), {"content-type": "text/plain"})

    def verify(self, call: Call) -> Reply:
        call.require_user()
        name = call.token.account if call.token else ""
        return reply({"id": "0", "username": name, "acct": name, "display_name": name, "source": {}})

    def verify_app(self, call: Call) -> Reply:
        if call.token is None:
            raise refuse(401, "The access token is invalid")
        return reply({"id": "1", "name": call.token.app, "scopes": list(call.token.scopes)})

    def nothing(self, call: Call) -> Reply:
        """Lists and favourites of one's own: a visitor's account here has none."""
        call.require_user()
        return reply([])

    def _about(self) -> dict[str, Any]:
        version = self._flavour.says_version or self._flavour.version
        return {"title": "Simulated", "version": version, "description": "A synthetic microblog."}

    def _accounts(self, call: Call, text: str, offset: int, limit: int) -> list[bytes]:
        exact = self._named(call, text)
        if exact is not None and self._world.exists(exact, call.now):
            return [self._write.account(exact, call.now, is_embedded=True)] if not offset else []
        matches = (account for account in range(len(self._world)) if self._matches(account, text.lower(), call.now))
        chosen = islice(matches, offset, offset + limit) if text else ()
        return [self._write.account(account, call.now, is_embedded=True) for account in chosen]

    def _named(self, call: Call, text: str) -> int | None:
        """The account of a name, with its domain if it lives elsewhere; one not heard of yet is only found by resolving."""
        name, _, domain = text.lstrip("@").partition("@")
        account, vantage = self._world.profiles.account_of(name, 0), self._write.vantage
        if account is None or (domain or vantage.domain) != vantage.home(account):
            return None
        return account if vantage.knows(account, call.now) or call.params.flag("resolve") else None

    def _matches(self, account: int, text: str, now: int) -> bool:
        if not self._write.vantage.knows(account, now):
            return False
        profile = self._world.profiles.at(account, now)
        return text in f"{profile.first_handle} {profile.name.lower()}" and self._world.is_open(account, now)

    def _statuses(self, call: Call, text: str) -> Iterator[Row]:
        word = text.split()[0]
        ids = self._write.ids
        tag = tag_number(word.lstrip("#")) if word.startswith("#") else NO_TAG
        author = ids.account_number(call.params.get("account_id"))
        contents = self._world.contents
        mask = (
            self._crowd.with_tag(tag)
            if tag != NO_TAG
            else lambda day: contents.saying(day.number, day.event, word) & (day.kind != REPOST)
        )
        below, above = ids.number(call.params.get("max_id")), ids.number(call.params.get("min_id")) or 0
        found = self._crowd.posts(
            call.now, mask, below=below if below is not None else 1 << 62, above=above, oldest=call.now - _SEARCHED
        )
        for row in found:
            # Full-text search finds only those who let themselves be found.
            is_ours = self._world.people.is_indexable[row.author] and contents.visibility(row.number) == "public"
            if is_ours and self._write.vantage.holds(row, call.now) and (author is None or row.author == author):
                yield row


def _hashtags(call: Call, text: str) -> list[dict[str, Any]]:
    name = text.lstrip("#").lower()
    return [{"name": name, "url": f"{call.base}/tags/{name}", "history": []}] if name and tag_number(name) != NO_TAG else []
