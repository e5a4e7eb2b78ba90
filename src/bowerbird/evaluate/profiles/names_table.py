"""The table of names that the package holds (`community/names.npz`), built from names by country."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from bowerbird.community.names import STEPS, NameTable, letter_grams

_MIN_NAMES = 8
_PSEUDO_COUNT = 1_000
"""Dirichlet smoothing towards the mean of all countries, in sequences."""


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
    usual = (counts / sizes).mean(axis=1, keepdims=True)
    ratios = np.log((counts + _PSEUDO_COUNT * usual) / (sizes + _PSEUDO_COUNT) / usual)
    values = np.clip(np.round(ratios * STEPS), -127, 127).astype(np.int8)
    return NameTable(countries, rows, values)


def pack_table(table: NameTable) -> bytes:
    """Return a table as a compressed numpy archive."""
    buffer = io.BytesIO()
    countries, grams = (np.frombuffer(" ".join(texts).encode(), np.uint8) for texts in (table.countries, table.rows))
    np.savez_compressed(buffer, values=table.values, countries=countries, grams=grams)
    return buffer.getvalue()
