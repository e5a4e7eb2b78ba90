"""Crawls and plans as processes of their own, started from a browser: they go on when whoever started them ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bowerbird.errors import UserError
from bowerbird.settings import process_environment

_PATIENCE = 5
"""Seconds for a process to end by itself."""


MOST_QUESTIONS = 4
"""Plans and look-ups under way at once: each is a process, and crawls need the machine too."""
MOST_CRAWLS = 12
"""Crawls under way at once that were started here; a command line may start more."""


class _Outliving(subprocess.Popen[bytes]):
    """A process that is meant to outlive us: that it still runs when we end is no mistake."""

    def __del__(self) -> None:
        """Says nothing."""


class Processes:
    """The processes that this one started. What they say is in files; how they end is seen when somebody looks."""

    def __init__(self, vault: Path | None = None, vault_password: str | None = None) -> None:
        """`vault_password`: where it was typed, and is in no environment that a child would inherit."""
        self._started: dict[str, _Outliving] = {}
        self._questions: set[str] = set()
        self._more = {"BOWERBIRD_VAULT": str(vault)} if vault else {}
        self._more |= {"BOWERBIRD_VAULT_PASSWORD": vault_password} if vault_password else {}

    def start(self, name: str, words: Sequence[str], log: Path, out: Path | None = None) -> int:
        """Starts `bowerbird WORDS` and answers the number of its process. What it says goes to `log`, anew each time; what it
        answers to `out`, where that is wanted apart."""
        if self.is_running(name):
            raise UserError(f"{name} is running already", code="already_running")
        said = _opened(log)
        answered = _opened(out) if out else said
        try:
            process = _Outliving(
                [sys.executable, "-m", "bowerbird", *words],
                stdin=subprocess.DEVNULL,
                stdout=answered,
                stderr=said,
                cwd=log.parent,
                env=process_environment() | self._more,
                # A session of its own: neither Ctrl-C nor a closed terminal of ours reaches it.
                start_new_session=True,
            )
        finally:
            for number in {said, answered}:
                os.close(number)
        self._started[name] = process
        return process.pid

    def crawl(self, name: str, words: Sequence[str], log: Path) -> int:
        """Starts a crawl; raises `UserError` where so many run already that one more would take the machine from them."""
        self._questions.discard(name)
        running = sum(self.is_running(each) for each in self._started if each not in self._questions)
        if running >= MOST_CRAWLS:
            raise UserError(
                f"{MOST_CRAWLS} crawls that were started here are running",
                "stop one first, or use a command line",
                code="too_many",
            )
        return self.start(name, words, log)

    def ask(self, name: str, words: Sequence[str], log: Path, out: Path | None = None) -> int:
        """Starts what is only a question, such as a plan; raises `UserError` where too many are asked just now."""
        self.check_room()
        number = self.start(name, words, log, out)
        self._questions.add(name)
        return number

    def check_room(self) -> None:
        self._questions = {name for name in self._questions if self.is_running(name)}
        if len(self._questions) >= MOST_QUESTIONS:
            raise UserError(f"{MOST_QUESTIONS} plans and look-ups are under way already", "wait for one to end", code="too_many")

    def is_running(self, name: str) -> bool:
        process = self._started.get(name)
        return process is not None and process.poll() is None

    def code(self, name: str) -> int | None:
        """How it ended; None where it runs, or another process of ours started it."""
        process = self._started.get(name)
        return None if process is None else process.poll()

    def end(self, name: str) -> None:
        """Ends what is only a question, such as a plan, with those that help it; waits until it is gone."""
        process = self._started.get(name)
        if process is not None and process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=_PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _opened(path: Path) -> int:
    """A file that only its owner may read, emptied."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o600)
