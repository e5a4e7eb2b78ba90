"""Secrets are found in every spelling and nothing else is touched."""

from __future__ import annotations

import json
import re
import string
from base64 import b64encode, urlsafe_b64encode
from datetime import UTC, datetime
from html import escape, unescape
from html.entities import html5
from time import perf_counter
from urllib.parse import quote, unquote

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bowerbird.crawl.access.redaction import SHORTEST, Redactor
from bowerbird.model import Answer, Request, Secret
from marks import examples

NOW = datetime(2026, 1, 5, tzinfo=UTC)
TOKENS = st.text(string.ascii_letters + string.digits + "-._~+/=%&!*:", min_size=12, max_size=80).filter(
    lambda text: sum(each.isalnum() for each in text) > len(text) / 2
)
SPELLINGS = {
    "plain": lambda text: text,
    "quoted": lambda text: quote(text, safe=""),
    "quoted twice": lambda text: quote(quote(text, safe=""), safe=""),
    "json": lambda text: msgspec.json.encode(text).decode()[1:-1],
    "json of php": lambda text: msgspec.json.encode(text).decode()[1:-1].replace("/", "\\/"),
    "html": escape,
    "letters in json": lambda text: "".join(f"\\u{ord(each):04x}" for each in text),
    "one letter in json": lambda text: f"{text[:5]}\\u{ord(text[5]):04X}{text[6:]}",
    "letters in addresses": lambda text: "".join(f"%{ord(each):02x}" for each in text),
    "letters in html": lambda text: "".join(f"&#{ord(each)};" for each in text),
    "letters in html, without an end": lambda text: "".join(f"&#x{ord(each):04x};" for each in text[:-1]) + text[-1],
}
DEEPER = {
    "html in json": lambda text: "".join(f"\\u0026#{ord(each)};" for each in text),
    "html with one sign in json": lambda text: "".join(f"&\\u0023{ord(each)};" for each in text),
    "html without an end in json": lambda text: "".join(f"\\u0026#x{ord(each):x};" for each in text[:3]) + text[3:],
    "json in json": lambda text: "".join(f"\\u005cu{ord(each):04x}" for each in text),
    "addresses in json": lambda text: "".join(f"\\u0025{ord(each):02x}" for each in text),
    "json, json and html": lambda text: "".join(f"\\\\u0026amp;#{ord(each)};" for each in text),
}
NAMES = {sign: name for name, sign in sorted(html5.items()) if len(sign) == 1 and not sign.isalnum() and name.endswith(";")}
WAYS = {
    "letters in json": SPELLINGS["letters in json"],
    "signs in json": lambda text: "".join(each if each.isalnum() else f"\\u{ord(each):04x}" for each in text),
    "json": SPELLINGS["json"],
    "letters in addresses": SPELLINGS["letters in addresses"],
    "quoted": SPELLINGS["quoted"],
    "letters in html": SPELLINGS["letters in html"],
    "letters in hexadecimal html": lambda text: "".join(f"&#x{ord(each):X};" for each in text),
    "signs in html": lambda text: "".join(each if each.isalnum() else f"&#{ord(each)};" for each in text),
    "names of html": lambda text: "".join(f"&{NAMES[each]}" if each in NAMES else each for each in text),
    "html": escape,
}
"""Ways in which servers, and those who mean harm, write a text into another."""
ENCODED = {
    "base64": lambda text: b64encode(text.encode()).decode().rstrip("="),
    "base64 in addresses": lambda text: urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "of a whole header": lambda text: b64encode(f"Bearer {text} x".encode()).decode(),
    "of name and password": lambda text: b64encode(f"ada:{text}".encode()).decode(),
}


DEARER = (b"&#38;", b"#38;", b"&num;", b"%26", b"%26amp%3B", b"amp;", b"&bsol;", b"%5C", b"&fjlig;", b"&lowbar;", b"\\x2d", b"#0")


def is_long_enough(token: str) -> bool:
    return sum(each.isalnum() for each in token) >= SHORTEST


def readings(text: str) -> str:
    """What comes out when escapes are undone three times, in whatever order, by the libraries of others."""
    every = {text}
    for _ in range(3):
        every |= {undo(each) for each in every for undo in (unescape, unquote, _unescaped)}
    return "\n".join(every)


def _unescaped(text: str) -> str:
    return re.sub(r"\\u00([0-9a-fA-F]{2})|\\x([0-9a-fA-F]{2})|\\(.)", lambda m: m[3] or chr(int(m[1] or m[2], 16)), text)


def knowing(*values: str) -> Redactor:
    redactor = Redactor()
    redactor.learn(Secret(name="mine", values={f"field{number}": value for number, value in enumerate(values)}))
    return redactor


def answer(body: bytes = b"", **more: object) -> Answer:
    return msgspec.structs.replace(Answer(status=200, body=body, sent_at=NOW, received_at=NOW), **more)


@pytest.mark.parametrize("spelling", SPELLINGS)
@given(token=TOKENS, before=st.text(max_size=20), after=st.text(max_size=20))
def test_no_spelling_of_a_secret_is_left(spelling: str, token: str, before: str, after: str) -> None:
    text = f"{before} {SPELLINGS[spelling](token)} {after}".encode(errors="replace")
    cleaned = knowing(token).clean(text)
    assert SPELLINGS[spelling](token).encode() not in cleaned
    assert len(cleaned) == len(text)
    assert cleaned.startswith(f"{before} ".encode(errors="replace")) or token in before + after


@pytest.mark.parametrize("spelling", DEEPER)
@given(token=st.text(string.ascii_letters + string.digits + "-_.", min_size=12, max_size=80))
def test_of_a_text_that_hides_one_in_escapes_of_escapes_nothing_is_left(spelling: str, token: str) -> None:
    text = f'{{"error":"no: {DEEPER[spelling](token)}"}}'.encode()
    assert knowing(token).clean(text) == b"*" * len(text)
    assert knowing(token).finds(text)


@pytest.mark.parametrize("outer", WAYS)
@pytest.mark.parametrize("inner", WAYS)
@given(token=st.text(string.ascii_letters + string.digits + "-._~+/=", min_size=16, max_size=80).filter(is_long_enough))
@settings(max_examples=examples(20))
def test_no_secret_is_left_that_was_written_in_one_way_and_that_in_another(inner: str, outer: str, token: str) -> None:
    """Whatever is left of the text is read again and again, in every order: the secret does not come out."""
    hidden = WAYS[outer](WAYS[inner](token))
    text = f'{{"error":"no: {hidden}"}}'.encode()
    cleaned = knowing(token).clean(text)
    assert len(cleaned) == len(text)
    assert hidden.encode() not in cleaned
    assert token not in readings(cleaned.decode())


@pytest.mark.parametrize("password", ["abcd-efgh-ijkl-mnop", "x1_y2_z3_w4_v5"])
@pytest.mark.parametrize("sign", ["%5Cu00{:02x}", "&amp;#{};", "%26%23{}%3B", "\\\\x{:02x}", "&bsol;u00{:02x}", "&percnt;{:02x}"])
def test_a_secret_of_short_words_is_found_between_signs_that_are_written_twice(password: str, sign: str) -> None:
    text = "".join(each if each.isalnum() else sign.format(ord(each)) for each in password)
    assert knowing(password).finds(f"no: {text}".encode())


@pytest.mark.parametrize(
    "text",
    [
        "abcDEF123%26lowbar%3Bg%26percnt%3B68%26percnt%3B69%26percnt%3B4AKL%26percnt%3B2DmnoPQR%26percnt%3B3456",
        r"abcDEF123&#92;u005cu005fg&#92;u005cu0068iJKL&#92;u005cu002dmnoPQR456",
    ],
)
def test_a_long_word_of_a_secret_is_enough_to_look_deeper(text: str) -> None:
    assert knowing("abcDEF123_ghiJKL-mnoPQR456").finds(f"no: {text}".encode())


ODD = {
    "address": "%41",
    "json": r"\u0041",
    "doubled": r"\\u0041",
    "script": r"\\x41",
    "html": "&#65;",
    "mixed": "%5Cu0041&#38#57;",
}


@pytest.mark.parametrize("kind", ODD)
def test_posts_of_others_stay_whatever_somebody_writes_to_have_a_page_blanked(kind: str) -> None:
    token = "abcDEF123_ghiJKL-mnoPQR456"
    hidden = "".join(rf"\u{ord(each):04x}" for each in token)
    rows = [f'"words of number {n}"' for n in range(40)]
    body = f'[{",".join(rows)}, "{ODD[kind] * 6_000}", "{hidden}", "{token}"]'.encode()
    cleaned = knowing(token).clean(body)
    assert len(cleaned) == len(body)
    read = json.loads(cleaned)
    assert read[:40] == [f"words of number {n}" for n in range(40)]
    assert token not in read
    assert token not in readings(cleaned.decode())


@pytest.mark.parametrize("text", [r"Zx9-kQ7_tR.3mNbV\x38", "Zx&#38#57;-kQ7_tR.3mNbV8"])
def test_a_secret_is_found_in_escapes_of_scripts_and_without_their_end(text: str) -> None:
    assert knowing("Zx9-kQ7_tR.3mNbV8").finds(f"no: {text}".encode())


def test_a_text_with_some_words_of_a_secret_is_the_very_same() -> None:
    text = b"the &amp;#45; horse %5Cu002d is correct &lowbar; with its battery"
    assert knowing("correct-horse-battery-staple").clean(text) is text


def test_html_of_every_day_by_name_stays_however_much_there_is() -> None:
    text = b"<p>100&percnt; of &num;this&period; &#38;#8217; a&amp;&num;8217; &#92;new %5Cu00e9 %26%238217%3B</p>" * 2_000
    assert knowing("a-token-of-ours-0123456789").clean(text) is text


@pytest.mark.parametrize(
    "part", [b"\\", b"\\u005a", b"%25", b"%5A", b"&#90;", b"&#", b"0", b"&amp;", b"a-token-of", b"%", b"25", *DEARER]
)
def test_texts_made_to_cost_time_are_read_in_a_moment(part: bytes) -> None:
    """What is quadratic in one of them takes minutes."""
    for end in (b"", b"\\u005a", b"&#90;", b"%5A"):
        text = b"&#" + part * (100_000 // len(part)) + end
        before = perf_counter()
        knowing("a-token-of-ours-0123456789").clean(text)
        assert perf_counter() - before < 20


def test_escapes_of_every_day_stay() -> None:
    text = json.dumps({"content": "<p>Caf\u00e9 &amp; \u3042 &#39;x&#39; &#8217; #48 100% %E3%81%82 %2F</p>"})
    told = text.replace("<", "\\u003c").replace("&", "\\u0026").encode()
    assert knowing("a-token-of-ours-0123456789").clean(told) is told


@pytest.mark.parametrize("encoding", ENCODED)
@given(token=st.text(string.ascii_letters + string.digits + "-_", min_size=16, max_size=80))
def test_nor_what_of_it_is_in_base64(encoding: str, token: str) -> None:
    """All but the first and last characters, which are shared with the neighbours."""
    text = ENCODED[encoding](token).encode()
    cleaned = knowing(token).clean(text)
    assert cleaned.count(b"*") >= len(token) * 8 // 6 - 2


@given(st.binary(max_size=300))
def test_what_holds_no_secret_is_the_very_same(text: bytes) -> None:
    assert knowing("a-token-of-ours-0123456789").clean(text) is text


def test_a_whole_answer_is_cleaned_and_a_clean_one_is_passed_on_as_it_is() -> None:
    redactor = knowing("a-token-of-ours")
    clean = answer(b"{}", headers={"date": "today"})
    assert redactor.cleaned(clean) is clean
    told = answer(b"no: a-token-of-ours", headers={"x-a-token-of-ours": "a-token-of-ours"}, failure="GET /?t=a-token-of-ours")
    cleaned = redactor.cleaned(told)
    assert b"token" not in msgspec.json.encode(cleaned)
    assert (cleaned.status, cleaned.sent_at) == (told.status, told.sent_at)


def test_the_longer_of_two_secrets_leaves_no_end_behind() -> None:
    assert knowing("token-one", "token-one-and-more").clean(b"x token-one-and-more") == b"x " + b"*" * 18


def test_names_are_no_secrets_and_words_of_the_language_are_left_alone() -> None:
    redactor = Redactor()
    values = {"identifier": "ada.example.social", "did": "did:plc:abcdefgh", "app_password": "a" * (SHORTEST - 1)}
    redactor.learn(Secret(name="mine", values=values))
    text = " ".join(values.values()).encode()
    assert redactor.clean(text) is text


def test_the_signature_of_one_request_is_taken_out_of_its_answer() -> None:
    header = 'OAuth oauth_consumer_key="k", oauth_signature="tnnArxj06cWHq44gCs1OSKk%2FjLY%3D", oauth_token="t"'
    request = Request(path="/", headers={"authorization": header})
    cleaned = Redactor().cleaned(answer(f"{header} tnnArxj06cWHq44gCs1OSKk/jLY=".encode()), request)
    assert b"tnnArxj06cWHq44gCs1OSKk" not in cleaned.body
    assert "tnnArx" not in repr(request), "a request does not print what shows who asks"


def test_of_a_session_the_last_few_tokens_are_remembered_and_the_rest_forgotten() -> None:
    redactor = Redactor()
    for number in range(50):
        redactor.learn(Secret(name="mine", values={"access_jwt": f"session-token-{number:03}"}))
    assert redactor.clean(b"session-token-049 session-token-048") == b"*" * 17 + b" " + b"*" * 17
    assert redactor.clean(b"session-token-001") == b"session-token-001"


def test_a_percent_quoted_secret_is_also_hidden_as_it_reads_unquoted() -> None:
    assert b"bearer" not in knowing("AAAAbearer%2Btoken%3D").clean(b"token AAAAbearer+token= refused")
