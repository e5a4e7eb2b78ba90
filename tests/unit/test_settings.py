from __future__ import annotations

from pathlib import Path

import pytest

from bowerbird.errors import UserError
from bowerbird.settings import load_settings, secret_from_environment
from failures import raises_code


def home(folder: Path, config: str = "") -> dict[str, str]:
    (folder / "config").mkdir(exist_ok=True)
    (folder / "config" / "config.toml").write_text(config)
    return {"BOWERBIRD_HOME": str(folder)}


def test_one_home_folder_holds_everything(tmp_path: Path) -> None:
    settings = load_settings(environment={"BOWERBIRD_HOME": str(tmp_path)})
    assert settings.config_folder == tmp_path / "config"
    assert settings.data_folder == tmp_path / "data"
    assert settings.vault == tmp_path / "config" / "vault"
    assert settings.config_file is None


def test_without_a_home_the_folders_are_those_of_the_system() -> None:
    settings = load_settings(environment={})
    assert settings.config_folder.name == "bowerbird"
    assert settings.data_folder.name == "bowerbird"


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    env = home(tmp_path, 'log_level = "debug"\ncontact = "file@example.org"\nvault = "mine"')
    env |= {"BOWERBIRD_CONTACT": "env@example.org", "BOWERBIRD_LOG_LEVEL": "INFO"}
    settings = load_settings(environment=env, log_level="error")
    assert (settings.log_level, settings.contact) == ("error", "env@example.org")
    assert settings.vault == tmp_path / "config" / "mine"
    assert load_settings(environment=env, vault=Path("/elsewhere")).vault == Path("/elsewhere")


def test_an_empty_variable_counts_as_not_set(tmp_path: Path) -> None:
    env = home(tmp_path, 'contact = "file@example.org"') | {"BOWERBIRD_CONTACT": "", "BOWERBIRD_VAULT_PASSWORD": ""}
    assert load_settings(environment=env).contact == "file@example.org"
    assert load_settings(environment=env).vault_password is None


def test_the_user_agent_carries_the_contact() -> None:
    agent = load_settings(environment={}, contact="me@example.org").user_agent
    assert agent.endswith(" (+me@example.org; research; provider={provider})")
    assert "+" not in load_settings(environment={}).user_agent


def test_the_password_is_never_shown() -> None:
    settings = load_settings(environment={"BOWERBIRD_VAULT_PASSWORD": "open sesame"})
    assert settings.vault_password == "open sesame"
    assert "sesame" not in repr(settings)


@pytest.mark.parametrize(
    ("config", "code", "named"),
    [
        ("contact = ", "file_unreadable", "config.toml"),
        ('colour = "blue"', "unknown_key", "'colour' contact log_level"),
        ("contact = 7", "invalid", "config.toml contact 7"),
        ('vault_password = "x"', "refused", "config.toml BOWERBIRD_VAULT_PASSWORD"),
        ('log_level = "loud"', "unknown_name", "'loud' debug"),
    ],
)
def test_a_bad_file_is_refused_with_advice(tmp_path: Path, config: str, code: str, named: str) -> None:
    with raises_code(UserError, code) as caught:
        load_settings(environment=home(tmp_path, config))
    assert all(value in str(caught.value) for value in named.split())


@pytest.mark.parametrize("contact", ["a\r\nX-Evil: 1", "Zoë", "me (at) home"])
def test_a_contact_cannot_break_the_header(contact: str) -> None:
    with raises_code(UserError, "invalid") as caught:
        load_settings(environment={}, contact=contact)
    assert repr(contact) in caught.value.problem


def test_a_secret_comes_from_its_variable() -> None:
    assert secret_from_environment("access_token", {"BOWERBIRD_SECRET_ACCESS_TOKEN": "abc"}) == "abc"
    assert secret_from_environment("access_token", {}) is None
