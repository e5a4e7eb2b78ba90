"""`[consent]`: an opt-out is overridden only with a reason, and a list that cannot be understood stops the crawl."""

from __future__ import annotations

from pathlib import Path

import pytest

from bowerbird.app import vocabulary
from bowerbird.errors import FlowError, UserError
from bowerbird.flows.consent import Consent, consent_words
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.model import COUNTED_SIGNALS, Page, Service, Signal, User
from bowerbird.store.forgetting.lists import read_opt_outs
from failures import raises_code

WORDS = vocabulary()
SERVICE = '[service]\nprovider = "mastodon"\nbase = "https://mastodon.social"\n'
BIRD = Service(name="bird", provider="x", base="https://api.x.com")
MAMMOTH = Service(name="mammoth", provider="mastodon", base="https://mammoth.example")
SKY = Service(name="sky", provider="bluesky", base="https://public.api.bsky.app")
KEY, MARK = f"key {'ab' * 32}", f"mark {'cd' * 16}"


def plan(folder: Path, consent: str, seeds: str = 'seeds = ["1"]') -> CrawlPlan:
    return parse_crawl(f'flow = "timelines"\n{seeds}\n{SERVICE}[consent]\n{consent}\n', folder / "study.toml", WORDS)


@pytest.mark.parametrize(
    ("consent", "code", "named"),
    [
        ('override = ["indexable"]', "missing_value", "reason ="),
        ('override = ["indexable"]\nreason = "  "', "missing_value", "reason ="),
        ('reason = "we may"', "conflicting_options", "override ="),
        ('override = ["indexible"]\nreason = "we may"', "unknown_name", "'indexible' 'indexable' nobot"),
        ('also = ["robots"]', "unknown_name", "'robots' noindex"),
        ('also = ["noindex"]\noverride = ["noindex"]\nreason = "we may"', "conflicting_options", "noindex"),
        ('opt_out = "nobody.txt"', "file_not_found", "nobody.txt"),
        ('deleted = "keep"', "missing_value", "reason ="),
        ('deleted = "hide"', "invalid_file", '"erase" "keep"'),
    ],
)
def test_a_mistake_names_its_line(tmp_path: Path, consent: str, code: str, named: str) -> None:
    with raises_code(FlowError, code) as caught:
        plan(tmp_path, consent)
    assert caught.value.problem.startswith(f"{tmp_path / 'study.toml'}:7: ")
    assert all(value in str(caught.value) for value in named.split())


def test_the_file_of_the_seeds_is_no_opt_out_list(tmp_path: Path) -> None:
    (tmp_path / "people.txt").write_text("1\n", "utf-8")
    with raises_code(FlowError, "conflicting_options") as caught:
        plan(tmp_path, 'opt_out = "people.txt"', 'seeds.file = "people.txt"')
    assert caught.value.line == 7


def test_what_is_written_is_in_the_plan(tmp_path: Path) -> None:
    (tmp_path / "not.txt").write_text("@alice@mastodon.social\n", "utf-8")
    written = plan(tmp_path, 'opt_out = "not.txt"\nalso = ["discoverable"]\noverride = ["nobot"]\nreason = "we may"').consent
    assert written.opt_out == str(tmp_path / "not.txt")
    assert written.counted == {*COUNTED_SIGNALS, Signal.DISCOVERABLE} - {Signal.NOBOT}
    assert written.reason == "we may"


def test_what_is_deleted_is_kept_only_by_those_who_say_why(tmp_path: Path) -> None:
    assert not plan(tmp_path, 'also = ["discoverable"]').consent.keeps_deleted
    kept = plan(tmp_path, 'deleted = "keep"\nreason = "we must"').consent
    assert kept.keeps_deleted
    (words,) = consent_words([kept, kept])
    assert words.endswith("we must")


def heard(consent: Consent, *signals: Signal) -> bool | None:
    shy = not COUNTED_SIGNALS.isdisjoint(signals)
    (found,) = consent.heeded(Page(users=(User(id="1", key="1", opts_out=shy, signals=signals),))).users
    return found.opts_out


def test_an_override_is_about_the_signs_that_it_names_alone() -> None:
    overrides = Consent(override=(Signal.INDEXABLE,), reason="we may")
    assert heard(overrides, Signal.INDEXABLE) is False
    assert heard(overrides, Signal.INDEXABLE, Signal.NOBOT) is True
    assert heard(overrides) is False


def test_who_does_not_wish_to_be_recommended_is_left_alone_where_the_crawl_file_says_so() -> None:
    assert heard(Consent(), Signal.DISCOVERABLE) is False
    assert heard(Consent(also=(Signal.DISCOVERABLE,)), Signal.DISCOVERABLE) is True


def test_networks_without_signs_say_nothing_about_it() -> None:
    page = Page(users=(User(id="x:1", key="1"),))
    assert Consent(also=(Signal.DISCOVERABLE,)).heeded(page) is page


def test_the_words_of_the_card_name_the_signs_and_the_reason_once() -> None:
    told = Consent(opt_out="a list", override=(Signal.INDEXABLE,), reason="Protocol 17.")
    words = consent_words([told, told])
    assert len(words) == 2
    assert all(value in words[0] for value in ("indexable", "Mastodon"))
    assert words[0].endswith("Protocol 17.")
    assert "a list" in words[1]


@pytest.mark.parametrize(
    "line",
    [
        "alice",
        "14715",
        "two words",
        "foo:bar",
        "x:alice",
        "@",
        "@@alice",
        "https://",
        "mark 123",
        f"MARK {'cd' * 16}",
        "https://x.com/alice/status/20",
        "\x01\x02",
        "https://bsky.app/profile/alice.example/post/3k",
    ],
)
def test_a_line_that_names_nobody_is_told_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "list.txt"
    path.write_text(f"# kept out\n@bob@mammoth.example\n{line}\n", "utf-8")
    with raises_code(UserError, "not_understood") as caught:
        read_opt_outs(path, [MAMMOTH, SKY])
    assert caught.value.problem.startswith(f"{path}:3: ")
    assert repr(line) in caught.value.problem


def test_a_list_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_bytes(b"\xff\xfe\x00rubbish")
    with raises_code(UserError, "file_unreadable") as caught:
        read_opt_outs(tmp_path / "list.txt", [SKY])
    assert "list.txt" in caught.value.problem
    with raises_code(UserError, "file_unreadable") as caught:
        read_opt_outs(tmp_path, [SKY])
    assert str(tmp_path) in caught.value.problem


def test_marks_without_their_key_are_refused(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(f"{MARK}\n", "utf-8")
    with raises_code(UserError, "missing_value") as caught:
        read_opt_outs(tmp_path / "list.txt", [SKY])
    assert "list.txt" in caught.value.problem


@pytest.mark.parametrize(
    ("services", "line", "meant"),
    [
        ([SKY], "alice.bsky.social  # she wrote us", "@alice.bsky.social"),
        ([SKY, MAMMOTH], "@bob@mammoth.example", "@bob@mammoth.example"),
        ([MAMMOTH], "@bob", "@bob@mammoth.example"),
        ([BIRD], "@carol", "https://x.com/carol"),
        ([BIRD], "12", "x:12"),
        ([SKY], "x:12", "x:12"),
        ([SKY], "did:plc:abc", "did:plc:abc"),
        ([SKY], "https://mammoth.example/@bob", "https://mammoth.example/@bob"),
    ],
)
def test_names_are_understood_by_the_services_that_are_asked(
    tmp_path: Path, services: list[Service], line: str, meant: str
) -> None:
    (tmp_path / "list.txt").write_text(f"\ufeff# kept out\n\n{line}\n{KEY}\n{MARK}\n", "utf-8")
    found = read_opt_outs(tmp_path / "list.txt", services)
    assert (found.people, found.lines) == ((meant,), (KEY, MARK))
