"""Random stores for comparing two versions of the code: real crawls of simulated networks.

Every store is made from a seed, through the crawl file and the transport alone: the real engine,
parsers and store do the rest. So the same seed can be given to another version of the code. A store
has several crawls and services. Its networks fail in every way that the simulator knows, refuse
requests for every reason, and show odd items: no author, strange texts, impossible numbers and
times. Processes die in the middle of listings, time passes between the crawls, people delete posts,
opt out, or stand on the list of those to be forgotten.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from golden import product
from golden.worlds import BASES, address_of, open_services, services_tables

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
_FAULTS = (
    *(
        "error_500",
        "bad_gateway",
        "unavailable",
        "slow",
        "reset",
        "lost_before",
        "lost_after",
        "cut",
        "truncated",
    ),
    *(
        "wrong_types",
        "html_200",
        "limited",
        "limited_bare",
        "remaining_high",
        "remaining_low",
        "no_headers",
        "bad_token",
    ),
)
_STREAM_FAULTS = ("stream_cut", "stream_silence", "stream_duplicate", "stream_garbage")
_REFUSALS: Mapping[str, tuple[tuple[int, dict[str, Any]], ...]] = {
    "bluesky": (
        (400, {"error": "InvalidRequest", "message": "Profile not found"}),
        (400, {"error": "AccountTakedown", "message": "Account has been suspended"}),
        (400, {"error": "AccountDeactivated", "message": "Account is deactivated"}),
        (400, {"error": "NotFound", "message": "Post not found"}),
        (400, {"error": "ExpiredToken", "message": "Token has expired"}),
        (429, {"error": "RateLimitExceeded", "message": "Rate Limit Exceeded"}),
        (502, {"error": "UpstreamFailure", "message": "Upstream Failure"}),
    ),
    "mastodon": (
        (404, {"error": "Record not found"}),
        (410, {"error": "Gone"}),
        (403, {"error": "This action is not allowed"}),
        (401, {"error": "The access token was revoked"}),
        (422, {"error": "Validation failed"}),
        (429, {"error": "Too many requests"}),
        (503, {"error": "Remote data could not be fetched"}),
    ),
    "x": (
        (404, {"title": "Not Found Error", "detail": "Could not find user", "status": 404}),
        (403, {"title": "Forbidden", "detail": "User has been suspended", "status": 403}),
        (401, {"title": "Unauthorized", "type": "about:blank", "status": 401}),
        (400, {"title": "Invalid Request", "errors": [{"message": "not valid"}], "status": 400}),
        (429, {"title": "Too Many Requests", "status": 429}),
        (503, {"title": "Service Unavailable", "status": 503}),
    ),
    "weibo": (
        (400, {"error": "User does not exists!", "error_code": 20003}),
        (400, {"error": "target weibo does not exist!", "error_code": 20101}),
        (403, {"error": "Permission denied, need a high level appkey", "error_code": 10014}),
        (403, {"error": "User requests out of rate limit!", "error_code": 10023}),
        (403, {"error": "expired_token", "error_code": 21327}),
        (503, {"error": "Remote service error", "error_code": 10002}),
    ),
}
ODD_TEXTS = (
    "",
    " ",
    "=1+1",
    "'quoted",
    'a "b", c|d',
    "two\r\nlines\ttab",
    "\u202eright to left",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 family",
    "zalgo e\u0301\u0302\u0303\u0304",
    "nul \u0000 inside",
    "lone \ud800 surrogate",
    "\ufeffbyte order mark",
    "line\u2028separator",
    "ﬁ ligature, İstanbul, ẞtraße, ΑΣ",
    "#ok #OK #Ok @nobody @nobody@nowhere.example https://example.org/a|b",
    "<script>alert(1)</script> &amp; &lt;b&gt;",
    "x" * 70_000,
)
_TEXT_KEYS = (
    "content",
    "text",
    "display_name",
    "displayName",
    "name",
    "description",
    "note",
    "location",
    "spoiler_text",
)
_AUTHOR_KEYS = ("account", "author", "user", "author_id", "did")
_COUNT_KEYS = ("count", "_count", "Count")
_TIME_KEYS = ("created_at", "createdAt", "indexedAt", "edited_at")
_ODD_NUMBERS = (-1, 0, 2**31, 2**63, 2**70, 1.5, None, "12", [])
_ODD_TIMES = (
    "1970-01-01T00:00:00Z",
    "2106-02-07T06:28:16Z",
    "0001-01-01T00:00:00Z",
    "yesterday",
    None,
    0,
)

_CUSTOM_FLOW = """
[flow]
seeds = ["profiles", "profile"]
[flow.facets]
profile.ranker = "fifo"
profiles = {{ ranker = "circular", revisit = "{revisit}" }}
timeline = {{ ranker = "fifo", hints = {{ limit = "{page}" }} }}
followers = {{ ranker = "fifo", revisit = "{revisit}", hints = {{ limit = "{page}" }} }}
following = {{ ranker = "fifo", revisit = "{revisit}", hints = {{ limit = "{page}" }} }}
likes = {{ ranker = "fifo", optional = true }}
reposts = {{ ranker = "fifo", optional = true }}
hashtag.ranker = "fifo"
[[flow.edges]]
from = "profile"
to = "profiles"
take = "asked"
[[flow.edges]]
from = "profiles"
to = "profile"
take = "missing"
[[flow.edges]]
from = "profiles"
to = "timeline"
take = "asked"
when = "news"
[[flow.edges]]
from = "profiles"
to = "followers"
take = "asked"
[[flow.edges]]
from = "profiles"
to = "following"
take = "asked"
[[flow.edges]]
from = "timeline"
to = "hashtag"
take = "tags"
when = "likes > 0"
[[flow.edges]]
from = "timeline"
to = "likes"
take = "own_posts"
when = "likes > 0"
optional = true
[[flow.edges]]
from = "timeline"
to = "reposts"
take = "own_posts"
when = "reposts > 0"
optional = true
"""
_PROFILES_FLOW = """
[flow]
seeds = ["profiles", "profile"]
[flow.facets]
profile.ranker = "fifo"
profiles.ranker = "fifo"
"""
_TOPIC_FLOW = """
[flow]
use = "topic"
[flow.facets]
followers.on = true
following.on = true
"""
_KINDS = ("custom", "timelines", "graph", "profiles", "topic", "hydrate", "stream", "stream")
_FLOWS = {
    "custom": _CUSTOM_FLOW,
    "profiles": _PROFILES_FLOW,
    "topic": _TOPIC_FLOW,
    "timelines": '[flow]\nuse = "timelines"\n',
    "graph": '[flow]\nuse = "graph"\n',
    "hydrate": '[flow]\nuse = "hydrate"\n',
    "stream": '[flow]\nuse = "timelines"\n',
}
_CONSENTS = {
    "override": 'consent = { override = ["indexable", "no-unauthenticated"], reason = "a test" }',
    "keep": 'consent = { deleted = "keep", reason = "a test" }',
}
_PLACES = '[[places]]\nname = "London"\nby = "none"\n'
_STREAMS = {
    "bluesky": '[[streams]]\nchannel = "jetstream"\nservice = "bluesky"\n',
    "mastodon": '[[streams]]\nchannel = "public"\nservice = "mastodon"\n',
}


class OddTransport(product.InProcessTransport):
    """Answers of simulated services, some of them refused and some with odd items.

    What becomes of a request depends on the seed, on what is asked, and on how often it was asked.
    """

    def __init__(
        self,
        services: Mapping[str, product.SimulatedService],
        clock: product.VirtualClock,
        seed: int,
        refused: float,
        odd: float,
    ) -> None:
        """`refused`: share of answers that become refusals; `odd`: share of changed values."""
        super().__init__(services, clock)
        self._seed = seed
        self._refused = refused
        self._odd = odd
        self._times: Counter[str] = Counter()

    async def send(self, service: product.Service, request: product.Request) -> product.Answer:
        answer = await super().send(service, request)
        name = f"{service.name} {request.path} {sorted(request.query)}"
        self._times[name] += 1
        chance = Random(f"{self._seed} {name} {self._times[name]}")
        if answer.status != 200:
            return answer
        if chance.random() < self._refused:
            status, body = chance.choice(_REFUSALS[service.name])
            return msgspec.structs.replace(answer, status=status, body=json.dumps(body).encode())
        try:
            value = json.loads(answer.body)
        except ValueError:
            return answer
        return msgspec.structs.replace(
            answer, body=json.dumps(self._changed(value, chance)).encode()
        )

    def _changed(self, value: Any, chance: Random) -> Any:
        if isinstance(value, list):
            # What a list no longer shows has ended, or was deleted.
            kept = [each for each in value if chance.random() >= self._odd]
            return [self._changed(each, chance) for each in kept]
        if not isinstance(value, dict):
            return value
        changed = {key: self._changed(each, chance) for key, each in value.items()}
        for key in value:
            if chance.random() >= self._odd:
                continue
            if key in _TEXT_KEYS and isinstance(value[key], str):
                changed[key] = chance.choice(ODD_TEXTS)
            elif key in _AUTHOR_KEYS:
                changed[key] = chance.choice([None, {}, "nobody"])
            elif key.endswith(_COUNT_KEYS):
                changed[key] = chance.choice(_ODD_NUMBERS)
            elif key in _TIME_KEYS:
                changed[key] = chance.choice(_ODD_TIMES)
        return changed


class RandomStore:
    """How the store of one seed is made."""

    def __init__(self, seed: int, folder: Path) -> None:
        """`folder`: for the list of people to forget."""
        self._chance = Random(seed)
        self._seed = seed
        self._folder = folder
        self.notes: list[str] = []
        """What was done, and which crawls were refused."""

    def make(self, store: str) -> datetime:
        """Fill an empty database and return the (virtual) time at which the last crawl ended."""

        async def main(clock: product.VirtualClock) -> datetime:
            await self._crawl_all(clock, store)
            return clock.now()

        ended: datetime = product.run_virtual(main, start=START)
        return ended

    async def _crawl_all(self, clock: product.VirtualClock, store: str) -> None:
        chance = self._chance
        settings = product.WorldSettings(
            seed=chance.randrange(1, 1_000_000),
            accounts=chance.randint(12, 30),
            following=chance.uniform(2, 8),
            posts_per_day=chance.choice([1, 3, 8]),
            likes_per_post=chance.choice([0.3, 1.0]),
            history=timedelta(days=1),
            longest_history=chance.choice([3, 10, 30]),
            mixed=chance.random() < 0.3,
        )
        names = sorted(chance.sample(sorted(BASES), chance.randint(1, 3)))
        rates = dict.fromkeys(chance.sample(_FAULTS, 4), chance.choice([0.0, 0.01, 0.03]))
        messages = dict.fromkeys(chance.sample(_STREAM_FAULTS, 2), 0.02)
        faults = product.Faults(
            seed=self._seed,
            rates=rates,
            messages=messages,
            skew=timedelta(seconds=chance.choice([0, 0, 3])),
        )
        services = open_services(
            product.World(settings), names, tokens=chance.randint(1, 2), faults=faults
        )
        transport = OddTransport(
            services,
            clock,
            self._seed,
            refused=chance.choice([0.0, 0.02, 0.1, 0.3]),
            odd=chance.choice([0.0, 0.005, 0.02]),
        )
        self.notes.append(f"world {settings.accounts} accounts, {', '.join(names)}")
        kinds = ["custom", *chance.sample(_KINDS, chance.choice([1, 2]))]
        crawls = [
            self._crawl(f"crawl{number}", kind, names, services, clock)
            for number, kind in enumerate(kinds)
        ]
        for number in range(chance.randint(3, 6)):
            # Limits hold for all runs of a crawl: each run may do as much as those before.
            stop = f'calls = {90 * (number + 1)}, duration = "{number + 1}h"'
            file = chance.choice([crawls[0], *crawls]).replace("STOP", stop)
            is_killed = chance.random() < 0.35
            death = clock.now() + timedelta(seconds=chance.choice([0.7, 1.5, 4, 3600]))
            try:
                await product.crawl(
                    clock,
                    file,
                    services,
                    BASES,
                    store,
                    transport=transport,
                    killed_at=death if is_killed else None,
                )
            except Exception as error:
                # A refusal is a result: both versions must refuse the same.
                self.notes.append(f"run {number}: {type(error).__name__}")
            else:
                how = "may be killed" if is_killed else "ended"
                self.notes.append(f"run {number}: {how} by {clock.now():%Y-%m-%d %H:%M:%S}")
            await clock.sleep_until(clock.now() + timedelta(hours=chance.choice([1, 30, 24 * 10])))

    def _crawl(
        self,
        crawl: str,
        kind: str,
        names: list[str],
        services: Mapping[str, product.SimulatedService],
        clock: product.VirtualClock,
    ) -> str:
        """A random crawl file of one kind, with STOP where its limits belong."""
        chance, now = self._chance, clock.now()
        listening = [name for name in names if name in _STREAMS] or names
        used = [chance.choice(listening)] if kind in ("topic", "hydrate", "stream") else names
        accounts = chance.sample(range(len(services[used[0]].world)), chance.randint(2, 6))
        seeds = [address_of(name, services[name], each, now) for name in used for each in accounts]
        page, revisit = chance.choice([2, 5, 20]), chance.choice(["20m", "1h"])
        flow = _FLOWS[kind].format(page=page, revisit=revisit)
        if kind == "topic":
            seeds = [f"#{chance.choice(['music', 'books', 'cycling', 'news'])}"]
        elif kind == "hydrate":
            seeds = self._posts(services[used[0]], accounts, now)
        consent = chance.choice(["", "", "forgotten", "override", "keep"])
        lines = [
            f'name = "{crawl}"',
            f"seeds = {json.dumps(seeds)}",
            f"concurrency = {chance.choice([1, 1, 4])}",
            "stop = { STOP }",
            f'history.counters = "{chance.choice(["10m", "1h", "1d"])}"',
            *(["filters.max_depth = 1"] if kind == "graph" else []),
        ]
        if consent == "forgotten":
            file = self._forgotten(services[used[0]], used[0], now)
            lines.append(f"consent.opt_out = {json.dumps(str(file))}")
        elif consent:
            lines.append(_CONSENTS[consent])
        places = _PLACES if chance.random() < 0.3 else ""
        streams = _STREAMS.get(used[0], "") if kind == "stream" else ""
        self.notes.append(f"{crawl}: {kind} of {', '.join(used)} {consent}".rstrip())
        return "\n".join(lines) + f"\n{flow}{places}{services_tables(used)}{streams}"

    def _posts(
        self, service: product.SimulatedService, accounts: list[int], now: datetime
    ) -> list[str]:
        """Keys of posts, some of them deleted."""
        keys = [service.dialect.account_key(account) for account in accounts]
        since = now - timedelta(days=9)
        posts = [post for key in keys for post in service.posts_to_find(key, since, now, now)]
        return self._chance.sample(posts, min(len(posts), 20)) or ["1"]

    def _forgotten(self, service: product.SimulatedService, name: str, now: datetime) -> Path:
        """A list of people who are to be forgotten."""
        file = self._folder / "not-these.txt"
        chosen = self._chance.sample(range(len(service.world)), 2)
        file.write_text(
            "".join(f"{address_of(name, service, account, now)}\n" for account in chosen), "utf-8"
        )
        return file
