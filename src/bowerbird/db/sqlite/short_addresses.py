"""Addresses of media that SQLite keeps short: `short_url` is what is stored, `url` is read from it and from the media's id.

As with the ids of posts (`short_columns.py`), readers see `url` alone, and PostgreSQL has the plain column.
"""

from __future__ import annotations

from bowerbird.model import NETWORKS

MEDIA_FORMS = tuple(form for network in NETWORKS.values() for form in network.media_forms)
PLAIN = "="
"""Begins an address that is kept whole although it begins like a short one."""
MARKS = PLAIN + "".join(form.mark for form in MEDIA_FORMS)
_SHORT_URL = "short_url"


def written_url(dialect: str) -> str:
    """The name under which the address of media is written."""
    return _SHORT_URL if dialect == "sqlite" else "url"


def kept_url(dialect: str, id_: str, url: str) -> str:
    """The address as it is stored."""
    return short_address(id_, url) if dialect == "sqlite" else url


def short_address(id_: str, url: str) -> str:
    """The address without what is the same in all of its kind, and without the id; `address_in_sql` reads the whole one."""
    for form in MEDIA_FORMS:
        begin, end = len(form.begins), len(url) - len(id_) - len(form.ends) - 1
        if begin <= end and url.startswith(form.begins) and url[end:] == f"/{id_}{form.ends}":
            return form.mark + url[begin:end]
    return PLAIN + url if url[:1] and url[0] in MARKS else url


def address_in_sql() -> str:
    """The whole address, in a row of `media`."""
    name = f"substr({_SHORT_URL}, 2)"
    forms = " ".join(f"when '{form.mark}' then '{form.begins}' || {name} || '/' || id || '{form.ends}'" for form in MEDIA_FORMS)
    return f"case substr({_SHORT_URL}, 1, 1) {forms} when '{PLAIN}' then {name} else {_SHORT_URL} end"
