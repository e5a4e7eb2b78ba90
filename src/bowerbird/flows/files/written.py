"""The text of a crawl file, from what somebody chose in a form. Pure; it can be read by `parse_crawl` as any other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta

from msgspec import Struct

from bowerbird.flows.flow import Flow
from bowerbird.flows.language.spelling import spell
from bowerbird.model import TRAITS


class CrawlForm(Struct, frozen=True, kw_only=True):
    """What a crawl needs to be told."""

    name: str
    flow: str
    provider: str
    base: str
    service: str = ""
    """The name that the store has for the server; empty: its host."""
    store: str
    seeds: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()
    contact: str = ""
    calls: int | None = None
    posts: int | None = None
    users: int | None = None
    duration: timedelta | None = None
    max_users: int | None = None
    max_depth: int | None = None
    dollars: float | None = None
    """In all."""
    dollars_a_month: float | None = None
    country: str = ""
    """Whose community it is, for flows that are about one: a file that describes it lies beside the crawl file."""
    places: tuple[str, ...] = ()
    """Cities and countries, for flows that are about places."""


def written(form: CrawlForm, flow: Flow, *, seeds_file: str | None) -> str:
    """The crawl file; `seeds_file`: where its seeds are, or None to have them in the file itself."""
    blocks = [_head(form, flow, seeds_file), _service(form), *_about(form, flow), _stop(form), _filters(form)]
    return "\n".join("\n".join(block) + "\n" for block in blocks if block)


def _head(form: CrawlForm, flow: Flow, seeds_file: str | None) -> list[str]:
    lines = [f"# {flow.about or flow.name}", "", f"flow = {toml_text(form.flow)}", f"store = {toml_text(form.store)}"]
    if form.seeds and seeds_file is not None:
        lines.append(f"seeds.file = {toml_text(seeds_file)}")
    elif form.seeds:
        lines.append(f"seeds = {_texts(form.seeds)}")
    return lines + ([f"contact = {toml_text(form.contact)}"] if form.contact else [])


def _service(form: CrawlForm) -> list[str]:
    lines = ["[service]"] + ([f"name = {toml_text(form.service)}"] if form.service else [])
    lines += [f"provider = {toml_text(form.provider)}", f"base = {toml_text(form.base)}"]
    lines += [f"credentials = {_texts(form.credentials)}"] if form.credentials else []
    return lines + ([f"dollars = {form.dollars_a_month:g}"] if form.dollars_a_month is not None else [])


def _about(form: CrawlForm, flow: Flow) -> Iterator[list[str]]:
    if flow.needs_community:
        yield ["[community]", f"file = {toml_text(f'{form.name}.community.toml')}"]
    elif flow.needs_places:
        for place in form.places:
            yield ["[[places]]", f"name = {toml_text(place)}"]
    elif flow.listens and not flow.seeds and (stream := TRAITS[form.provider].example.stream):
        yield ["[[streams]]", *stream.splitlines()]


def _stop(form: CrawlForm) -> list[str]:
    numbers = {"calls": form.calls, "posts": form.posts, "users": form.users, "dollars": form.dollars}
    lines = [f"{name} = {value:g}" if name == "dollars" else f"{name} = {value}" for name, value in numbers.items() if value]
    lines += [f"duration = {toml_text(spell(form.duration))}"] if form.duration else []
    return ["[stop]", *lines] if lines else []


def _filters(form: CrawlForm) -> list[str]:
    numbers = {"max_depth": form.max_depth, "max_users": form.max_users}
    lines = [f"{name} = {value}" for name, value in numbers.items() if value is not None]
    return ["[filters]", *lines] if lines else []


def toml_text(value: str) -> str:
    """A text of TOML: its escapes are those of JSON, but for one character that JSON writes as it is."""
    return json.dumps(value).replace("\x7f", "\\u007f")


def _texts(values: Sequence[str]) -> str:
    return f"[{', '.join(map(toml_text, values))}]"
