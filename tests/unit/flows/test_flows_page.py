"""docs/flows.md and docs/crawl-file.md are true: every drawing, example and key in it is the one of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bowerbird.cli.commands.crawling.flow import named_flow, vocabulary
from bowerbird.flows.consent import CONSENT_KEYS
from bowerbird.flows.drawing import as_text
from bowerbird.flows.files import crawl_file, flow_file
from bowerbird.flows.files.sections import place_plans, seed_list, stream_plans
from bowerbird.flows.files.sections.card_words import CARD_KEYS
from bowerbird.flows.files.sections.media_plan import MEDIA_KEYS
from bowerbird.flows.flow import TAKES
from bowerbird.flows.keywords import KEYWORD_KEYS
from bowerbird.flows.language import condition
from bowerbird.model import Signal
from bowerbird.policies import RANKERS

DOCS = Path(__file__).parents[3] / "docs"
PAGE = "".join((DOCS / name).read_text("utf-8") for name in ("flows.md", "crawl-file.md"))
WORDS = vocabulary()


@pytest.mark.parametrize("name", sorted(WORDS.flows))
def test_the_page_shows_the_drawing_of_every_flow(name: str) -> None:
    assert as_text(named_flow(name, WORDS)).split("\n\n", 1)[1].rstrip() in PAGE


def test_the_page_explains_every_key_take_word_and_ranker() -> None:
    tables = (
        crawl_file.CRAWL_KEYS,
        crawl_file.SERVICE_KEYS,
        stream_plans.OWN_KEYS,
        seed_list.SEED_KEYS,
        flow_file.FLOW_KEYS,
        flow_file.FACET_KEYS,
        flow_file.EDGE_KEYS,
        flow_file.STOP_KEYS,
        flow_file.FILTER_KEYS,
        TAKES,
        RANKERS,
        crawl_file.BACKUP_KEYS,
        CARD_KEYS,
        CONSENT_KEYS,
        [each.value for each in Signal],
        crawl_file.HISTORY_KEYS,
        MEDIA_KEYS,
        place_plans.PLACE_KEYS,
        KEYWORD_KEYS,
        condition.FLAGS,
        condition.NUMBERS,
        condition.TEXTS,
    )
    keys = {key for table in tables for key in table}
    assert {key for key in keys - {"services"} if f"`{key}`" not in PAGE} == set()


def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("1\n", "utf-8")
    (tmp_path / "accounts.csv").write_text("id\n1\n", "utf-8")
    (tmp_path / "pt.toml").write_text('[places]\ncountries = ["PT"]\n', "utf-8")
    examples = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    names = [crawl_file.parse_crawl(text, tmp_path / "x.toml", WORDS).flow.name for text in examples]
    assert names == [name for name in re.findall(r"^### `(\w+)`", PAGE, re.MULTILINE) if name in WORDS.flows]


def test_the_conditions_of_the_page_are_conditions() -> None:
    examples = re.findall(r'^    when = "(.*)"$', PAGE, re.MULTILINE)
    assert len(examples) == 4
    assert all(condition.parse(text).words for text in examples)


def test_the_python_example_of_the_page_runs() -> None:
    example = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    names: dict[str, object] = {}
    exec(example[1], names)
    assert names["flow"].name == "timelines"  # type: ignore[attr-defined]
