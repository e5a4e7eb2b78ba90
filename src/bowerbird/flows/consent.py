"""`[consent]` of a crawl file: which signs of not wishing to be collected count, and who is left out whatever they say.

[consent]
opt_out = "not-these.txt"
override = ["indexable"]
reason = "approved by the ethics board, protocol 2026-17"
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, structs

from bowerbird.errors import UserError
from bowerbird.flows.language.spelling import listed, meant
from bowerbird.flows.language.tables import Table
from bowerbird.model import COUNTED_SIGNALS, Page, Signal, User

CONSENT_KEYS = ("opt_out", "also", "override", "deleted", "reason")
ERASE, KEEP = "erase", "keep"
_KEPT = (
    "What was deleted, and what suspended and deleted accounts wrote, is kept and marked with time and reason; exports leave it "
    "out unless they say otherwise."
)
_EXAMPLE = 'reason = "approved by the ethics board, protocol 2026-17"'


class Consent(Struct, frozen=True, kw_only=True):
    """What one crawl does about opt-outs; without a word in the crawl file, what the networks' signs usually mean."""

    opt_out: str = ""
    """The path of a list of people who are kept out."""
    also: tuple[Signal, ...] = ()
    """Signs that usually do not count, and do here."""
    override: tuple[Signal, ...] = ()
    """Signs that do not count here."""
    deleted: str = ERASE
    """What becomes of deleted posts, and of what suspended and deleted accounts wrote: erased, or kept and marked."""
    reason: str = ""
    """Why signs do not count, or why what is deleted is kept."""

    @property
    def keeps_deleted(self) -> bool:
        return self.deleted == KEEP

    @property
    def counted(self) -> frozenset[Signal]:
        """The signs that make an account one that is not collected."""
        return COUNTED_SIGNALS.union(self.also).difference(self.override)

    def heeded(self, page: Page) -> Page:
        """The page with its accounts as this crawl understands their signs."""
        if self.counted == COUNTED_SIGNALS or not any(user.signals for user in page.users):
            return page
        return structs.replace(page, users=tuple(self._understood(user) for user in page.users))

    def _understood(self, user: User) -> User:
        opts_out = not self.counted.isdisjoint(user.signals)
        return structs.replace(user, opts_out=opts_out) if user.signals and user.opts_out is not opts_out else user


USUAL = Consent()


def consent_of(table: Table, folder: Path, seeds_file: str) -> Consent:
    """The `[consent]` of a crawl file; relative paths start from the folder given."""
    inner = table.table("consent")
    inner.only(CONSENT_KEYS, "[consent]")
    also, override, reason = _signals(inner, "also"), _signals(inner, "override"), inner.text("reason").strip()
    deleted = inner.text("deleted") or ERASE
    if deleted not in (ERASE, KEEP):
        raise inner.wrong("deleted", "what is deleted is erased or kept", f'write deleted = "{ERASE}" or deleted = "{KEEP}"')
    if override and not reason:
        raise inner.wrong(
            "override", "whoever overrides an opt-out says why", f"add for example: {_EXAMPLE}", code="missing_value"
        )
    if deleted == KEEP and not reason:
        raise inner.wrong(
            "deleted", "whoever keeps what people have deleted says why", f"add for example: {_EXAMPLE}", code="missing_value"
        )
    if reason and not override and deleted == ERASE:
        raise inner.wrong(
            "reason",
            "reason says why signs are overridden",
            'add for example: override = ["indexable"]',
            code="conflicting_options",
        )
    if both := set(also) & set(override):
        raise inner.wrong(
            "also",
            f"{listed(both)} cannot both count and be overridden",
            "take it out of one of the two",
            code="conflicting_options",
        )
    opt_out = _list(inner, folder, seeds_file)
    return Consent(opt_out=opt_out, also=also, override=override, deleted=deleted, reason=reason)


def consent_told(override: Sequence[str], reason: str, opt_out: Path | None) -> Consent:
    """What a command line says of opt-outs; raises `UserError` in its own words."""
    known = [each.value for each in Signal]
    for name in override:
        if name not in known:
            raise UserError(
                f"nobody gives a sign called {name!r}{meant(name, known)}", f"known: {listed(known)}", code="unknown_name"
            )
    if override and not reason.strip():
        raise UserError(
            "whoever overrides an opt-out says why",
            "add --reason, such as --reason 'approved by the ethics board, protocol 2026-17'",
            code="needs_option",
        )
    if reason and not override:
        raise UserError(
            "--reason says why signs are overridden",
            "add for example --override indexable, or leave it out",
            code="conflicting_options",
        )
    if opt_out is not None and not opt_out.expanduser().is_file():
        raise UserError(
            f"the opt-out list {opt_out} is not there", "name a file with one account per line", code="file_not_found"
        )
    listed_in = str(opt_out.expanduser().absolute()) if opt_out is not None else ""
    return Consent(opt_out=listed_in, override=tuple(sorted({Signal(name) for name in override})), reason=reason.strip())


def _signals(table: Table, key: str) -> tuple[Signal, ...]:
    known = [each.value for each in Signal]
    for number, name in enumerate(table.texts(key)):
        if name not in known:
            problem = f"nobody gives a sign called {name!r}{meant(name, known)}"
            path = (*table.path, key, number)
            raise table.document.wrong(path, problem, f"known: {listed(known)}", code="unknown_name")
    return tuple(sorted({Signal(name) for name in table.texts(key)}))


def _list(table: Table, folder: Path, seeds_file: str) -> str:
    if not table.text("opt_out"):
        return ""
    path = folder / Path(table.text("opt_out")).expanduser()
    if not path.is_file():
        raise table.wrong(
            "opt_out",
            f"the list {str(path)!r} does not exist",
            "paths start from the folder of the crawl file",
            code="file_not_found",
        )
    if seeds_file and path.samefile(seeds_file):
        raise table.wrong(
            "opt_out",
            "this file holds the seeds, and whoever is on an opt-out list is removed for good",
            "name another",
            code="conflicting_options",
        )
    return str(path)


def consent_words(told: Iterable[Consent]) -> list[str]:
    """What crawls did about opt-outs, in sentences for people who read of the data."""
    found: dict[str, None] = {}
    for each in told:
        if each.override:
            found[f"Signs that were not heeded: {_named(each.override)}. The reason given: {each.reason}"] = None
        if each.keeps_deleted:
            found[f"{_KEPT} The reason given: {each.reason}"] = None
        if each.also:
            found[f"Signs that were heeded beyond the usual ones: {_named(each.also)}."] = None
        if each.opt_out:
            found["People on a list that was kept by those who collected the data were kept out altogether."] = None
    return list(found)


def _named(signals: Iterable[Signal]) -> str:
    return "; ".join(f"{each.value} ({each.meaning})" for each in signals)
