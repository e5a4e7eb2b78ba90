"""Read degrees and profiles of the accounts that a walk visited, and of their random neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from bowerbird.policies.graph_walks.walking import Trodden
from bowerbird.ports import Row

_FLAGS = {"verified": "is_verified", "bot": "is_bot", "protected": "is_protected"}
_MOST_LANGUAGES = 5


class Known(Struct, frozen=True):
    """Both by key: the memory of the walk, and the stored profiles."""

    nodes: Mapping[str, Trodden]
    users: Mapping[str, Row]

    def around(self, node: str) -> list[tuple[str, int]]:
        """Return random neighbours of a node with their degrees; the node itself replaces those that no walker can visit.

        Empty unless all are known: unknown ones are mostly unpopular accounts, so that using the others would bias the estimate.
        """
        own, found = self.nodes[node].degree, []
        for key in self.nodes[node].witnesses:
            degree = self._degree(key)
            if degree is None:
                return []
            found.append((key, degree) if degree > 0 else (node, own))
        return found

    def _degree(self, key: str) -> int | None:
        """Return the degree by the walk's count or by the profile's counters; 0 if protected, None if unknown."""
        node, user = self.nodes.get(key), self.users.get(key)
        if node is not None and node.degree:
            return max(node.degree, 0)
        if not key or (user is not None and (user["is_protected"] or user["is_gone"])):
            return 0
        if user is None or user["followers"] is None or user["following"] is None:
            return None
        return int(max(user["followers"] + user["following"], 1))

    def value(self, name: str, key: str, degree: int) -> float | None:
        """Return a figure of an account, or None if it is unknown."""
        if name == "degree":
            node = self.nodes.get(key)
            return float(node.listed if node is not None and node.steps else degree)
        user = self.users.get(key)
        if user is None:
            return None
        if name.startswith("language:"):
            spoken = _language(user)
            return None if spoken is None else float(spoken == name.removeprefix("language:"))
        value = user[_FLAGS.get(name, name)]
        return None if value is None else float(value)

    def languages(self) -> list[str]:
        """Return the most frequent languages of profiles."""
        spoken = Counter(language for user in self.users.values() if (language := _language(user)))
        return [f"language:{name}" for name, _ in spoken.most_common(_MOST_LANGUAGES)]


def _language(user: Row) -> str | None:
    """Return the language of a profile without its country."""
    written = user["language"]
    return written.lower().replace("_", "-").partition("-")[0] if written else None
