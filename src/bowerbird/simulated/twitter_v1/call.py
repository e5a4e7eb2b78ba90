"""One request to the v1.1 dialect, and the errors it may end in."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from bowerbird.simulated.tokens import Token
from bowerbird.simulated.wire import Params, RefusedError, Reply, reply
from bowerbird.simulated.world import Availability, World

_FIRST_USER, _USER_STEP = 12_000_000, 31
"""User ids of the classic kind: not snowflakes, with gaps."""

MESSAGES = {
    17: (404, "No user matches for specified terms."),
    25: (403, "Query parameters are missing."),
    32: (401, "Could not authenticate you."),
    34: (404, "Sorry, that page does not exist."),
    50: (404, "User not found."),
    63: (403, "User has been suspended."),
    64: (403, "Your account is suspended and is not permitted to access this feature."),
    88: (429, "Rate limit exceeded"),
    89: (401, "Invalid or expired token."),
    99: (403, "Unable to verify your credentials"),
    18: (403, "Too many terms specified in query."),
    130: (503, "Over capacity"),
    131: (500, "Internal error"),
    144: (404, "No status found with that ID."),
    179: (403, "Sorry, you are not authorized to see this status."),
    195: (403, "Missing or invalid url parameter."),
    215: (400, "Bad Authentication data."),
    220: (403, "Your credentials do not allow access to this resource."),
}


def error(code: int) -> Reply:
    status, message = MESSAGES[code]
    return reply({"errors": [{"code": code, "message": message}]}, status)


def refuse(code: int) -> RefusedError:
    return RefusedError(error(code))


def user_key(account: int) -> int:
    return _FIRST_USER + _USER_STEP * account


def account_number(text: str, accounts: int) -> int | None:
    if not text.isascii() or not text.isdecimal() or len(text) > 19:
        return None
    account, rest = divmod(int(text) - _FIRST_USER, _USER_STEP)
    return account if rest == 0 and 0 <= account < accounts else None


class Call(Struct, frozen=True):
    """What a handler needs to know; `now` is the world's time in ms."""

    path: str
    params: Params
    token: Token
    now: int
    arrived_at: datetime
    """By the server's clock, which goes on where the world's time stands still."""

    def count(self, default: int, most: int) -> int:
        return max(1, min(self.params.integer("count", default), most))


def find_user(call: Call, world: World) -> int:
    """The account a request names by id or screen name; any state but unknown or deleted."""
    key, name = call.params.get("user_id"), call.params.get("screen_name")
    if not key and not name:
        raise refuse(25)
    account = account_number(key, len(world)) if key else world.profiles.account_of(name.lstrip("@"), call.now)
    if account is None or not world.exists(account, call.now):
        raise refuse(50)
    if not key and world.profiles.at(account, call.now).handle != name.lstrip("@").lower():
        raise refuse(50)
    return account


def require_open(call: Call, world: World, account: int) -> None:
    """Suspended users are refused by code; protected ones with the bare error the real server sends."""
    state = world.availability(account, call.now)
    if state is Availability.SUSPENDED:
        raise refuse(63)
    if state is Availability.PROTECTED:
        # Built by hand: the real server escapes the slashes.
        path = call.path.replace("/", "\\/").encode()
        body = b'{"request":"%b","error":"Not authorized."}' % path
        raise RefusedError(Reply(401, body, {"content-type": "application/json; charset=utf-8"}))
