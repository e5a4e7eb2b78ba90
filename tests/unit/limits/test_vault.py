from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bowerbird.db.files.private import write_private
from bowerbird.errors import CredentialError
from bowerbird.limits.vault import FileVault
from bowerbird.model import Credential, Secret
from failures import raises_code

CHEAP = 2**4


def credential(name: str = "one") -> Credential:
    return Credential(name=name, provider="mastodon", account="ada", app="lab")


def secret(name: str = "one", value: str = "s3cr3t") -> Secret:
    return Secret(name=name, values={"access_token": value})


def filled(path: Path, password: str | None = None) -> FileVault:
    vault = FileVault(path, password, cost=CHEAP)
    vault.add(credential(), secret())
    return vault


def add_one(path: Path, number: int) -> None:
    FileVault(path).add(credential(f"c{number}"), secret(f"c{number}"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "vault"


@pytest.mark.parametrize("password", [None, "open sesame"])
def test_what_was_added_is_there_when_the_vault_is_opened_again(path: Path, password: str | None) -> None:
    filled(path, password)
    again = FileVault(path, password)
    assert list(again.credentials()) == [credential()]
    assert again.secret("one").values == {"access_token": "s3cr3t"}
    assert again.has_password is bool(password)


def test_a_vault_that_does_not_exist_yet_is_empty_and_stays_unwritten(path: Path) -> None:
    assert list(FileVault(path).credentials()) == []
    assert FileVault(path).has_password is None
    assert not path.parent.exists()


def test_nothing_of_a_credential_can_be_read_from_the_file(path: Path) -> None:
    filled(path, "open sesame")
    content = path.read_bytes()
    assert not any(word in content for word in (b"s3cr3t", b"ada", b"one", b"mastodon", b"sesame"))


@pytest.mark.skipif(os.name != "posix", reason="permission bits")
def test_only_the_owner_may_read_vault_and_key(path: Path) -> None:
    vault = filled(path)
    assert {one.stat().st_mode & 0o777 for one in (path, vault.key_path)} == {0o600}
    vault.key_path.chmod(0o644)
    with raises_code(CredentialError, "invalid_credential") as caught:
        FileVault(path).credentials()
    assert f"chmod 600 {vault.key_path}" in caught.value.advice


def test_a_wrong_password_is_refused_with_advice_and_without_the_password(path: Path) -> None:
    filled(path, "open sesame")
    with raises_code(CredentialError, "wrong_password") as caught:
        FileVault(path, "guess").credentials()
    assert str(path) in caught.value.problem
    assert "BOWERBIRD_VAULT_PASSWORD" in caught.value.advice
    assert "guess" not in str(caught.value)


def test_a_missing_password_is_asked_for_once_or_refused(path: Path) -> None:
    filled(path, "open sesame")
    asked: list[str] = []
    vault = FileVault(path, ask=lambda: asked.append("?") or "open sesame")
    assert vault.secret("one").values
    assert vault.credentials()
    assert asked == ["?"]
    with raises_code(CredentialError, "needs_password") as caught:
        FileVault(path).credentials()
    assert "BOWERBIRD_VAULT_PASSWORD" in caught.value.advice


@pytest.mark.parametrize("content", [b"", b"not a vault", b"{}", b"\xff\x00", b'{"format": "bowerbird vault 1"}'])
def test_a_file_that_is_no_vault_is_refused_with_advice(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with raises_code(CredentialError, "file_damaged") as caught:
        FileVault(path).credentials()
    assert str(path) in caught.value.problem


@pytest.mark.parametrize("field", ["nonce", "content"])
def test_a_changed_file_is_refused(path: Path, field: str) -> None:
    filled(path)
    sealed = json.loads(path.read_text())
    sealed[field] = ("A" if sealed[field][0] != "A" else "B") + sealed[field][1:]
    path.write_text(json.dumps(sealed))
    with raises_code(CredentialError, "file_damaged") as caught:
        FileVault(path).credentials()
    assert str(path.with_name("vault.key")) in caught.value.problem, "the key file may be the wrong one"


@pytest.mark.parametrize("cost", [2**40, 3, 0, -2])
def test_a_file_cannot_make_us_spend_memory_without_bound(path: Path, cost: int) -> None:
    filled(path, "open sesame")
    sealed = json.loads(path.read_text())
    sealed["key"]["cost"] = cost
    path.write_text(json.dumps(sealed))
    with raises_code(CredentialError, "file_damaged"):
        FileVault(path, "open sesame").credentials()


def test_a_lost_key_file_is_named_and_never_made_anew(path: Path) -> None:
    filled(path).key_path.unlink()
    with raises_code(CredentialError, "file_not_found") as caught:
        add_one(path, 1)
    assert str(path.with_name("vault.key")) in caught.value.problem
    assert not FileVault(path).key_path.exists()


def test_damaged_key_file_is_refused_and_kept(path: Path) -> None:
    filled(path)
    path.with_name("vault.key").write_text("no key\n")
    with raises_code(CredentialError, "file_damaged") as caught:
        FileVault(path).secret("one")
    assert str(path.with_name("vault.key")) in caught.value.problem
    assert path.with_name("vault.key").read_text() == "no key\n"


def test_a_vault_of_a_later_version_is_left_alone(path: Path) -> None:
    filled(path)
    path.write_text(path.read_text().replace("vault 1", "vault 2"))
    with raises_code(CredentialError, "wrong_version"):
        FileVault(path).credentials()


def test_a_name_is_taken_once_unless_replaced(path: Path) -> None:
    vault = filled(path)
    with raises_code(CredentialError, "already_exists") as caught:
        vault.add(credential(), secret(value="other"))
    assert "'one'" in caught.value.problem
    assert "--replace" in caught.value.advice
    vault.add(credential(), secret(value="other"), replace=True)
    assert vault.secret("one").values == {"access_token": "other"}


def test_a_session_is_kept_unless_the_secret_it_was_opened_with_was_replaced_meanwhile(path: Path) -> None:
    vault = FileVault(path)
    given = {"identifier": "ada.example", "app_password": "old"}
    opened = Secret(name="one", values={**given, "access_jwt": "token", "refresh_jwt": "again", "did": "did:plc:ada"})
    vault.add(credential(), Secret(name="one", values=given))
    vault.keep(opened)
    assert vault.secret("one").values["access_jwt"] == "token"
    new = {**given, "app_password": "new"}
    vault.add(credential(), Secret(name="one", values=new), replace=True)
    vault.keep(opened)
    assert vault.secret("one").values == new


@pytest.mark.parametrize("name", ["", "../x", "a b", "x" * 65, "{app}", "-x"])
def test_a_name_that_could_mean_something_else_is_refused(path: Path, name: str) -> None:
    with raises_code(CredentialError, "invalid_credential") as caught:
        FileVault(path).add(credential(name), secret(name))
    assert repr(name) in caught.value.problem


def test_a_removed_credential_is_gone_and_removing_it_again_is_refused(path: Path) -> None:
    vault = filled(path)
    vault.remove("one")
    assert list(FileVault(path).credentials()) == []
    with raises_code(CredentialError, "unknown_credential") as caught:
        vault.remove("one")
    assert "'one'" in caught.value.problem
    with raises_code(CredentialError, "unknown_credential") as caught:
        vault.secret("one")
    assert "`bowerbird credentials list`" in caught.value.advice


def test_resealing_changes_what_opens_the_vault(path: Path) -> None:
    vault = filled(path)
    vault.reseal("open sesame")
    assert not vault.key_path.exists()
    assert FileVault(path, "open sesame").secret("one").values
    vault.reseal(None)
    assert FileVault(path).secret("one").values


def test_an_open_vault_sees_what_another_process_added(path: Path) -> None:
    vault = filled(path)
    assert len(vault.credentials()) == 1
    add_one(path, 2)
    assert [one.name for one in vault.credentials()] == ["one", "c2"]


def test_many_writers_at_once_lose_nothing(path: Path) -> None:
    filled(path)
    # Threads with a vault each lock as processes do: a lock belongs to the open file, not to the process.
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add_one, [path] * 12, range(12)))
    assert len(FileVault(path).credentials()) == 13


def test_secrets_never_print_themselves(path: Path) -> None:
    vault = filled(path, "open sesame")
    assert not any(word in f"{vault!r} {vault.secret('one')!r} {vars(vault).keys()}" for word in ("s3cr3t", "sesame"))


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_private(file, b"old")
    with pytest.raises(TypeError):
        write_private(file, "not bytes")  # type: ignore[arg-type]
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]
