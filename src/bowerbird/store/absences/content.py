"""Which columns can hold what people wrote, and why the others cannot. A test holds this against the schema: a new column of text
or bytes must be purged, or be listed here with a reason."""

from __future__ import annotations

from collections.abc import Mapping

PURGED: Mapping[str, tuple[str, ...]] = {
    "users": ("handle", "name", "description", "location", "url", "language", "avatar", "gender", "time_zone", "labels", "raw"),
    "user_history": ("before", "after"),
    "former_handles": ("name", "handle"),
    "user_tags": ("tag", "name"),
    "posts": (
        "text", "language", "reply_to", "repost_of", "quote_of", "root", "url", "source", "warning", "labels", "links", "place",
        "via", "edit_of", "poll", "emoji", "raw",
    ),
    "frames": ("body",),
    "post_history": ("before", "after"),
    "post_versions": ("text", "warning", "links"),
    "post_tags": ("tag", "written"),
    "post_cashtags": ("cashtag",),
    "media": ("id", "url", "description"),
    "media_files": ("url", "sha256", "type", "path", "error"),
    "lists": ("name", "description"),
    "judgements": ("id", "value", "reason", "evidence"),
    "judgement_history": ("id", "value", "reason", "evidence"),
    "reactions": ("kind",),
    "quarantine": ("why", "raw"),
}  # fmt: skip
"""By table what a purge empties or deletes; of `media_files` when the file leaves the disk."""

_IDS = "ids and keys stay by design: what remains is that something was there, and when"
_OURS = "our own words, or those of the crawl file"
_CHOSEN = "from a fixed list of words"
_SERVICE = "what a service says of itself, of a call or of a word, cut short; no content of an account"
_POSITION = "a position in a listing, opaque or made of ids and times"

WITHOUT_CONTENT: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    _IDS: {
        "users": ("id",), "posts": ("id",), "lists": ("id",), "user_keys": ("key",), "post_keys": ("key",), "deletions": ("id",),
        "relations": ("record",), "bills": ("item",), "media_files": ("id",), "calls": ("targets",),
        "results": ("item",), "meanings": ("key",),
    },
    _OURS: {
        "crawls": ("name", "flow", "settings", "reason"), "lanes": ("facet",), "services": ("name", "provider", "base"),
        "workers": ("name", "host", "identity", "place", "version", "label"), "plans": ("document", "whole"),
        "rebuilds": ("edges",), "controls": ("name",), "worker_tokens": ("name", "hash"),
        "claims": ("name",), "changes": ("who", "why", "before", "after"), "judgements": ("judge", "version", "decided_by"),
        "judgement_history": ("judge", "version", "decided_by"), "community_models": ("judge", "learned"),
        "outputs": ("path",), "media_copies": ("place", "path"), "remaps": ("version", "fields"),
        "streams": ("name", "channel", "options", "tuned"), "ledgers": ("bucket",), "credentials": ("credential",),
        "bills": ("payer",), "forget_requests": ("who", "why"),
        "calls": ("facet", "credential", "charges"), "errors": ("part",), "outages": ("service",), "volumes": ("query",),
        "quarantine": ("facet",), "quarantine_sources": ("facet",), "shortfalls": ("detail",), "gaps": ("detail",),
        "keyword_methods": ("name",), "keywords": ("why", "numbers", "until_why", "until_numbers"),
        "keyword_decisions": ("posts", "background", "precision", "numbers"),
        "keyword_candidates": ("counts", "verdict", "numbers"),
        "keyword_orders": ("who",), "keyword_labels": ("tagger",), "modules": ("name", "memory"), "growth": ("name",),
        "module_runs": ("module", "counts"), "place_names": ("who",), "labels": ("judge", "who"), "label_samples": ("judge",),
        "audits": ("result",), "prepared": ("name", "document"),
        "dashboard_people": ("name", "hash"), "dashboard_sessions": ("hash", "person"),
        "dashboard_tries": ("key",), "saved_searches": ("name", "query", "who"), "actions": ("who", "what", "detail"),
        "word_studies": ("name", "words", "who", "series_name", "series", "error"), "word_study_labels": ("who",),
    },
    "numbers alone, made anew when what they were made of is gone": {
        "statistic_parts": ("body",), "statistics": ("name", "body"), "word_studies": ("result",),
    },
    _CHOSEN: {
        "controls": ("kind", "wanted"), "crawls": ("state", "wanted"), "services": ("network",), "streams": ("state",),
        "ledgers": ("kind",), "credentials": ("state",), "calls": ("state", "outcome"), "errors": ("outcome",),
        "tasks": ("state",),
        "users": ("network",), "posts": ("network", "kind"), "lists": ("network", "kind"), "judgements": ("subject",),
        "listings": ("kind", "side"), "reaction_listings": ("kind",), "relations": ("kind",),
        "relation_history": ("kind", "change"), "deletions": ("subject", "reason"), "unavailable": ("reason",),
        "gaps": ("cause",), "changes": ("kind", "manner"), "shortfalls": ("cause",), "media": ("kind",),
        "media_files": ("kind", "state"),
        "quarantine": ("subject",), "keyword_orders": ("said",), "keyword_labels": ("label",),
        "candidates": ("source", "state", "reason"), "place_names": ("said",), "labels": ("label",), "label_samples": ("said",),
        "audit_accounts": ("state",), "saved_searches": ("what",), "dashboard_people": ("role",), "actions": ("role", "outcome"),
        "statistic_parts": ("subject", "state"), "statistic_counts": ("measure",),
        "word_studies": ("unit", "state"), "word_study_labels": ("label",),
    },
    _SERVICE: {
        "services": ("flavour",), "lanes": ("left_out",), "calls": ("detail",), "errors": ("message",), "outages": ("reason",),
        "tasks": ("failure",), "credentials": ("reason",), "streams": ("reason",), "trends": ("place", "word"),
        "results": ("told",), "module_runs": ("error",),
    },
    _POSITION: {
        "tombstone_state": ("after_key",),
        "tasks": ("cursor", "newest", "head"), "streams": ("cursor", "head"), "gaps": ("after_key", "before_key"),
        "paging": ("position",),
    },
    "what is asked about: ids, words of the crawl file, and handles that the user gave as seeds": {
        "tasks": ("target",), "changes": ("target",), "gaps": ("target",), "shortfalls": ("target",),
        "results": ("target",), "meanings": ("target",), "inputs": ("written", "columns", "target"),
        "actions": ("subject",),
    },
    "hashtags, words and phrases that many posts share; none is kept because one post has it": {
        "keyword_methods": ("state",), "keywords": ("term",), "keyword_candidates": ("term", "together"),
        "keyword_orders": ("term",), "keyword_labels": ("term",), "keyword_probes": ("term", "target"),
        "word_studies": ("spellings",),
    },
    "names of places that several profiles share; none is kept because one has it": {"place_names": ("name", "written")},
    "terms of sampled posts, without names of posts or authors; deleted after a day at most": {
        "keyword_samples": ("terms",), "keyword_probes": ("found",),
    },
    "keyed hashes of names, and their key: who is kept out must be known again": {
        "tombstones": ("mark",), "tombstone_keys": ("secret",),
    },
    "what a ranker remembers of a task: numbers": {"tasks": ("memory",)},
    "keys and structure of payloads; a test looks for texts in them": {"dictionaries": ("body", "kind")},
    "reasons without their values; a test looks for values in them": {"quarantine_sources": ("why",)},
}  # fmt: skip
