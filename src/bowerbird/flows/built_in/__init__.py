"""The built-in flows: one TOML file each, beside this one."""

from __future__ import annotations

from importlib.resources import files


def builtin_flows() -> dict[str, str]:
    """Names and texts of the built-in flows, in alphabetical order."""
    found = (file for file in files(__name__).iterdir() if file.name.endswith(".toml"))
    return {file.name.removesuffix(".toml"): file.read_text("utf-8") for file in sorted(found, key=lambda file: file.name)}
