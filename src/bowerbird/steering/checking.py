"""What is said of a crawl file that came from a browser, while it is typed and before it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from bowerbird.errors import CredentialError, Failure, FlowError, UserError
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.flows.files.written import toml_text
from bowerbird.flows.language.toml_lines import read
from bowerbird.ports import Vault
from bowerbird.reports.consent import Wish, may_spend, wish_of
from bowerbird.starting.plan_checks import check_credentials, left_out, sorted_seeds
from bowerbird.steering.files import Draft
from bowerbird.steering.reach import check_reach
from bowerbird.vocabulary import vocabulary

_STORE = re.compile(r"(?m)^store\s*=.*$")
_TABLE = re.compile(r"(?m)^\s*\[")
_PLAIN = re.compile(r"[\w-]+")
_FILES = (("seeds", "file"), ("seeds", "store"), ("community", "file"), ("consent", "opt_out"), ("backup", "media"))
_FOLDERS = (("backup", "folder"), ("media", "folder"))
_ONE_STORE = "store is said in a way that cannot be replaced by the store of this dashboard: take it out of the file"


class Checked(Struct, frozen=True, kw_only=True):
    """What is right and wrong with it."""

    plan: CrawlPlan | None = None
    problem: Failure | None = None
    """What must be changed; None: it can be started."""
    missing: Failure | None = None
    """What is missing outside of the file, such as a credential: it can be written, and not be started yet."""
    notes: tuple[str, ...] = ()
    seeds: int = 0
    wish: Wish | None = None
    """What it may spend; None where it costs nothing."""
    may: str = ""
    """The same in words."""


def check(draft: Draft, vault: Vault) -> Checked:
    """Reads a draft as a crawl would; nobody is asked, and nothing stays on the disk."""
    with TemporaryDirectory(prefix="bowerbird-") as folder:
        try:
            plan = _parsed(draft, Path(folder))
            check_reach(plan)
            unusable = sorted_seeds(plan, {})
            unusable.check(skips_bad=True)
        except UserError as error:
            return Checked(problem=error.failure.within(error.problem.replace(f"{folder}/", "")))
    missing = None
    try:
        for planned in plan.services:
            check_credentials(plan, planned, vault)
    except CredentialError as error:
        missing = error.failure
    notes = (line.replace(f"{folder}/", "") for line in (*unusable.report(), *left_out(plan)))
    wish = wish_of(plan)
    return Checked(
        plan=plan, missing=missing, notes=tuple(notes), seeds=unusable.good, wish=wish, may=may_spend(plan) if wish else ""
    )


def stored_here(text: str, store: str) -> str:
    """The same text with this store: a crawl that is made in a browser keeps what it collects where the browser looks."""
    line = f"store = {toml_text(store)}"
    first = _TABLE.search(text)
    head, tail = (text[: first.start()], text[first.start() :]) if first else (text, "")
    has_one = bool(_STORE.search(head))
    changed = _STORE.sub(lambda _: line, head, count=1) + tail if has_one else f"{line}\n{head}{tail}"
    # What looks like the line may stand inside of a longer text, with the true one after it. What is no TOML is told later.
    with suppress(FlowError):
        if read(changed, "").values.get("store") != store:
            raise UserError(_ONE_STORE)
    return changed


def _parsed(draft: Draft, folder: Path) -> CrawlPlan:
    path = folder / f"{draft.name}.toml"
    for wrong in _named_files(draft):
        raise FlowError(wrong, file=path.name)
    for ending, content in draft.side_files.items():
        (folder / f"{draft.name}{ending}").write_text(content, encoding="utf-8")
    return parse_crawl(draft.text, path, vocabulary())


def _named_files(draft: Draft) -> Iterator[str]:
    """A browser chooses no files of this machine: of those that a crawl file can name, only our own lie beside it."""
    values = read(draft.text, f"{draft.name}.toml").values
    own = {f"{draft.name}{ending}" for ending in draft.side_files}
    for table, key in (*_FILES, *_FOLDERS):
        found = _at(values, table, key)
        is_folder = (table, key) in _FOLDERS and _PLAIN.fullmatch(str(found))
        if found is not None and found not in own and not is_folder:
            yield f"{table}.{key} names a file of the machine, which a crawl that is made here may not: {_INSTEAD[table]}"
    flow = values.get("flow")
    used = flow.get("use") if isinstance(flow, dict) else flow
    if isinstance(used, str) and not _PLAIN.fullmatch(used):
        yield f"flow = {used!r:.60} is no built-in flow: write the flow itself under [flow], or start it from a command line"


_INSTEAD = {
    "seeds": "write the seeds into the box for them",
    "community": "write the description itself under [community]",
    "consent": "start it from a command line",
    "backup": "start it from a command line",
    "media": "name a folder without a path, such as media",
}


def _at(values: Mapping[str, Any], table: str, key: str) -> Any:
    inner = values.get(table)
    return inner.get(key) if isinstance(inner, dict) else None
