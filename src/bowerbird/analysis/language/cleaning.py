"""Posts as language tools should see them: without what is not language."""

from __future__ import annotations

import re
from html import unescape

_ENDINGS = "com|org|net|info|edu|gov|eu|io|co|ly|me|tv|be|gl|fm|app|dev|uk|us|de|fr|es|it|pt|br|jp|ru|pl"
_LINK = re.compile(rf"(?:https?://|www\.)\S+|\b[\w-]+(?:\.[\w-]+)*\.(?:{_ENDINGS})(?:/\S*|\b(?![\w.]))", re.IGNORECASE)
_MENTION = re.compile(r"(?<![\w.])@[\w.-]+(?:@[\w.-]+)?")
_HASHTAG = re.compile(r"(?<!\w)[#$]\w+")
_REPOST = re.compile(r"^\s*RT\b\s*:?")
# Emoji with their joiners and skin tones, flags, arrows, boxes, dingbats.
_EMOJI = re.compile(
    "[\u200b-\u200f\u2060-\u2064\u20e3\u2190-\u2bff\u3030\ufe00-\ufe0f\U0001f000-\U0001faff\U000e0020-\U000e007f]+"
)
_SPACE = re.compile(r"\s+")


def cleaned(text: str) -> str:
    """The text without links, mentions, hashtags, emoji and the sign of a repost, on one line."""
    if "&" in text:
        text = unescape(text)
    for pattern in (_LINK, _MENTION, _HASHTAG, _REPOST, _EMOJI):
        text = pattern.sub(" ", text)
    return _SPACE.sub(" ", text).strip()


def letters(text: str) -> int:
    """How many letters there are: what is left to tell a language by."""
    return sum(map(str.isalpha, text))
