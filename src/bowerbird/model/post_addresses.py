"""Where a browser finds a post, on networks where that follows from its id: such addresses are not stored."""

from __future__ import annotations

import re
from functools import cache

from bowerbird.model.networks import NETWORKS

_FORMS = [each.post_forms for each in NETWORKS.values() if each.post_forms is not None]


def post_address(id_: str) -> str | None:
    """The address of the post with this id; None where the id does not tell it."""
    return next((address for of_id, of_address in _FORMS if (address := _said_otherwise(id_, of_id, of_address))), None)


def post_at(address: str) -> str | None:
    """The id of the post at this address; None where the address does not tell it."""
    return next((id_ for of_id, of_address in _FORMS if (id_ := _said_otherwise(address, of_address, of_id))), None)


def _said_otherwise(text: str, form: str, other: str) -> str | None:
    """The same author and key in another form; None where the text does not have the first one."""
    found = _pattern(form).fullmatch(text)
    return None if found is None else other.format(author=found["author"], key=found["key"])


@cache
def _pattern(form: str) -> re.Pattern[str]:
    return re.compile(re.escape(form).replace(r"\{author\}", "(?P<author>[^/?#]+)").replace(r"\{key\}", "(?P<key>[^/?#]+)"))
