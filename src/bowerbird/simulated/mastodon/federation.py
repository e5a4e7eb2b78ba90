"""Several servers over one world: every account lives on one of them, and each server knows of the others' what reached it."""

from __future__ import annotations

from collections.abc import Mapping
from zlib import crc32

import numpy as np

from bowerbird.errors import UserError
from bowerbird.simulated.mastodon.flavours import NEWEST, ServerInfo
from bowerbird.simulated.mastodon.ids import FORMS
from bowerbird.simulated.world import World
from bowerbird.simulated.world.hashing import mix, mix_many
from bowerbird.simulated.world.people.population import Array
from bowerbird.simulated.world.posts.rows import Row
from bowerbird.simulated.world.settings import NEVER

_LOST_ONE_IN = 40
_QUICK, _SLOW = 4_000, 50_000
_SLOW_ONE_IN = 5
LATEST = _QUICK + _SLOW
"""How long a post may be on its way at most, in ms."""


class Vantage:
    """The world as one server sees it.

    Of a follow a server knows if one end lives with it; of an account elsewhere it has the posts since one of its own first
    followed it, except the few that got lost on the way. A server that stands alone knows everything.
    """

    def __init__(
        self,
        world: World,
        domain: str = "simulated.example",
        servers: tuple[str, ...] = (),
        flavours: Mapping[str, ServerInfo] | None = None,
    ) -> None:
        """`servers`: the domains of all servers that share the world, this one among them; alone if none is named. `flavours`: of
        these servers by domain; who is not named there is the newest Mastodon."""
        self.world = world
        self.domain = domain
        self.servers = servers or (domain,)
        if domain not in self.servers:
            raise UserError(
                f"The server {domain} is not among those that share the world ({', '.join(servers)})",
                "name it there.",
                code="unknown_name",
            )
        self._flavours = {each: (flavours or {}).get(each, NEWEST) for each in self.servers}
        self.flavour = self._flavours[domain]
        self._at_home = {each: FORMS[kind.ids](world, each) for each, kind in self._flavours.items()}
        self.ids = self._at_home[domain]
        self._home = (mix_many(np.arange(len(world)), 83) % np.uint64(len(self.servers))).astype(np.int8)
        self.local: Array = self._home == self.servers.index(domain)
        self._salt = crc32(domain.encode())
        self._since: dict[int, int] = {}

    def is_local(self, account: int) -> bool:
        return bool(self.local[account])

    def home(self, account: int) -> str:
        """The domain of the server where the account lives."""
        return self.servers[int(self._home[account])]

    def home_flavour(self, account: int) -> ServerInfo:
        """What software the account's own server runs: it decides how the account and its posts are named everywhere."""
        return self._flavours[self.home(account)]

    def home_key(self, number: int, account: int) -> str:
        """What the author's own server calls a post."""
        return self._at_home[self.home(account)].post(number)

    def known_follows(self, account: int, others: Array) -> Array:
        """Which of the follows between an account and others this server has heard of."""
        return np.ones(len(others), bool) if self.local[account] else self.local[others]

    def holds(self, row: Row, now: int = NEVER) -> bool:
        """Whether a post has come to this server by itself, by that time."""
        if self.is_local(row.author):
            return True
        is_lost = mix(row.number, self._salt) % _LOST_ONE_IN == 0
        return not is_lost and row.ms >= self._followed_since(row.author) and row.ms + self.delay(row) <= now

    def delay(self, row: Row) -> int:
        """How many ms after it was written a post reaches this server: mostly seconds, for one in five up to a minute."""
        if self.is_local(row.author) or not self.flavour.federates_late:
            return 0
        draw = mix(row.number, self._salt ^ 0x1A7E)
        return draw % _QUICK + ((draw >> 20) % _SLOW if draw % _SLOW_ONE_IN == 0 else 0)

    def knows(self, account: int, now: int) -> bool:
        """Whether the server has heard of the account: somebody here follows it, or it follows somebody here."""
        if self.is_local(account) or self._followed_since(account) <= now:
            return True
        return bool(self.local[self.world.graph.following(account, now)[0]].any())

    def _followed_since(self, account: int) -> int:
        since = self._since.get(account)
        if since is None:
            others, ranks = self.world.graph.all_followers(account)
            begun = self.world.graph.since[ranks[self.local[others]]]
            since = self._since[account] = int(begun.min()) if len(begun) else NEVER
        return since
