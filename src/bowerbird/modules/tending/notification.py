"""Notification: somebody is told of trouble, of the end of a crawl, and of a budget that is nearly spent. Each thing once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.errors import UserError
from bowerbird.model.modules import Counts, ModuleOption
from bowerbird.ports import ModuleContext, Transaction

KINDS = ("trouble", "end", "budget")
_MOST_ERRORS = 1_000
_MOST_LINES = 20
_UNLIMITED = 10**12
_NEW_ERRORS = """
select error, part, outcome, message from errors where error > ? and (crawl = ? or crawl is null) order by error limit ?
"""
_REFUSED = """
select s.name, c.credential, c.reason from credentials c join services s on s.service = c.service
where c.state = 'refused' order by s.name, c.credential
"""
_PURSES = "select bucket, allowance, remaining, reset_at from ledgers where bucket like '%/money' order by bucket"
_CRAWL = "select name, flow, calls, items, state, reason from crawls where crawl = ?"
_NUMBER = re.compile(r"\d+")
_MARK = re.compile(r"[0-9a-f]{32}")


class Notice(Struct, frozen=True):
    """One thing to tell: `key` is what makes it the same as one that was told."""

    kind: str
    key: str
    words: str


class Notification:
    """Tells people what they would want to know, through a command, a webhook or a mail."""

    name = "notification"
    about = "Tells somebody of trouble, of the end of the crawl and of a budget nearly spent, by a command, a webhook or a mail."
    every = timedelta(minutes=1)
    options: Mapping[str, ModuleOption] = {
        "command": ModuleOption((), "A program and its arguments; it gets the message on its standard input."),
        "webhook": ModuleOption("", "A web address that gets the message as JSON, or vault:NAME."),
        "mail": ModuleOption((), "Who gets a mail."),
        "server": ModuleOption("smtp://localhost:25", "The mail server, or vault:NAME where it needs a password."),
        "about": ModuleOption(KINDS, "What is told: trouble, end, budget."),
        "budget": ModuleOption(0.9, "From which part of a budget on it counts as nearly spent.", least=0),
        "again": ModuleOption(timedelta(days=7), "How long the same trouble is not told again."),
    }
    needs: tuple[str, ...] = ()
    hears_end = True
    tells = True

    async def run(self, context: ModuleContext) -> Counts:
        if not any(context.options[way] for way in ("command", "webhook", "mail")):
            raise UserError("nobody is to be told", "say command, webhook or mail under [modules.notification]")
        now = context.clock.now()
        told = {key if _MARK.fullmatch(key) else _mark(key): at for key, at in context.memory.get("told", {}).items()}
        async with context.database.reading() as tx:
            notices, last = await _notices(tx, context)
        new = {mark: each for each in notices if each.kind in context.options["about"] and (mark := _mark(each.key)) not in told}
        if new and context.messenger is not None:
            await _tell(context, list(new.values()))
        # Only now: what could not be sent is tried again.
        async with context.transaction():
            forgotten = to_micros(now - context.options["again"])
            kept = {key: at for key, at in told.items() if at > forgotten}
            context.memory.pop("ended", None)
            context.memory.update(error=last, told=kept | dict.fromkeys(new, to_micros(now)))
        return {"noticed": len(notices), "told": len(new) if context.messenger is not None else 0}


async def _notices(tx: Transaction, context: ModuleContext) -> tuple[list[Notice], int]:
    """Everything there is to tell, told before or not, and the last error that was looked at."""
    first = await tx.fetch_one("select coalesce(max(error), 0) as last from errors")
    # What went wrong before anybody wished to be told is history.
    after = int(context.memory.get("error", int(first["last"]) if first is not None else 0))
    errors = await tx.fetch(_NEW_ERRORS, after, context.crawl, _MOST_ERRORS)
    found = [_trouble(str(row["part"]), " ".join(filter(None, (row["outcome"], row["message"])))) for row in errors]
    found += [
        Notice(
            "trouble", f"refused {row['name']} {row['credential']}", f"{row['name']} refuses the credential {row['credential']}"
        )
        for row in await tx.fetch(_REFUSED)
    ]
    found += await _budgets(tx, context)
    if "ended" in context.memory:
        state, reason = context.memory["ended"]
        at = to_micros(context.clock.now())
        found.append(Notice("end", f"end {at}", f"the crawl is over, {state}: {reason}"))
    return found, errors[-1]["error"] if errors else after


def _mark(key: str) -> str:
    """What is remembered of something that was told: its words may name people, who may ask to be forgotten meanwhile."""
    return sha256(key.encode(errors="replace")).hexdigest()[:32]


def _trouble(part: str, words: str) -> Notice:
    """The same trouble with other numbers in it is the same."""
    return Notice("trouble", f"{part} {_NUMBER.sub('#', words)}"[:200], f"{part}: {words}"[:500])


async def _budgets(tx: Transaction, context: ModuleContext) -> list[Notice]:
    """Purses and numbers of calls that are nearly spent."""
    share, found = float(context.options["budget"]), []
    for row in await tx.fetch(_PURSES):
        spent = row["allowance"] - row["remaining"]
        if 0 < row["allowance"] < _UNLIMITED and spent >= share * row["allowance"]:
            words = f"{spent / row['allowance']:.0%} of the budget of {row['bucket'].removesuffix('/money')} is spent"
            found.append(Notice("budget", f"budget {row['bucket']} {row['reset_at']}", words))
    crawl = await tx.fetch_one(_CRAWL, context.crawl)
    most = msgspec.json.decode(crawl["flow"]).get("stop", {}).get("calls") if crawl is not None else None
    if crawl is not None and most and crawl["calls"] >= share * most:
        found.append(Notice("budget", f"calls {most}", f"{crawl['calls']:,} of {most:,} calls are made"))
    return found


async def _tell(context: ModuleContext, notices: Sequence[Notice]) -> None:
    messenger, options = context.messenger, context.options
    if messenger is None:
        return
    lines = [f"- {each.words}" for each in notices[:_MOST_LINES]]
    more = [f"- and {len(notices) - _MOST_LINES:,} more: bowerbird status"] if len(notices) > _MOST_LINES else []
    subject = f"bowerbird: {context.crawl_name}: {_subject(notices)}"
    message = "\n".join([subject, *lines, *more, ""])
    try:
        if options["command"]:
            await messenger.run(options["command"], message)
        if options["webhook"]:
            await messenger.post(str(options["webhook"]), _values(context, subject, message, notices, context.clock.now()))
        if options["mail"]:
            await messenger.mail(str(options["server"]), options["mail"], subject, message)
    except OSError as error:
        raise UserError(f"the message could not be sent: {error}") from None


def _subject(notices: Sequence[Notice]) -> str:
    first = notices[0].words if len(notices) == 1 else ""
    counts = {kind: sum(each.kind == kind for each in notices) for kind in KINDS}
    words = {"trouble": "trouble", "end": "it is over", "budget": "a budget is nearly spent"}
    return first[:100] or ", ".join(words[kind] + (f" ({count})" if count > 1 else "") for kind, count in counts.items() if count)


def _values(context: ModuleContext, subject: str, message: str, notices: Sequence[Notice], now: datetime) -> dict[str, Any]:
    """`text` is what chats show that are told by webhook."""
    told = [{"kind": each.kind, "words": each.words} for each in notices]
    return {"text": message, "subject": subject, "crawl": context.crawl_name, "at": now.isoformat(), "notices": told}
