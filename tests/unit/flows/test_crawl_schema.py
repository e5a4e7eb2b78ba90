"""The JSON Schema of crawl files says what the reader of crawl files does: the same keys, and every example of ours is fine."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from bowerbird import cli
from bowerbird.app import vocabulary
from bowerbird.flows.consent import CONSENT_KEYS
from bowerbird.flows.files import crawl_file, flow_file
from bowerbird.flows.files.schema import crawl_schema
from bowerbird.flows.files.sections import place_plans, seed_list, stream_plans
from bowerbird.flows.files.sections.card_words import CARD_KEYS
from bowerbird.flows.files.sections.media_plan import MEDIA_KEYS

WORDS = vocabulary()
SCHEMA = crawl_schema(WORDS)
PAGES = Path(__file__).parents[3] / "docs"
SERVICE = '[service]\nprovider = "mastodon"\nbase = "https://mastodon.social"\n'


def keys(*path: str) -> set[str]:
    """The keys that the schema knows in a table of the file."""
    found: Any = SCHEMA
    for part in path:
        found = found["properties"][part]
        found = found.get("items", found)
        found = next((way for way in found.get("anyOf", [found]) if "properties" in way), found)
    return set(found["properties"])


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ((), crawl_file.CRAWL_KEYS),
        (("service",), crawl_file.SERVICE_KEYS),
        (("seeds",), seed_list.SEED_KEYS),
        (("streams",), stream_plans.OWN_KEYS),
        (("places",), place_plans.PLACE_KEYS),
        (("backup",), crawl_file.BACKUP_KEYS),
        (("history",), crawl_file.HISTORY_KEYS),
        (("media",), MEDIA_KEYS),
        (("card",), CARD_KEYS),
        (("consent",), CONSENT_KEYS),
        (("stop",), flow_file.STOP_KEYS),
        (("filters",), flow_file.FILTER_KEYS),
        (("flow",), (*flow_file.FLOW_KEYS, "use")),
        (("flow", "edges"), flow_file.EDGE_KEYS),
        (("flow", "facets", "timeline"), flow_file.FACET_KEYS),
    ],
)
def test_it_knows_every_key_and_no_other(path: tuple[str, ...], known: tuple[str, ...]) -> None:
    assert keys(*path) == set(known)


@pytest.mark.parametrize("name", sorted(WORDS.flows))
def test_every_built_in_flow_is_fine_inside_a_crawl_file(name: str) -> None:
    jsonschema.validate({"flow": tomllib.loads(WORDS.flows[name])}, SCHEMA)


def test_the_file_that_init_writes_is_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["init"]) == 0
    jsonschema.validate(tomllib.loads(Path("crawl.toml").read_text("utf-8")), SCHEMA)


def test_the_examples_of_the_pages_are_fine() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", "".join(page.read_text("utf-8") for page in sorted(PAGES.glob("*.md"))), re.DOTALL)
    crawls = [values for values in map(tomllib.loads, blocks) if "service" in values or "services" in values]
    assert crawls
    for values in crawls:
        jsonschema.validate(values, SCHEMA)


@pytest.mark.parametrize(
    "wrong",
    [
        'flow = "timelines"\nseed = ["@a"]\n' + SERVICE,
        'flow = "timelines"\n' + SERVICE.replace("mastodon", "mastodong", 1),
        'flow = "timelines"\n' + SERVICE + '[stop]\nduration = "soon"\n',
        'flow = "timelines"\n' + SERVICE + "[stop]\ncalls = 0\n",
        '[flow]\nuse = "timelines"\nfacets.timeline.ranker = "best"\n' + SERVICE,
    ],
)
def test_mistakes_are_marked(wrong: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(wrong), SCHEMA)


def test_the_command_writes_it_and_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["flow", "schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA
    file = tmp_path / "crawl.schema.json"
    assert cli.run(["flow", "schema", str(file)]) == 0
    assert "#:schema ./crawl.schema.json" in capsys.readouterr().out
    assert json.loads(file.read_text("utf-8")) == SCHEMA
    assert cli.run(["flow", "schema", str(file)]) == 2
