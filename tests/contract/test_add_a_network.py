"""A toy network, added to a copy of the package by the four steps of docs/providers.md, is crawled over HTTP; its people are
forgotten and get pseudonyms by its own addresses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import bowerbird

TRAITS = """
_FINCH_NETWORK = Network(
    name="finch",
    naming=Naming(
        pages=(PageForm(pattern=r"https://finch\\.example/(?P<who>[a-z]+)", users=("finch:{who}",), handles=("{who}",)),),
        profile="https://finch.example/{}",
        profile_hosts=("finch.example",),
    ),
)
FINCH = Traits(
    provider="finch",
    network=_FINCH_NETWORK,
    base="https://finch.example",
    servers=("https://finch.example",),
    secrets={"user": (("access_token",),), "app": (("access_token",),)},
    example=Example(user="ada", post="1"),
)
"""
PROVIDER = """
from datetime import timedelta

import msgspec

from bowerbird.errors import UserError
from bowerbird.model import Facet, Gone, Limit, Outcome, Page, Post, Progress, Request, Subject, User
from bowerbird.providers.base import Provider, tables_of

WORDS = {5: "as https://finch.example/bob sang: tweet"}
LIMIT = Limit(bucket="{service}/address", allowance=1000, window=timedelta(minutes=1))
TIMELINE = Facet(
    name="timeline", subject=Subject.USER, yields=frozenset({"users", "posts"}), results_per_call=2, is_incremental=True
)
TABLES = tables_of((TIMELINE,), {"user": (LIMIT,), "app": (LIMIT,), "none": (LIMIT,)})


class Finch(Provider):
    name = network = "finch"
    default_tables = TABLES
    probe_path = "/about"
    positions = frozenset({"before"})

    def is_own_response(self, body, base_path):
        return "songs" in body

    def request(self, ask):
        before = (("before", ask.progress.cursor),) if ask.progress.cursor else ()
        return Request(path=f"/songs/{ask.targets[0]}", query=before)

    def target(self, text, facet):
        if not text.isalpha():
            raise UserError(f"Invalid finch {text!r}. Write letters only.")
        return text

    def parse(self, ask, answer, service):
        owner = ask.targets[0]
        if answer.status == 404:
            return Page(outcome=Outcome.NOT_FOUND, gone=(Gone(Subject.USER, owner, Outcome.NOT_FOUND),))
        try:
            songs = msgspec.json.decode(answer.body)["songs"]
        except (msgspec.DecodeError, KeyError, TypeError):
            return Page(outcome=Outcome.UNREADABLE)
        user = User(id=f"finch:{owner}", key=owner, handle=owner)
        posts = tuple(Post(id=f"finch:{n}", key=str(n), author=user.id, text=WORDS.get(n, f"song {n}")) for n in songs)
        return Page(users=(user,), posts=posts, cursor=str(min(songs)) if len(songs) == 2 else None)
"""
CRAWL = """
seeds = ["ada", "bob"]

[service]
provider = "finch"
base = "{base}"

[flow]
name = "songs"
seeds = ["timeline"]
[flow.facets.timeline]
"""


SONGS = {"ada": [5, 4, 3, 2, 1], "bob": [9]}


class Birds(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        before = int(query.partition("=")[2] or 100)
        known = SONGS.get(path.removeprefix("/songs/"))
        body: Any = {"songs": []} if path == "/about" else {"songs": [n for n in known or () if n < before][:2]}
        self.send_response(200 if known is not None or path == "/about" else 404)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def base() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Birds)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def add_line(path: Path, after: str, line: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert after in text
    path.write_text(text.replace(after, line, 1), encoding="utf-8")


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the package with the toy network, by the four steps and nothing else."""
    package = tmp_path / "src" / "bowerbird"
    shutil.copytree(Path(bowerbird.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    networks = package / "model/networks.py"
    add_line(networks, "\nTRAITS: ", TRAITS + "\nTRAITS: ")
    add_line(networks, "in (BLUESKY,", "in (FINCH, BLUESKY,")
    (package / "providers/finch").mkdir()
    (package / "providers/finch/__init__.py").write_text(PROVIDER, encoding="utf-8")
    providers = package / "providers/__init__.py"
    add_line(providers, "_CLASSES = {", '_CLASSES = {"finch": "Finch", ')
    return tmp_path


def run(house: Path, *words: str) -> dict[str, Any]:
    folders = {f"BOWERBIRD_{name}_FOLDER": str(house / name.lower()) for name in ("CONFIG", "DATA", "CACHE")}
    environment = {**os.environ, **folders, "PYTHONPATH": str(house / "src")}
    made = subprocess.run(
        [sys.executable, "-m", "bowerbird", *words, "--json"],
        cwd=house,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return dict(json.loads(made.stdout.splitlines()[-1]))


def test_a_network_is_added_in_four_steps(house: Path, base: str) -> None:
    (house / "birds.toml").write_text(CRAWL.format(base=base), encoding="utf-8")
    run(house, "crawl", "birds.toml")
    status = run(house, "status", "birds.toml")
    assert status["posts"]["kept"]["value"] == 6
    assert "https://finch.example/bob sang" in exported(house, "plain.jsonl")
    hidden = exported(house, "hidden.jsonl", "--key", "key")
    assert "tweet" in hidden
    assert "bob" not in hidden
    run(house, "forget", "https://finch.example/bob", "--store", "birds.toml", "--yes")
    left = exported(house, "left.jsonl")
    assert "song 4" in left
    assert "song 9" not in left
    assert "bob" not in left


def exported(house: Path, name: str, *more: str) -> str:
    run(house, "export", "posts", "birds.toml", "-o", name, *more)
    return (house / name).read_text(encoding="utf-8")
