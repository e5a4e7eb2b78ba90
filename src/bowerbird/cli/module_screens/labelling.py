"""A sample shown account by account, one key each; what is said is kept at once."""

from __future__ import annotations

import csv
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import typer
from msgspec import Struct

from bowerbird.analysis.agreement import LABELS, NO, UNSURE, YES, Share
from bowerbird.cli.screens.output import Output
from bowerbird.errors import UserError
from bowerbird.reports.community.judged import JudgedAccount
from bowerbird.reports.community.wording import judged_words, told_of
from bowerbird.reports.labels import Labelled

KEYS = {"y": YES, "n": NO, "u": UNSURE}
_HELP = "[y]es  [n]o  [u]nsure  [b]ack  [q]uit"
_LONGEST = 280
Post = tuple[datetime | None, str]


class Asking(Struct, frozen=True, kw_only=True):
    """How an account is asked about."""

    show: Callable[[JudgedAccount], Awaitable[Sequence[Post]]]
    """Its latest posts."""
    keep: Callable[[JudgedAccount, str], Awaitable[Share]]
    """Keeps a label; answers the share so far."""
    key: Callable[[], str]
    """The next key that is pressed."""


def pressed() -> str:
    """A key of the terminal."""
    return typer.getchar()


async def ask(output: Output, accounts: Sequence[JudgedAccount], labelled: set[int], asking: Asking) -> None:
    """Asks about every account that has no label yet; `b` goes back to the one before."""
    place = 0
    while place < len(accounts):
        account = accounts[place]
        if account.number in labelled:
            place += 1
            continue
        _show(output, place + 1, len(accounts), account, await asking.show(account))
        word = _answer(output, asking)
        if word == "quit":
            return
        if word == "back":
            place = max(0, place - 1)
            labelled.discard(accounts[place].number)
            continue
        output.line(f"  {word}; {share_words(await asking.keep(account, word))}")
        labelled.add(account.number)
        place += 1


def _answer(output: Output, asking: Asking) -> str:
    while True:
        output.line(f"  {_HELP}")
        key = asking.key().lower()
        if key in KEYS:
            return KEYS[key]
        if key in ("q", "\x03", "\x04", ""):
            return "quit"
        if key == "b":
            return "back"


def _show(output: Output, place: int, of: int, account: JudgedAccount, posts: Sequence[Post]) -> None:
    output.line()
    output.line(f"{place} of {of}  @{account.handle or account.id}  {account.name or ''}", style="bold")
    told = {"place": account.location, "language": account.language, "page": account.url, "says": account.description}
    for name, value in told.items():
        if value:
            output.line(f"  {name:9} {_short(value)}")
    output.line(
        f"  {'counts':9} {account.posts or 0:,} posts, {account.followers or 0:,} followers, follows {account.following or 0:,}"
    )
    if account.reason is not None:
        output.line(f"  {'judged':9} {judged_words(account.reason)}, {account.confidence or 0:.0%} sure")
        for words in told_of(account.evidence):
            output.line(f"  {'':9} {_short(words)}")
    for at, text in posts:
        output.line(f"  {f'{at:%Y-%m-%d}' if at else '':10} {_short(text)}")
    if not posts:
        output.line("  no posts of its own are stored")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"


def share_words(share: Share) -> str:
    """`belong: 18 of 20, 90.0 % (69.9 to 97.2)`."""
    if share.share is None:
        return "nothing decided yet"
    return f"belong: {share.hits:,} of {share.of:,}, {share.share * 100:.1f} % ({share.low * 100:.1f} to {share.high * 100:.1f})"


def show_labelled(output: Output, found: Labelled) -> None:
    """How a sample stands."""
    output.line(
        f"{found.judge} says {found.said}: {found.drawn:,} accounts drawn, {found.labelled:,} labelled, {found.unsure:,} unsure; "
        f"{share_words(found.belongs)}"
    )
    if len(found.people) > 1:
        rows = [(each.who, f"{each.labelled:,}", f"{each.unsure:,}", share_words(each.belongs)) for each in found.people]
        output.table("", ["by", "labelled", "unsure", ""], rows)
    if found.agreement is not None:
        each = found.agreement
        name = "Cohen's" if each.people == 2 else "Fleiss'"
        kappa = "cannot be told: everybody always says the same" if each.kappa is None else f"{each.kappa:.2f}"
        output.line(
            f"{each.people} people share {each.accounts:,} accounts and agree on {each.alike * 100:.1f} %; {name} kappa {kappa}"
        )


def labels_in(file: Path, who: str) -> list[tuple[str, str, str]]:
    """The labels of a CSV file with the columns id or handle, label and perhaps who; raises `UserError` naming the line."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return list(_read(csv.DictReader(lines), file, who))
    except FileNotFoundError:
        raise UserError(
            f"there is no file {file}", "--labels names a CSV with the columns id or handle, and label", code="file_not_found"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the labels in {file} cannot be read: {error}", code="file_unreadable") from None


def _read(reader: csv.DictReader[str], file: Path, who: str) -> Iterator[tuple[str, str, str]]:
    columns = set(reader.fieldnames or ())
    if "label" not in columns or not columns & {"id", "handle"}:
        raise UserError(
            f"{file} must have the columns label, and id or handle, with their names above (and who, for several people)"
        )
    words = {**KEYS, **{label: label for label in LABELS}}
    for row in reader:
        word = words.get((row["label"] or "").strip().lower())
        if word is None:
            raise UserError(f"{file}, line {reader.line_num}: the label must be yes, no or unsure, not {row['label']!r}")
        yield (row.get("id") or row.get("handle") or "").strip(), (row.get("who") or who).strip(), word
