"""Reproducible pseudo-random numbers from values: the same (seed, what) always gives the same number, in any order of asking.

`mix` works on Python integers and `mix_many` on numpy arrays; both compute exactly the same function (SplitMix64's finaliser).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


def mix(value: int, salt: int = 0) -> int:
    x = (value + salt * _STEP + _STEP) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def mix_many(values: npt.NDArray[Any], salt: int = 0) -> Words:
    x = values.astype(np.uint64) + np.uint64((salt * _STEP + _STEP) & _MASK)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def unit(word: int) -> float:
    """A number in [0, 1) from 64 random bits."""
    return (word >> 11) * 2.0**-53


def unit_many(words: Words) -> npt.NDArray[np.float64]:
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def generator(seed: int, *what: int) -> np.random.Generator:
    """A numpy generator of its own for (seed, what)."""
    key = seed
    for part in what:
        key = mix(key ^ mix(part & _MASK))
    return np.random.Generator(np.random.Philox(key=key))
