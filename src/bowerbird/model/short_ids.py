"""Ids of posts without what many have in common: as SQLite keeps them."""

from __future__ import annotations

from bowerbird.model.networks import NETWORKS

SHORT_FORMS = tuple(form for network in NETWORKS.values() for form in network.short_forms)
PLAIN = "="
"""Begins an id that is kept whole although it begins like a short one; no network has such, but servers send anything."""
MARKS = PLAIN + "".join(form.mark for form in SHORT_FORMS)
_SPECIAL = (*MARKS, *(form.begins for form in SHORT_FORMS))
"""How ids begin that are not kept as they are."""


def shortened(id_: str) -> str:
    """The id as it is kept. `db/short_columns.py` says in SQL how the whole one is read."""
    if not id_.startswith(_SPECIAL):
        return id_
    for form in SHORT_FORMS:
        name = len(form.begins)
        middle = name + form.characters
        if id_.startswith(form.begins) and id_.startswith(form.middle, middle):
            return form.mark + id_[name:middle] + id_[middle + len(form.middle) :]
    return PLAIN + id_ if id_[0] in MARKS else id_
