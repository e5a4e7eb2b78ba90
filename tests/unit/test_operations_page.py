"""The files that docs/operations.md gives to start from fit the command line, the settings and each other."""

from __future__ import annotations

import configparser
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bowerbird import cli
from bowerbird.settings import load_settings

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def compose() -> dict[str, Any]:
    """The compose file as nested tables; lists and tables in one line stay texts."""
    whole: dict[str, Any] = {}
    open_tables = [(-1, whole)]
    for line in block("yaml").splitlines():
        key, _, value = line.split(" #")[0].strip().partition(":")
        depth = len(line) - len(line.lstrip())
        while open_tables[-1][0] >= depth:
            open_tables.pop()
        open_tables[-1][1][key] = value.strip() or {}
        if not value.strip():
            open_tables.append((depth, open_tables[-1][1][key]))
    return whole


def names(listed: str) -> list[str]:
    return [each.strip().strip('"') for each in listed.strip("[]").split(",")]


def check_command(arguments: list[str]) -> dict[str, Any]:
    """What the real command line makes of them; raises for an option that it does not have."""
    assert arguments[0] in cli.COMMANDS
    values: dict[str, Any] = cli.load(arguments[0]).make_context(arguments[0], arguments[1:]).params
    return values


def test_every_secret_and_volume_of_the_compose_file_is_defined_and_given_to_whoever_reads_it() -> None:
    file = compose()
    for service in file["services"].values():
        assert set(names(service["secrets"])) <= file["secrets"].keys()
        sources = [volume.partition(":")[0] for volume in names(service["volumes"])]
        assert {source for source in sources if not source.startswith(".")} <= file["volumes"].keys()
        for secret in re.findall(r"/run/secrets/(\w+)", str(service)):
            assert secret in names(service["secrets"])


def test_the_crawler_logs_in_to_the_database_of_the_compose_file() -> None:
    services = compose()["services"]
    given, crawler = services["database"]["environment"], services["crawler"]
    store = urlsplit(tomllib.loads(block("toml"))["store"])
    assert (store.username, store.hostname, store.path) == (given["POSTGRES_USER"], "database", f"/{given['POSTGRES_DB']}")
    assert store.password is None, "it is in no file but the secret"
    assert f"PGPASSWORD=$$(cat {given['POSTGRES_PASSWORD_FILE']})" in crawler["command"]
    assert names(crawler["depends_on"].get("database", "").strip("{}")) == ["condition: service_healthy"]
    home = crawler["environment"]["BOWERBIRD_HOME"]
    assert load_settings(environment={"BOWERBIRD_HOME": home}).vault.is_relative_to(home)
    assert f":{home.rpartition('/')[0]}" in names(crawler["volumes"])[0]


def test_the_commands_of_both_files_are_ours() -> None:
    words = compose()["services"]["crawler"]["command"].rpartition("exec bowerbird ")[2].removesuffix('"]')
    assert check_command(shlex.split(words))["join"] is True
    unit = configparser.RawConfigParser(strict=False)
    unit.read_string(block("ini"))
    program, *arguments = shlex.split(unit["Service"]["ExecStart"].replace("%i", "floods"))
    assert Path(program).name == "bowerbird"
    assert str(check_command(arguments)["file"]) == "floods.toml"
    assert (unit["Service"]["Type"], unit["Service"]["WatchdogSec"]) == ("notify", "15min")
    assert unit["Service"]["WorkingDirectory"] == unit["Service"]["ReadWritePaths"]
