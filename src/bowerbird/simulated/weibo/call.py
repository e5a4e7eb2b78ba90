"""One request to the Weibo dialect, and the errors it may end in."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from bowerbird.simulated.tokens import Token
from bowerbird.simulated.wire import Params, RefusedError, Reply, reply

MESSAGES = {
    10001: (500, "System error"),
    10002: (503, "Service unavailable"),
    10006: (403, "Source paramter (appkey) is missing"),
    10008: (400, "Param error, see doc for more info"),
    10014: (403, "Insufficient app permissions!"),
    10016: (400, "Miss required parameter"),
    10017: (400, "Parameter's value invalid"),
    10020: (404, "Request Api not found!"),
    10021: (405, "HTTP method is not suported for this request!"),
    10022: (403, "IP requests out of rate limit!"),
    10023: (403, "User requests out of rate limit!"),
    20003: (400, "User does not exists!"),
    20009: (400, "Ids too many"),
    20101: (400, "target weibo does not exist!"),
    20501: (400, "Uid is not the authorized user's"),
    20508: (403, "Prohibited by the user's privacy setting"),
    21315: (403, "Token expired"),
    21327: (403, "expired_token"),
    21332: (403, "invalid_access_token"),
}
_TOKENS = (21315, 21327, 21332)


def error(code: int, path: str = "/2/") -> Reply:
    status, message = MESSAGES[code]
    if code in _TOKENS:
        # Token errors come from another part of the service, with their fields in another order.
        return reply({"error": message, "error_code": code, "request": path}, status)
    return reply({"request": path, "error_code": code, "error": message}, status)


class Call(Struct, frozen=True):
    """What a handler needs to know; `now` is the world's time in ms."""

    path: str
    params: Params
    token: Token
    now: int
    arrived_at: datetime
    """By the server's clock, which goes on where the world's time stands still."""
    address: str
    own: int
    """The account of the token's owner."""

    def count(self, default: int, most: int) -> int:
        return max(1, min(self.params.integer("count", default), most))

    def refuse(self, code: int) -> RefusedError:
        return RefusedError(error(code, self.path))

    def batch(self, name: str, most: int) -> list[str]:
        """The ids of a batch, each once."""
        keys = [text.strip() for text in self.params.get(name).split(",") if text.strip()]
        if not keys:
            raise self.refuse(10016)
        if len(keys) > most:
            raise self.refuse(20009)
        return list(dict.fromkeys(keys))
