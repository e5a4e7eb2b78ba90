"""The table of names that the package holds (`community/names.npz`), built from names by country."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from bowerbird.community.countries import languages_of
from bowerbird.community.names import STEPS, NameTable, letter_grams

_MIN_NAMES = 8
_PSEUDO_COUNT = 8_000
"""Dirichlet smoothing towards the countries of the same language, in sequences. Chosen by the log loss of held-out names: a few
hundred names of a country do not show all that it shares with them."""


def build_table(names: Mapping[str, Sequence[str]]) -> NameTable:
    """Estimate a table from names by country."""
    countries = tuple(sorted(names))
    by_country = [Counter(gram for name in names[code] for gram in letter_grams(name)) for code in countries]
    total: Counter[str] = sum(by_country, Counter())
    rows = {gram: row for row, gram in enumerate(sorted(g for g, n in total.items() if n >= _MIN_NAMES))}
    counts = np.zeros((len(rows), len(countries)))
    for column, counter in enumerate(by_country):
        for gram, count in counter.items():
            if gram in rows:
                counts[rows[gram], column] = count
    sizes = counts.sum(axis=0)
    shares = counts / sizes
    usual = shares.mean(axis=1, keepdims=True)
    languages = np.array([languages_of(code)[0] for code in countries])
    for column, language in enumerate(languages):
        expected = np.hstack((shares[:, languages == language], usual)).mean(axis=1)
        counts[:, column] += _PSEUDO_COUNT * expected
    ratios = np.log(counts / (sizes + _PSEUDO_COUNT) / usual)
    values = np.clip(np.round(ratios * STEPS), -127, 127).astype(np.int8)
    return NameTable(countries, rows, values)


def pack_table(table: NameTable) -> bytes:
    """Return a table as a compressed numpy archive."""
    buffer = io.BytesIO()
    countries, grams = (np.frombuffer(" ".join(texts).encode(), np.uint8) for texts in (table.countries, table.rows))
    np.savez_compressed(buffer, values=table.values, countries=countries, grams=grams)
    return buffer.getvalue()
