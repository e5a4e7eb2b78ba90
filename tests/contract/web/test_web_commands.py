"""Commands that pages print to be copied: each is a whole line for a shell, and says which store and crawl it is about."""

from __future__ import annotations

import re
import shlex
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import pytest

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.web.site import Site
from web_site import CHEAP, Client, Crawled

_CRAWL = 'it\'s "mine"'
_ITS_OWN = {"completeness", "keywords", "modules", "resume"}
"""Commands that ask which crawl is meant where a store holds several."""
_TEMPLATES = Path(__file__).parents[3] / "src/bowerbird/web/templates"
_PAGES = [
    "/", "/crawls/{}", "/crawls/{}/frontier", "/crawls/{}/limits", "/work", "/work/calls", "/work/errors",
    "/work/timings", "/work/modules", "/work/modules/{}/growth", "/machine/tables/posts", "/figures", "/figures/map",
    "/completeness/{}", "/community/{}", "/data/posts",
]  # fmt: skip


@pytest.fixture
async def client(crawled: Crawled, tmp_path: Path) -> AsyncIterator[Client]:
    folder = tmp_path / "my user's stores"
    folder.mkdir()
    file = crawled.copy(folder)
    database = await open_database(str(file), RealClock())
    async with database.transaction() as tx:
        await tx.execute("update crawls set name = ?, state = 'paused', wanted = 'paused'", _CRAWL)
    entered = Client(Site(database, RealClock(), str(file), store=str(file), cost=CHEAP))
    await entered.enter()
    yield entered
    await database.close()


async def test_a_shell_reads_every_command_as_it_is_meant(client: Client) -> None:
    seen = set()
    for path in _PAGES:
        answer = await client.get(path.format("it%27s%20%22mine%22"))
        assert answer.status == 200, path
        for line in re.findall(r"<code>(bowerbird [^<]*)</code>", answer.text):
            words = shlex.split(unescape(line))
            seen.add(words[1])
            assert client.site.name in words or not any("stores" in word for word in words), line
            if words[1] in _ITS_OWN and client.site.name in words:
                assert words[words.index("--crawl") + 1] == _CRAWL, line
    assert seen >= {"status", "worker", "export", "modules", "query"}


def test_no_template_writes_a_name_into_a_command_itself() -> None:
    for file in _TEMPLATES.rglob("*.html"):
        assert not re.findall(r"bowerbird [a-z][^<`]*\{\{|[\"']bowerbird [a-z][^\"']*[\"'] ~", file.read_text()), file.name
