"""Every command that the pages show runs: names of real people and servers are replaced by those of simulated ones."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from simulated_server import Server, running
from test_everyday import handle, writers

from bowerbird import cli
from bowerbird.cli import EVERYDAY

DOCS = Path(__file__).parents[3] / "docs"
PAGES = sorted([*(DOCS / "start").glob("*.md"), *(DOCS / "how-to").glob("*.md")])
_BLOCK = re.compile(r"(<!-- not run: .+ -->\n)?```(sh|python)\n(.*?)```", re.DOTALL)
_POST = "https://bsky.app/profile/alice.bsky.social/post/3l6oveex3ii2l"


class Cast:
    """Who plays whom: simulated accounts, posts and servers for those that the pages name."""

    def __init__(self, servers: dict[str, Server]) -> None:
        self._servers = servers
        sky, herd = servers["bluesky"], servers["mastodon"]
        self.alice = handle(sky, writers(sky, 1)[0])
        self.tooter = handle(herd, writers(herd, 1)[0])
        self.accounts = [handle(herd, each) for each in writers(herd, 3)]
        self.posts = sky.post_keys(5)

    def played(self, line: str) -> list[str]:
        """The words of a command as they are run."""
        words = shlex.split(line, comments=True)
        network = "mastodon" if "mastodon.social" in line else "bluesky"
        known = {"@alice.bsky.social": self.alice, "@alice@mastodon.social": self.tooter, _POST: self.posts[0]}
        played = [known.get(word, word) for word in words]
        if len(played) > 1 and played[1] in EVERYDAY:
            if "--on" in played:
                place = played.index("--on")
                del played[place : place + 2]
            played += ["--on", self._servers[network].base, "--provider", network]
        if "--for" in played:
            played[played.index("--for") + 1] = "2s"
        return played


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(running(dialect=name)) for name in ("bluesky", "mastodon")}


@pytest.fixture(scope="module")
def cast(servers: dict[str, Server]) -> Cast:
    return Cast(servers)


@pytest.fixture(scope="module")
def stores(servers: dict[str, Server], cast: Cast, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the stores that pages read."""
    folder = tmp_path_factory.mktemp("stores")
    crawl = servers["mastodon"].crawl_file(folder / "crawl.toml", seeds=10, more="stop.calls = 11")
    assert cli.run(["crawl", str(crawl)]) == 0
    crawl.unlink()
    alice = shlex.split(f"bowerbird timeline @alice.bsky.social --limit 20 --store {folder}/alice.db -o {folder}/a.jsonl")
    assert cli.run(cast.played(shlex.join(alice))[1:]) == 0
    return folder


@pytest.fixture
def folder(tmp_path: Path, stores: Path, cast: Cast, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOWERBIRD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for store in stores.glob("*.db"):
        (tmp_path / store.name).write_bytes(store.read_bytes())
    (tmp_path / "users.csv").write_text("handle,party\n" + "".join(f"{each},green\n" for each in cast.accounts))
    (tmp_path / "ids.txt").write_text("\n".join(cast.posts) + "\n")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_the_examples_of_a_page_run(page: Path, folder: Path, cast: Cast, capfd: pytest.CaptureFixture[str]) -> None:
    if page.parent.name == "start":
        (folder / "alice.db").unlink()
    for reason, language, text in _BLOCK.findall(page.read_text("utf-8")):
        if reason:
            continue
        for line in [text] if language == "python" else text.strip().splitlines():
            code = _python(line) if language == "python" else _run(line, cast)
            assert code == 0, f"{line}\n{capfd.readouterr().err}"


def _run(line: str, cast: Cast) -> int:
    if "|" not in line and ">" not in line:
        words = cast.played(line)
        assert words[0] == "bowerbird", line
        return cli.run(words[1:])
    head, _, tail = line.partition("bowerbird ")
    command, arrow, target = ("bowerbird " + tail).partition(">")
    words = [str(Path(sys.executable).parent / "bowerbird"), *cast.played(command)[1:]]
    return subprocess.run(["bash", "-c", f"{head} {shlex.join(words)} {arrow} {target}"], check=False).returncode


def _python(text: str) -> int:
    return subprocess.run([sys.executable, "-c", text], check=False, env=os.environ).returncode
