"""The built-in flows: one TOML file each, beside this one."""

from __future__ import annotations

from pathlib import Path


def builtin_flows() -> dict[str, str]:
    """Names and texts of the built-in flows, in alphabetical order."""
    return {file.stem: file.read_text("utf-8") for file in sorted(Path(__file__).parent.glob("*.toml"))}
