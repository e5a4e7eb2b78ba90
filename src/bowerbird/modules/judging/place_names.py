"""Place names: what members write as their place and no table knows is proposed; a person says whether it is one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from unicodedata import combining, normalize

from bowerbird.clock import to_micros
from bowerbird.model.modules import Counts, ModuleOption
from bowerbird.modules.members import JUDGE
from bowerbird.ports import ModuleContext, Transaction

_MOST_PARTS = 4
_LONGEST = 60
_BETWEEN = re.compile(r"[,/|;·•()\[\]\n]|\s[\u2013\u2014-]\s")
_BATCH = 5_000
_WRITTEN = """
select u.user_no, u.location, j.value from judgements j join users u on u.id = j.id
where j.judge = ? and j.subject = 'user' and j.value in ('yes', 'no') and u.location is not null and u.user_no > ?
and coalesce(u.opts_out, 0) = 0 order by u.user_no limit ?
"""
_PROPOSE = """
insert into place_names (crawl, name, written, members, others, said, at) values (?, ?, ?, ?, ?, 'proposed', ?)
on conflict (crawl, name) do update set members = excluded.members, others = excluded.others, written = excluded.written
"""


class PlaceNames:
    """Proposes names of places that several members write, and hardly anybody who does not belong."""

    name = "place_names"
    about = "Proposes names of places that several members write in their profiles and that no table knows."
    every = timedelta(days=1)
    options: Mapping[str, ModuleOption] = {
        "judge": JUDGE,
        "least": ModuleOption(3, "Members who must write a name.", least=2),
        "purity": ModuleOption(0.9, "Which part of those who write it must belong.", least=0),
        "accounts": ModuleOption(200_000, "Profiles that one run reads at most.", least=1),
    }
    needs: tuple[str, ...] = ()

    async def run(self, context: ModuleContext) -> Counts:
        yes, no, forms, read = await self._read(context)
        least, purity = int(context.options["least"]), float(context.options["purity"])
        likely = [name for name, count in yes.items() if count >= least and count >= purity * (count + no[name])]
        # Looked up last: most names are written by one person alone.
        new = [name for name in sorted(likely) if not context.knows_place(name)]
        at = to_micros(context.clock.now())
        async with context.transaction() as tx:
            before = await _proposed(tx, context.crawl)
            rows = [(context.crawl, name, forms[name].most_common(1)[0][0], yes[name], no[name], at) for name in new]
            await tx.execute_many(_PROPOSE, rows)
            told = await _proposed(tx, context.crawl)
        return {"profiles": read, "names": len(yes), "unknown": len(new), "new": told - before}

    async def _read(self, context: ModuleContext) -> tuple[Counter[str], Counter[str], dict[str, Counter[str]], int]:
        """How many members, and how many others, write each name, and how."""
        yes: Counter[str] = Counter()
        no: Counter[str] = Counter()
        forms: dict[str, Counter[str]] = {}
        after, read, most = 0, 0, int(context.options["accounts"])
        while read < most:
            async with context.database.reading() as tx:
                rows = await tx.fetch(_WRITTEN, context.options["judge"], after, _BATCH)
            for row in rows:
                for written in set(parts(row["location"])):
                    (yes if row["value"] == "yes" else no)[folded(written)] += 1
                    forms.setdefault(folded(written), Counter())[written] += 1
            read += len(rows)
            if len(rows) < _BATCH:
                break
            after = rows[-1]["user_no"]
        return yes, no, forms, read


async def _proposed(tx: Transaction, crawl: int) -> int:
    row = await tx.fetch_one("select count(*) as n from place_names where crawl = ?", crawl)
    return int(row["n"]) if row is not None else 0


def parts(location: str) -> Iterator[str]:
    """The names that stand in the text of a location, between commas, slashes and the like."""
    for part in _BETWEEN.split(location)[:_MOST_PARTS]:
        name = part.strip(" .!'\"")
        if 2 < len(name) <= _LONGEST and any(map(str.isalpha, name)) and not any(map(str.isdigit, name)):
            yield name


def folded(name: str) -> str:
    """A name as names are compared: without accents and case."""
    plain = "".join(mark for mark in normalize("NFKD", name) if not combining(mark))
    return " ".join(plain.casefold().split())
