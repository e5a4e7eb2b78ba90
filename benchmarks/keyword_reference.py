"""Builds the table of ordinary frequencies: `python -m benchmarks.keyword_reference --data DIR`.

Counts words in ordinary tweets of 15 languages, in the half of them that the evaluation of keywords
does not use. A word has its greatest relative frequency over the languages. Words of fewer than
three posts, mentions and links are left out, so that the table contains no text and no account.

For the other languages of stopwords-iso (French, Italian, Japanese, ...), the words of its lists
have the same assumed frequency. The lists are in the PyPI package `stopwordsiso` (MIT licence):
pass its `stopwords-iso.json` with `--stop-words`.
"""

from __future__ import annotations

import argparse
import html
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from bowerbird.evaluate.keywords.streams import Half, OrdinaryPost, read_ordinary_posts
from bowerbird.keywords.reference import encode_table
from bowerbird.model.terms import read_text

MIN_POSTS = 3
STOP_WORD_FREQUENCY = 1e-3
"""Assumed for each word of a list. It is never ordinary enough to be refused outright, because the
lists contain some rare words."""
COUNTED = {"bg", "bs", "de", "en", "es", "hr", "hu", "pl", "pt", "ru", "sk", "sl", "sq", "sr", "sv"}
"""Languages of the tweets, which need no list."""
TABLE = Path(__file__).parents[1] / "src" / "bowerbird" / "keywords" / "reference.bin"


def count_frequencies(posts: Iterable[OrdinaryPost]) -> dict[str, float]:
    """Return the greatest relative frequency of each word over languages."""
    uses: defaultdict[str, Counter[str]] = defaultdict(Counter)
    texts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for post in posts:
        tokens = read_text(html.unescape(post.text)).tokens
        words = [token.lstrip("#") for token in tokens if token[0] != "@"]
        uses[post.language].update(words)
        texts[post.language].update(set(words))
    frequencies: dict[str, float] = {}
    for language, counts in uses.items():
        total = counts.total()
        for word, count in counts.items():
            if texts[language][word] >= MIN_POSTS:
                frequencies[word] = max(frequencies.get(word, 0.0), count / total)
    return frequencies


def list_stop_words(lists: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the words of the languages without tweets, as posts are read; phrases are left out."""
    readings = (read_text(entry).tokens for language in lists.keys() - COUNTED for entry in lists[language])
    return {tokens[0] for tokens in readings if len(tokens) == 1 and tokens[0][0] not in "#@"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with language-tweets-15")
    parser.add_argument("--stop-words", type=Path, required=True, help="stopwords-iso.json")
    parser.add_argument("--output", type=Path, default=TABLE)
    arguments = parser.parse_args()
    posts = (post for post in read_ordinary_posts(arguments.data) if post.is_tweet and Half.of(post.text) is Half.REFERENCE)
    stop_words = list_stop_words(json.loads(arguments.stop_words.read_bytes()))
    frequencies = dict.fromkeys(stop_words, STOP_WORD_FREQUENCY) | count_frequencies(posts)
    content = encode_table(frequencies)
    arguments.output.write_bytes(content)
    print(f"{len(frequencies)} words, {len(content)} bytes: {arguments.output}")


if __name__ == "__main__":
    main()
