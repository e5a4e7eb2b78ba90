"""What people write into a location field, cut into names: alternatives, and in each the parts from small to large."""

from __future__ import annotations

import re

_NOISE = re.compile(r"https?://\S+|www\.\S+|\S+@\S+\.\S+|(?<!\w)@\w+|\b[A-Z]{0,2}\d[\w-]*\b")
_POINT = re.compile(r"(-?\d{1,2}\.\d{2,})\s*,\s*(-?\d{1,3}\.\d{2,})")
_FLAG = re.compile("([\U0001f1e6-\U0001f1ff])([\U0001f1e6-\U0001f1ff])")
_ALTERNATIVES = re.compile(
    r"\s*(?:[/|•·&→✈➡;~+*=☆★♥»>\n]|\s(?:and|or|y|et|und|e|ou|to|via|then|now|formerly|by way of|but)\s)\s*", re.IGNORECASE
)
_PARTS = re.compile(r"\s*(?:[,:()\[\]{}\u2013—،、\uff0c…!?\"“”]|\s-+\s?|-+\s|(?<=\w{4})\.\s|\.$)\s*")
_WORD = re.compile(r"[^\W_]+(?:[.'\u2019\-][^\W_]+)*\.?")
_POSSESSIVE = re.compile(r"['\u2019]s\b")
_CAMEL = re.compile(r"(?<=[a-zà-ÿ])(?=[A-Z])")
_BEFORE_WORDS = """the greater near nr around from in at based living live lives located downtown metro city of outside
originally currently born raised somewhere en em à a de desde im aus uit i now deep beautiful sunny lovely great always my home
area just here mostly usually proudly proud historic old state country via out central capital"""
_AFTER_WORDS = "area metro region city suburbs based born native bound state province the county usa downtown and of"
_SIDE_WORDS = """n s e w north south east west northern southern eastern western northeast northwest southeast southwest upper
lower mid"""
_BEFORE, _AFTER, _SIDES = (frozenset(words.split()) for words in (_BEFORE_WORDS, _AFTER_WORDS, _SIDE_WORDS))


def point_in(text: str) -> tuple[float, float] | None:
    """Longitude and latitude that some software wrote into the field."""
    found = _POINT.search(text)
    if found is None:
        return None
    latitude, longitude = float(found[1]), float(found[2])
    return (longitude, latitude) if abs(latitude) <= 90 and abs(longitude) <= 180 else None


def without_noise(text: str) -> str:
    """The text without addresses, numbers and flags."""
    return " ".join(_POSSESSIVE.sub("", _NOISE.sub(" ", _FLAG.sub(" ", text))).split())


def flags_in(text: str) -> tuple[str, ...]:
    letters = ((chr(ord(mark) - 0x1F1E6 + 65) for mark in pair) for pair in _FLAG.findall(text))
    return tuple("".join(pair) for pair in letters)


def alternatives(text: str) -> list[str]:
    return [part for part in _ALTERNATIVES.split(text) if part]


def parts(text: str) -> tuple[str, ...]:
    return tuple(part for part in _PARTS.split(text) if part and any(mark.isalpha() for mark in part))


def words(part: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(part))


def pieces(part: str) -> tuple[str, ...]:
    """The words, also where only a hyphen or a capital parts them: `Raleigh-Durham`, `NewYork`."""
    return words(_CAMEL.sub(" ", part.replace("-", " ")))


def is_filler(word: str) -> bool:
    """A word that says nothing for or against a name beside it."""
    return word.casefold() in _BEFORE or word.casefold() in _AFTER or word.casefold() in _SIDES


def trimmed(part: tuple[str, ...]) -> tuple[str, ...]:
    """The words without `greater`, `based in`, `area` and the like; never without all of them."""
    low, high = 0, len(part)
    while low < high - 1 and (part[low].casefold() in _BEFORE or part[low].casefold() in _SIDES):
        low += 1
    while high > low + 1 and part[high - 1].casefold() in _AFTER:
        high -= 1
    return part[low:high]
