"""When a refused credential is used no more, and for which lanes: a refusal belongs to what was refused."""

from __future__ import annotations

from collections import Counter
from functools import partial

from bowerbird.crawl.work.lanes import GoodAnswers, Lane
from bowerbird.model import Lease, Outcome, Page
from bowerbird.model.wording import quoted
from bowerbird.ports import Transaction

STRIKES = 3
_REFUSALS = (Outcome.BAD_TOKEN, Outcome.FORBIDDEN_SCOPE)


class Strikes:
    """Counts refusals; what is remembered here is lost with the process."""

    def __init__(self, good: GoodAnswers | None = None) -> None:
        self._in_a_row: Counter[tuple[str | None, int]] = Counter()
        """By credential and lane: a single refusal may be a passing mood of the server."""
        self._good = (good or GoodAnswers()).with_credential
        self._good_before: dict[tuple[str | None, int], int] = {}
        """How many there were when a lane was first refused."""
        self.words: dict[int, str] = {}
        """By lane that lost a credential: what was refused, to whom, and in which words."""
        self.lost: dict[int, str | None] = {}
        """By lane that lost a credential: which."""

    def is_calm(self) -> bool:
        """Whether nobody is being refused: a good answer then changes nothing here but a count."""
        return not any(self._in_a_row.values())

    def is_out(self, tx: Transaction, lane: Lane, lease: Lease, page: Page) -> bool:
        """Counts an answer, and says whether the credential is to be used no more: refused several times in a row."""
        place = (lease.credential, lane.lane)
        if page.outcome not in _REFUSALS:
            if not page.outcome.is_passing:
                self._was_good(tx, place, (lane.service.name, lease.credential))
            return False
        if not self._in_a_row[place]:
            self._good_before[place] = self._good[lane.service.name, lease.credential]
        self._in_a_row[place] += 1
        tx.on_rollback(partial(self._in_a_row.subtract, [place]))
        is_out = self._in_a_row[place] >= STRIKES
        if is_out:
            tx.after_commit(partial(self.words.__setitem__, lane.lane, refusal(lane, lease, page)))
            tx.after_commit(partial(self.lost.__setitem__, lane.lane, lease.credential))
        return is_out

    def _was_good(self, tx: Transaction, place: tuple[str | None, int], whose: tuple[str, str | None]) -> None:
        refused = self._in_a_row.pop(place, 0)
        self._good[whose] += 1
        tx.on_rollback(partial(self._good.subtract, [whose]))
        if refused:
            tx.on_rollback(partial(self._in_a_row.update, {place: refused}))

    def is_of_service(self, lane: Lane, page: Page, credential: str | None) -> bool:
        """Whether all lanes of the service lose the credential: not where only this may not be asked with it, or not by
        anybody without one, and not while others are answered."""
        if page.outcome is not Outcome.BAD_TOKEN or credential is None:
            return False
        return self._good[lane.service.name, credential] <= self._good_before.get((credential, lane.lane), 0)


def refusal(lane: Lane, lease: Lease, page: Page) -> str:
    """What was refused, to whom, and in which words."""
    whom = f"with the credential {lease.credential!r}" if lease.credential else "without a credential"
    return f"{lane.service.name} does not answer {lane.facet.name} {whom} ({quoted(page.detail)})"
