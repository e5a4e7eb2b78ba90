"""Builds the table of ordinary frequencies: `python -m benchmarks.keyword_reference --data DIR`.

Counts words in ordinary tweets of 15 languages, in the half of them that the evaluation of keywords
does not use. A word has its greatest relative frequency over the languages. Words of fewer than
three posts, mentions and links are left out, so that the table contains no text and no account.
"""

from __future__ import annotations

import argparse
import html
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from bowerbird.evaluate.keywords.streams import Half, OrdinaryPost, read_ordinary_posts
from bowerbird.keywords.reference import encode_table
from bowerbird.model.terms import read_text

MIN_POSTS = 3
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with language-tweets-15")
    parser.add_argument("--output", type=Path, default=TABLE)
    arguments = parser.parse_args()
    posts = (post for post in read_ordinary_posts(arguments.data) if post.is_tweet and Half.of(post.text) is Half.REFERENCE)
    frequencies = count_frequencies(posts)
    content = encode_table(frequencies)
    arguments.output.write_bytes(content)
    print(f"{len(frequencies)} words, {len(content)} bytes: {arguments.output}")


if __name__ == "__main__":
    main()
