"""A row for each table that a small crawl leaves empty, so that pages have something of it to show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bowerbird.errors import BowerbirdError
from bowerbird.ports import Row, Transaction

_WORDS: Mapping[str, Mapping[str, Any]] = {
    "actions": {"role": "steer", "outcome": "failed"},
    "candidates": {"source": "mentions", "state": "named", "reason": None},
    "changes": {"kind": "retired", "manner": None, "before": None, "after": None},
    "controls": {"kind": "facet", "wanted": "paused"},
    "credentials": {"state": "refused"},
    "errors": {"outcome": "refused"},
    "gaps": {"cause": "cut", "ended_at": None},
    "growth": {"name": "posts"},
    "judgements": {"judge": "community", "subject": "user", "value": "yes", "evidence": '{"words": ["x"]}'},
    "judgement_history": {"judge": "community", "value": "yes", "evidence": '{"words": ["x"]}'},
    "keyword_candidates": {"counts": "[1]", "numbers": '{"lift": 1.0}', "together": '{"x": 1}'},
    "keyword_decisions": {"posts": "[1]", "background": "[1]", "precision": None, "numbers": "{}"},
    "keyword_labels": {"label": "C1"},
    "keyword_methods": {"name": "skwa", "state": "{}", "until": None},
    "keyword_orders": {"said": "pin"},
    "keyword_probes": {"found": None},
    "keyword_samples": {"terms": "[]"},
    "keywords": {"numbers": "{}", "until": None, "until_why": None, "until_numbers": None},
    "label_samples": {"judge": "community", "said": "yes"},
    "labels": {"judge": "community", "label": "yes"},
    "lists": {"network": "mastodon", "kind": None},
    "media_files": {"kind": "photo", "state": "given_up"},
    "module_runs": {"module": "growth", "counts": '{"rows": 1}'},
    "modules": {"name": "growth", "memory": "{}"},
    "outages": {"ended_at": None},
    "place_names": {"said": "proposed"},
    "post_history": {"before": '{"text": "x"}', "after": '{"text": "y"}'},
    "post_versions": {"links": '["x"]'},
    "quarantine": {"subject": "post", "facet": "search"},
    "quarantine_sources": {"facet": "search"},
    "shortfalls": {"cause": "budget"},
    "streams": {"channel": "public", "options": "{}", "state": "refused", "tuned": None, "cursor": None, "head": None},
    "word_studies": {
        "words": '["x"]', "unit": "day", "state": "failed", "result": None, "spellings": None, "series": None, "since": None,
        "until": None,
    },
    "word_study_labels": {"label": "yes"},
    "user_history": {"before": '{"name": "x", "description": "x"}', "after": '{"name": "y", "description": "y"}'},
}  # fmt: skip
"""Where not any text will do: words from fixed lists, JSON, and what is better left open."""
_PLAIN = ("former_handles", "trends", "volumes", "user_tags", "post_cashtags", "worker_tokens")
_LATER = ("_at", "at", "since", "due", "until", "begins", "ends")
WHEN = 1_767_600_000_000_000
"""In January 2026, in the middle of the crawl."""


async def add_first_rows(tx: Transaction, table: str, columns: list[Row]) -> bool:
    """Adds a row to one that is known here and empty; False where there is none to add, or it is refused."""
    if table not in _WORDS and table not in _PLAIN:
        return False
    if await tx.fetch_one(f'select 1 as one from "{table}" limit 1') is not None:
        return False
    row = {str(each["name"]): _value(table, str(each["name"]), str(each["type"]).lower()) for each in columns}
    names, marks = ", ".join(f'"{name}"' for name in row), ", ".join("?" for _ in row)
    try:
        await tx.execute(f'insert into "{table}" ({names}) values ({marks})', *row.values())
    except BowerbirdError:
        return False
    return True


def _value(table: str, name: str, kind: str) -> Any:
    if name in _WORDS.get(table, {}):
        return _WORDS[table][name]
    if kind == "text":
        return "x"
    if kind in ("blob", "real"):
        return 0.5 if kind == "real" else b""
    return WHEN if name.endswith(_LATER) or name in _LATER else 1
