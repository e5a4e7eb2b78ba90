"""How tests check that something fails: by the code of the error and its values, never by its sentences.

A function:            with raises_code(UserError, "unknown_crawl") as caught: ...
A command:             error = command_error("crawl", "nowhere.toml", code="file_not_found")
What --json printed:   json_error(capsys.readouterr().err).code == "file_not_found"
A page or a form:      page_error(await client.get("/crawls/none")).code == "unknown_crawl"

The result has `code`, `problem` and `advice`. Check in `problem` or `advice` only for values: a name,
a path, a command to run.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import pytest

from bowerbird import cli
from bowerbird.errors import BowerbirdError, Failure

if TYPE_CHECKING:
    from web_site import Answer

E = TypeVar("E", bound=BowerbirdError)
_SHOWN = re.compile(
    r'data-error="(?P<code>[a-z_]+)"[^>]*>\s*<(?P<tag>p|span)[^>]*>(?P<problem>.*?)</(?P=tag)>'
    r"(?:\s*(?:<br>)?<(?P=tag) class=\"advice\">(?P<advice>.*?)</(?P=tag)>)?",
    re.DOTALL,
)


@contextmanager
def raises_code(kind: type[E], code: str) -> Iterator[pytest.ExceptionInfo[E]]:
    """Expect an error of this class with this code."""
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.value.code == code, f"{caught.value.code}: {caught.value}"


def command_error(*arguments: object, code: str) -> BowerbirdError:
    """Run a command line that must fail with this code, and return its error."""
    with raises_code(BowerbirdError, code) as caught:
        cli.invoke([str(each) for each in arguments])
    return caught.value


def json_error(printed: str) -> Failure:
    """Return the error that a command with `--json` printed last."""
    fields = json.loads(printed.splitlines()[-1])["error"]
    return Failure(fields["code"], fields["problem"], fields["advice"])


def page_error(answer: Answer) -> Failure:
    """Return the error that a page of the dashboard shows."""
    found = _SHOWN.search(answer.text)
    assert found is not None, f"status {answer.status}: the page shows no error"
    text = {name: html.unescape(found[name] or "") for name in ("problem", "advice")}
    return Failure(found["code"], text["problem"], text["advice"])
