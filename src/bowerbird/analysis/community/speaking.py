"""How much a language says of belonging: much where hardly anybody else speaks it, little where half the world does."""

from __future__ import annotations

from functools import lru_cache
from math import log

from bowerbird.analysis.community.world import share_of_speakers
from bowerbird.model.subjects.community import Community

ENGLISH = "en"
"""What people write besides their own language, and set because a device came so."""
_FLOOR = 0.05
"""As many others at least learn and write any language."""
_DECLARED = 0.6
"""What is set counts less than what is written."""
_DECLARED_OTHER, _DECLARED_ENGLISH = -2.0, -0.3


@lru_cache(maxsize=1_000)
def own_weight(language: str, community: Community) -> float:
    """How much it says that somebody writes one of the community's languages.

    Those who are judged are near the community: others of the same language are far more frequent among them than in the world.
    """
    if not community.countries:
        return 1.0
    return log(1 / (1 + _FLOOR - share_of_speakers(language, community.countries)))


def declared_weight(language: str, community: Community) -> float:
    """How much the language says that an account has set; `pt-BR` where the network tells varieties."""
    parts = language.replace("_", "-").split("-")
    variety = f"{parts[0]}-{parts[1].upper()}" if len(parts) > 1 else ""
    if not community.languages:
        return 0.0
    if variety and variety in community.varieties:
        return 1.0
    if variety and variety in community.other_varieties:
        return -1.0
    if parts[0] in community.languages:
        return 0.3 + _DECLARED * own_weight(parts[0], community)
    return _DECLARED_ENGLISH if parts[0] == ENGLISH else _DECLARED_OTHER
