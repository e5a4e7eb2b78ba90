"""Commands of ours as people copy them from a page or a message into a shell."""

from __future__ import annotations

import shlex


def command_line(*words: str) -> str:
    """The whole line: names with spaces or quotes in them stay one word; empty words are left out."""
    return shlex.join(["bowerbird", *filter(None, words)])
