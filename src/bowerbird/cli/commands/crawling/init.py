"""`bowerbird init`: writes a crawl file to start from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from bowerbird.app import vocabulary
from bowerbird.cli.commands.crawling.flow import named_flow
from bowerbird.cli.keys.vaults import names_taken
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import DEFAULT_FILE
from bowerbird.crawl.access.how_to_add import add_line, free_name, login_at
from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.flows.files.example import example
from bowerbird.flows.language.spelling import listed, meant
from bowerbird.model import TRAITS
from bowerbird.model.money import DEFAULT_DOLLARS, in_dollars, thousandths
from bowerbird.model.networks import FIRST
from bowerbird.planning.prices import AS_OF, X_PRICES, price_list
from bowerbird.starting.plan_checks import wanted_kinds


def command(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="Where to write it.")] = Path(DEFAULT_FILE),
    flow: Annotated[
        str, typer.Option("--flow", metavar="NAME", help="What to collect; see `bowerbird flow list`.")
    ] = "timelines",
    provider: Annotated[str, typer.Option("--provider", metavar="NAME", help=f"{listed(TRAITS)}.")] = FIRST,
    base: Annotated[
        str | None, typer.Option("--base", metavar="URL", help="The server, such as https://mastodon.social.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Write a commented crawl file, ready to edit and to run."""
    file = file if file.suffix == ".toml" else file.with_name(f"{file.name}.toml")
    text, plan = _text(file, flow, provider, base)
    _write(file, text, is_forced=force)
    output = Output(as_json=as_json)
    output.line(f"Wrote {file}.")
    is_paid = _is_paid(provider)
    if is_paid:
        _show_prices(output, provider)
    output.line("What to do next:")
    steps = (
        ("edit it: what to collect, from where, until when", f"$EDITOR {file}"),
        ("give it a key to the network", _key(plan)),
        ("check the set-up", f"bowerbird doctor {file}"),
        ("see what it will take and bring", f"bowerbird plan {file}"),
        ("run it, and again to go on where it stopped", f"bowerbird crawl {file}"),
    )
    for number, (what, how) in enumerate(steps, start=1):
        output.line(f"  {number}. {what:<50}{how}")
    money = {"dollars_allowed": DEFAULT_DOLLARS, "prices": X_PRICES} if is_paid else {}
    output.result({"file": file, "flow": flow, "provider": provider, **money})


def _is_paid(provider: str) -> bool:
    """Whether the network costs money."""
    return any(facet.is_paid for facet in vocabulary().facets(provider).values())


def _show_prices(output: Output, provider: str) -> None:
    output.line()
    columns = (f"what {provider} bills, each once per UTC day", "one", "a thousand")
    output.table("", columns, price_list())
    allowed = in_dollars(thousandths(DEFAULT_DOLLARS))
    output.line(f"Prices as of {AS_OF}. The file lets its crawls spend {allowed} a month: dollars under [service] is the cap.")
    output.line()


def _key(plan: CrawlPlan) -> str:
    """The command that adds a credential; Bluesky's public address takes none, there one logs in elsewhere."""
    planned = plan.services[0]
    place = login_at(planned.service.provider, planned.service.base)
    return add_line(planned.service.provider, wanted_kinds(plan, planned)[0], place, free_name(names_taken() or ()))


def _text(file: Path, flow: str, provider: str, base: str | None) -> tuple[str, CrawlPlan]:
    words = vocabulary()
    if flow not in words.flows:
        raise UserError(
            f"there is no built-in flow {flow!r}{meant(flow, words.flows)}",
            f"there are: {listed(words.flows)}",
            code="unknown_flow",
        )
    if provider not in words.providers:
        raise UserError(
            f"there is no provider {provider!r}{meant(provider, words.providers)}",
            f"there are: {listed(words.providers)}",
            code="unknown_provider",
        )
    chosen = named_flow(flow, words)
    if not chosen.seeds and not words.channels.get(provider):
        able = listed(name for name in words.providers if words.channels.get(name))
        raise UserError(f"the flow {flow} only listens, and {provider} has no streams", f"it runs on: {able}", code="unsupported")
    text = example(chosen, provider, file.stem, is_paid=_is_paid(provider))
    if base is not None:
        # A function, so that no backslash of the address is taken for a group.
        text = re.sub(r"(?m)^base = .*$", lambda _: f'base = "{base.rstrip("/")}"', text, count=1)
    # What we hand out must be right: a wrong --base is named here, not at the first crawl.
    return text, parse_crawl(text, file, words)


def _write(file: Path, text: str, *, is_forced: bool) -> None:
    try:
        with file.open("w" if is_forced else "x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise UserError(
            f"{file} exists already", "choose another name, or overwrite it with --force", code="already_exists"
        ) from None
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}", "choose another place", code="file_unwritable") from None
