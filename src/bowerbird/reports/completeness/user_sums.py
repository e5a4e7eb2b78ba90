"""The sums of the ledger by user: every account counts, and only those that are shown have a line."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from heapq import nlargest
from typing import Any

from bowerbird.ports import Database, Transaction
from bowerbird.reports.completeness.alike import AlikeAuthors, AlikeLists, Batch
from bowerbird.reports.completeness.entries import Entry
from bowerbird.reports.completeness.facts import AccountReader
from bowerbird.reports.completeness.judging import Habits
from bowerbird.reports.completeness.lines.accounts import Account, account_entry, listing, posting, seed_entries
from bowerbird.reports.completeness.told import Told
from bowerbird.reports.completeness.views import ViewSums, rank
from bowerbird.reports.completeness.world import Surroundings
from bowerbird.reports.texts import plain


class UserSums:
    """Adds the accounts of a store up; memory holds one batch, and the different ones among those read last."""

    def __init__(self, database: Database, around: Surroundings, shown: ViewSums | None) -> None:
        """`shown` says which lines are wanted in full; None: none is."""
        self._database, self._around, self._shown = database, around, shown
        self._reader, self._told = AccountReader(database), Told()

    async def entries(self) -> AsyncIterator[tuple[Entry, int | None]]:
        """Lines in full, without a number; and lines that stand for so many accounts, without a name."""
        for authors in posting(self._reader, self._around):
            sorting = AlikeAuthors(authors)
            async for found in self._lane(sorting):
                yield found
            async for closed in authors.unasked(self._database):
                habits = sorting.learn([account.evidence for account in closed])
                for account in closed:
                    yield account_entry(account, habits, self._told), None
        for lists in listing(self._reader, self._around):
            async for found in self._lane(AlikeLists(lists)):
                yield found
        async for entry in seed_entries(self._database, self._around, self._told):
            yield entry, None

    async def _lane(self, sorting: AlikeAuthors | AlikeLists) -> AsyncIterator[tuple[Entry, int | None]]:
        after = ""
        while True:
            async with self._database.reading() as tx:
                batch = await sorting.batch(tx, after)
                if batch is None:
                    return
                single = await self._single(tx, sorting, batch)
                evidence = [each.evidence for each in single.values()]
                habits = sorting.learn([*evidence, *(alike.account.evidence for alike in batch.alike if alike is not None)])
                single |= await self._accounts(tx, sorting, self._shown_of(batch, habits))
            after = plain(batch.targets[-1])
            for entry in self._count(batch, single, habits):
                yield entry, None
            for alike in batch.different():
                if alike.times:
                    yield alike.judge(habits), alike.times
                    alike.times = 0

    async def _single(self, tx: Transaction, sorting: AlikeAuthors | AlikeLists, batch: Batch) -> dict[Any, Account]:
        """Those that are read by themselves. A handle may turn out to be somebody who is in the batch by key: they are read
        together, as everywhere."""
        single = await self._accounts(tx, sorting, batch.alone())
        met = {account.user.user_no for account in single.values() if account.user is not None}
        places = [place for place, number in enumerate(batch.numbers) if number in met and batch.alike[place] is not None]
        for place in places:
            batch.alike[place] = None
        return await self._accounts(tx, sorting, batch.alone()) if places else single

    async def _accounts(self, tx: Transaction, sorting: AlikeAuthors | AlikeLists, targets: Sequence[Any]) -> dict[Any, Account]:
        """By target as the batch has it."""
        if not targets:
            return {}
        names = {plain(target): target for target in targets}
        tasks = await self._reader.tasks_of(tx, sorting.of.lane, list(names))
        return {names[account.target]: account for account in await sorting.of.accounts(tx, tasks)}

    def _shown_of(self, batch: Batch, habits: Habits) -> list[Any]:
        """The targets whose lines may be among the few that are shown."""
        if self._shown is None or not self._shown.top:
            return []
        least = self._shown.least()
        ranks = {id(alike): rank(alike.judge(habits)) for alike in batch.different()}
        better = {key: each for key, each in ranks.items() if least is None or each > least}
        if not better:
            return []
        ranked = [
            (better[id(alike)], target) for alike, target in zip(batch.alike, batch.targets, strict=True) if id(alike) in better
        ]
        return [target for _, target in nlargest(self._shown.top, ranked, key=lambda each: each[0])]

    def _count(self, batch: Batch, single: Mapping[Any, Account], habits: Habits) -> Iterator[Entry]:
        """In the order of the lines: what is told twice counts where it is told first."""
        told = self._told
        for target, number, alike in zip(batch.targets, batch.numbers, batch.alike, strict=True):
            account = single.get(target)
            if account is not None:
                yield account_entry(account, habits, told)
            elif alike is not None and not told.again(alike.account.items, number, ""):
                alike.times += 1
