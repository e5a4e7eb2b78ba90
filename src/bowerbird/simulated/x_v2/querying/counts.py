"""How many posts of the last seven days match a query, hour by hour."""

from __future__ import annotations

from collections import Counter

from bowerbird.simulated.wire import Reply
from bowerbird.simulated.world.posts.crowd import Crowd
from bowerbird.simulated.world.settings import DAY
from bowerbird.simulated.x_v2.answers import Answers
from bowerbird.simulated.x_v2.call import Call
from bowerbird.simulated.x_v2.payloads import Payloads, stamp
from bowerbird.simulated.x_v2.problems import invalid
from bowerbird.simulated.x_v2.querying.queries import Queries

_HOUR = DAY // 24
_LENGTHS = {"minute": _HOUR // 60, "hour": _HOUR, "day": DAY}
_LONGEST = 512


class Counts:
    """The handler of `tweets/counts/recent`."""

    def __init__(self, payloads: Payloads, answers: Answers) -> None:
        self._write = payloads
        self._answers = answers
        self._crowd = Crowd(payloads.world)
        self._queries = Queries(payloads, self._crowd)

    def recent(self, call: Call) -> Reply:
        text, granularity = call.params.get("query").strip(), call.params.get("granularity") or "hour"
        if not 1 <= len(text) <= _LONGEST:
            raise invalid("query", text, f"The `query` query parameter can not be empty or longer than {_LONGEST} characters")
        if granularity not in _LENGTHS:
            raise invalid("granularity", granularity, f"[{granularity}] is not one of [minute,hour,day]")
        found = self._crowd.posts(call.now, self._queries.mask(text, call.now), oldest=call.now - 7 * DAY)
        times = [row.ms for row in found if row.gone_at > call.now and self._write.is_readable(row, call.now)]
        counted = _counted(times, call.now - 7 * DAY, call.now, _LENGTHS[granularity])
        self._answers.count(call, "counts", [f"{text}@{call.arrived_at.timestamp()}"])
        return self._answers.body({"data": counted, "meta": {"total_tweet_count": len(times)}})


def _counted(times: list[int], begin: int, end: int, length: int) -> list[dict[str, object]]:
    """Whole stretches of the clock, cut at both ends."""
    found = Counter(each // length for each in times)
    return [
        {
            "start": stamp(max(begin, number * length)),
            "end": stamp(min(end, (number + 1) * length)),
            "tweet_count": found[number],
        }
        for number in range(begin // length, -(-end // length))
    ]
