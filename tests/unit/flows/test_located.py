"""Lines of keys in TOML, durations, and documents laid over each other."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowerbird.errors import FlowError
from bowerbird.flows.language.spelling import duration, meant, spell
from bowerbird.flows.language.toml_lines import read
from failures import raises_code

TEXT = """\
# a comment with [brackets] and "quotes"
name = "x"            # line 2
"quoted key" = "it's"
text = \"\"\"
[not.a.table]
key = 1\"\"\"
after = true
list = [
  1,
  { inner = 2, "deep.er".still = 3 },
]
a.b.c = 1

[table.'sub table']
key = 1979-05-27T07:32:00Z

[[rows]]
id = 1
[[rows]]
id = 2
[rows.inner]
x = 'a#b'
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("name",), 2),
        (("text",), 4),
        (("after",), 7),
        (("list",), 8),
        (("list", 0), 9),
        (("list", 1, "inner"), 10),
        (("list", 1, "deep.er", "still"), 10),
        (("a", "b", "c"), 12),
        (("table", "sub table", "key"), 15),
        (("rows", 0, "id"), 18),
        (("rows", 1), 19),
        (("rows", 1, "inner", "x"), 22),
        (("rows", 1, "missing"), 19),
        (("absent",), 0),
    ],
)
def test_every_key_knows_its_line(path: tuple[str | int, ...], line: int) -> None:
    assert read(TEXT, "f.toml").place(path) == ("f.toml", line)


def test_windows_line_ends_count_once() -> None:
    assert read("a = 1\r\n\r\nb = 2\r\n", "f").place(("b",)) == ("f", 3)


def test_broken_toml_names_the_line() -> None:
    with raises_code(FlowError, "invalid_toml") as caught:
        read("a = 1\nb = = 2\n", "f.toml")
    assert caught.value.problem.startswith("f.toml:2: ")


def test_an_unfinished_text_names_a_line_too() -> None:
    with raises_code(FlowError, "invalid_toml") as caught:
        read('a = 1\nb = """open', "f.toml")
    assert caught.value.line is not None
    assert caught.value.problem.startswith(f"f.toml:{caught.value.line}: ")


_keys = st.text("abc", min_size=1, max_size=3)
_values = st.recursive(
    st.one_of(st.integers(0, 9), st.booleans(), st.text("ab#='\n[]{},", max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_keys, inner, max_size=3)),
    max_leaves=6,
)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[\n" + ",\n".join(_toml(inner) for inner in value) + "]"
    return '"' + value.replace("\n", "\\n") + '"' if isinstance(value, str) else str(value)


@given(st.dictionaries(_keys, _values, max_size=6))
def test_the_line_of_a_key_is_where_it_stands_in_the_text(values: dict[str, object]) -> None:
    text = "".join(f"{key} = {_toml(value)}\n\n" for key, value in values.items())
    document = read(text, "f")
    assert document.values == values
    for key in values:
        line = document.place((key,))[1]
        assert text.splitlines()[line - 1].startswith(f"{key} = ")


def test_a_document_laid_over_another_keeps_the_places_of_both() -> None:
    lower, upper = read("[t]\na = 1\nb = 2\n[[e]]\nx = 1\n", "low"), read("\n\n[t]\nb = 3\n[[e]]\ny = 2\n", "up")
    both = upper.over(lower)
    assert both.values == {"t": {"a": 1, "b": 3}, "e": [{"y": 2}]}
    assert both.place(("t", "a")) == ("low", 2)
    assert both.place(("t", "b")) == ("up", 4)
    assert both.place(("e", 0, "x")) == ("up", 5)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        ("1h30m", timedelta(minutes=90)),
        ("1.5 d", timedelta(hours=36)),
    ],
)
def test_durations_are_numbers_with_units(text: str, span: timedelta) -> None:
    assert duration(text) == span


@pytest.mark.parametrize("text", ["", "15", "15 minutes", "-5m", "0s", "m", "1y", "9" * 400 + "w"])
def test_duration_that_is_invalid_raises_with_its_text(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        duration(text)
    assert repr(text) in str(caught.value)


@given(st.timedeltas(min_value=timedelta(milliseconds=1), max_value=timedelta(days=3000)))
def test_a_duration_is_spelled_as_it_is_read(span: timedelta) -> None:
    assert duration(spell(span)) == span


def test_near_words_are_suggested() -> None:
    assert "'timeline'" in meant("timelin", ["timeline", "posts"])
    assert "posts" not in meant("timelin", ["timeline", "posts"])
    assert meant("xyz", ["timeline"]) == ""
