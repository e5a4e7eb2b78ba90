"""Which words a post of a mixed world is made of: those of a language, or of a variety of Portuguese.

Most people of a nation write as it does; some write so that nobody could tell, some write like their neighbours, and many write
English now and then, or always. All of it follows from the numbers of account and post.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bowerbird.simulated.world.hashing import mix, mix_many, unit, unit_many
from bowerbird.simulated.world.people.vocabulary import TOWNS, VOCABULARY, WORDS_PER_LANGUAGE
from bowerbird.simulated.world.posts.rows import AUTHOR_MASK

Array = npt.NDArray[Any]

_NEUTRAL = """
hoje amanhã ontem|muito bom|quem sabe|acho que sim|que dia|minha vida|com amigos|no trabalho|em casa|de manhã|à noite|que fome
cansada|o jogo de ontem|boa noite|bom dia|outra vez|saudades|quero dormir|sem internet|filme novo|mais um dia
impossível|quem diria|é verdade|por favor|obrigado|a melhor música|vou sair|chove tanto|sol e praia|que frio|nunca mais
sempre assim|tenho sono|a semana toda|feliz aniversário|parabéns|até logo|vamos lá|perdi tudo|só isso|série nova|família|a escola
exame amanhã
café e livros|que calor|muito triste|tão feliz|adoro|odeio segundas|fim de semana|férias já|dor de cabeça|nova foto
que vergonha|ninguém sabe|cheguei agora|quase lá|meia hora|duas horas|outra coisa|vou tentar
"""
_EUROPEAN = """
estou a ver o jogo|fixe|apanhei o autocarro|já te disse|telemóvel|que seca|bué|disse-me que sim|comboio atrasado|pequeno-almoço
"""
_BRAZILIAN = """
tô vendo o jogo|legal demais|peguei o ônibus|te falei|meu celular|galera|kkkkk|me disse que sim|trem atrasado|café da manhã
"""
_CROSSED = "gente", "a equipa", "você", "tá bom"
"""What the one side writes now and then although it is the other's."""


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.replace("\n", "|").split("|") if part.strip())


def _mixed(special: str, count: int, crossed: tuple[str, ...]) -> tuple[str, ...]:
    """64 phrases, so many of them of one side."""
    words = (*_phrases(special)[:count], *crossed, *_phrases(_NEUTRAL), *_phrases(_NEUTRAL))
    return words[:WORDS_PER_LANGUAGE]


STYLES: dict[str, tuple[str, ...]] = {
    **VOCABULARY,
    "pt": _mixed("", 0, ()),
    "pt-PT strong": _mixed(_EUROPEAN, 6, _CROSSED[:1]),
    "pt-PT": _mixed(_EUROPEAN, 3, _CROSSED[2:3]),
    "pt-BR strong": _mixed(_BRAZILIAN, 7, ()),
    "pt-BR": _mixed(_BRAZILIAN, 4, _CROSSED[1:2]),
}
"""By name the words and phrases that posts are drawn from."""
NAMES = tuple(STYLES)
_ENGLISH = NAMES.index("en")
_OF_NATION: dict[str, tuple[tuple[str, float], ...]] = {
    "PT": (("pt-PT strong", 0.35), ("pt-PT", 0.46), ("pt", 0.16), ("pt-BR", 0.03)),
    "BR": (("pt-BR strong", 0.5), ("pt-BR", 0.37), ("pt", 0.13)),
}
_ENGLISH_SHARES = ((0.66, 0.02), (0.84, 0.2), (0.95, 0.6), (1.01, 0.97))
"""Up to which part of people, and how much of what they write is English."""


class Tongues:
    """Says of posts which words they are made of."""

    def __init__(self, seed: int, communities: Array) -> None:
        self._seed = seed
        places = np.arange(len(communities), dtype=np.int64)
        self._own = _own_styles(unit_many(mix_many(places, seed ^ 0x57E)), communities)
        self._english = _english_shares(unit_many(mix_many(places, seed ^ 0xE46)))

    def of(self, number: int) -> int:
        """The place among `NAMES` of what one post is written in."""
        author = number & AUTHOR_MASK
        is_english = unit(mix(number, self._seed ^ 0x70)) < self._english[author]
        return _ENGLISH if is_english else int(self._own[author])

    def of_many(self, numbers: npt.NDArray[np.int64]) -> Array:
        authors = numbers & AUTHOR_MASK
        is_english = unit_many(mix_many(numbers, self._seed ^ 0x70)) < self._english[authors]
        return np.where(is_english, _ENGLISH, self._own[authors])


def language_of(style: int) -> str:
    return NAMES[style].split("-")[0]


def _own_styles(draws: Array, communities: Array) -> Array:
    found = np.zeros(len(communities), np.int16)
    for number, town in enumerate(TOWNS):
        here = communities == number
        upto = 0.0
        left = here.copy()
        for name, share in _OF_NATION.get(town.code, ((town.language, 1.0),)):
            upto += share
            chosen = left & (draws < upto)
            found[chosen] = NAMES.index(name)
            left &= ~chosen
        found[left] = NAMES.index(town.language)
    return found


def _english_shares(draws: Array) -> Array:
    found = np.zeros(len(draws))
    for upto, share in reversed(_ENGLISH_SHARES):
        found[draws < upto] = share
    return found
