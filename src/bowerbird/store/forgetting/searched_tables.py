"""Where the names of the forgotten may stand in a store besides their own rows, and what becomes of the place then. A test holds
this against the schema: every column of text or bytes is here, belongs to rows that are deleted, or cannot name anybody."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from bowerbird.store.forgetting.filtering import REFERENCES


class SearchedTable(Struct, frozen=True, kw_only=True):
    """The columns of one table that are looked through."""

    table: str
    texts: tuple[str, ...] = ()
    """What people wrote: the name is taken out."""
    lines: tuple[str, ...] = ()
    """What services or we wrote: the same, but any word may be a key."""
    references: tuple[str, ...] = ()
    """Ids of other posts: emptied."""
    doomed: tuple[str, ...] = ()
    """The whole row goes."""
    has_network: bool = False
    asked_by: str = ""
    """The column, `lane` or `service`, that tells which service was asked what stands in the row."""

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.texts, *self.lines, *self.references, *self.doomed)


_POST_TEXTS = ("text", "url", "source", "warning", "labels", "links", "place", "poll")
SEARCHED_TABLES = (
    SearchedTable(table="users", texts=("name", "description", "location", "url", "avatar", "labels"), has_network=True),
    SearchedTable(table="posts", texts=_POST_TEXTS, references=REFERENCES, has_network=True),
    SearchedTable(table="user_history", texts=("before", "after")),
    SearchedTable(table="former_handles", doomed=("handle",)),
    SearchedTable(table="user_tags", texts=("name",)),
    SearchedTable(table="post_history", texts=("before", "after")),
    SearchedTable(table="post_versions", texts=("text", "warning", "links")),
    SearchedTable(table="media", texts=("description",)),
    SearchedTable(table="lists", texts=("name", "description"), has_network=True),
    SearchedTable(table="judgements", texts=("evidence",), doomed=("id",)),
    SearchedTable(table="judgement_history", texts=("evidence",), doomed=("id",)),
    SearchedTable(table="deletions", doomed=("id",)),
    SearchedTable(table="media_files", lines=("error",)),
    SearchedTable(table="trends", texts=("word",)),
    SearchedTable(table="volumes", texts=("query",)),
    SearchedTable(table="tasks", lines=("cursor", "newest", "head", "failure"), doomed=("target",), asked_by="lane"),
    # Samples and probes first: a decision between could learn a name from them again.
    SearchedTable(table="keyword_samples", texts=("terms",)),
    SearchedTable(table="keyword_probes", texts=("found",), lines=("target",), doomed=("term",), asked_by="lane"),
    SearchedTable(table="keyword_methods", lines=("state",)),
    SearchedTable(table="keywords", doomed=("term",)),
    SearchedTable(table="keyword_candidates", lines=("together",), doomed=("term",)),
    SearchedTable(table="keyword_orders", lines=("who",), doomed=("term",)),
    SearchedTable(table="keyword_labels", lines=("tagger",), doomed=("term",)),
    SearchedTable(table="modules", lines=("memory",)),
    SearchedTable(table="module_runs", lines=("counts", "error")),
    SearchedTable(table="labels", lines=("who",)),
    SearchedTable(table="word_studies", lines=("name", "words", "who", "spellings", "series_name", "series", "error")),
    SearchedTable(table="word_study_labels", lines=("who",)),
    SearchedTable(table="saved_searches", lines=("name", "query", "who")),
    SearchedTable(table="place_names", texts=("written",), lines=("who",), doomed=("name",)),
    SearchedTable(table="results", texts=("told",), doomed=("target", "item"), asked_by="service"),
    SearchedTable(table="meanings", doomed=("key", "target"), asked_by="service"),
    SearchedTable(table="inputs", texts=("columns",), doomed=("written", "target"), asked_by="service"),
    SearchedTable(table="crawls", lines=("settings",)),
    SearchedTable(table="actions", lines=("subject", "detail")),
    SearchedTable(table="changes", lines=("who", "why", "target", "before", "after"), asked_by="lane"),
    SearchedTable(table="gaps", lines=("target", "detail", "after_key", "before_key"), asked_by="lane"),
    SearchedTable(table="shortfalls", lines=("target", "detail"), asked_by="lane"),
    SearchedTable(table="paging", lines=("position",)),
    SearchedTable(table="bills", lines=("item",)),
    SearchedTable(table="streams", lines=("tuned", "cursor", "head", "reason")),
    SearchedTable(table="quarantine", lines=("why",), doomed=("raw",)),
    SearchedTable(table="errors", lines=("message",)),
    SearchedTable(table="outages", lines=("reason",)),
    SearchedTable(table="calls", lines=("targets", "detail"), asked_by="lane"),
)
"""In this order; the query log last, because calls about the forgotten may still be under way when the rest is looked through."""

_OWN = "of the forgotten themselves: deleted with their rows"
_OURS = "our own words, those of the crawl file or of its machines"
_CHOSEN = "from a fixed list of words"
_PART = "part of a row that is looked through or deleted by another of its columns"

ELSEWHERE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    _OWN: {
        "users": ("id", "handle", "language", "gender", "time_zone"), "posts": ("id", "language", "emoji"), "user_keys": ("key",),
        "post_keys": ("key",), "former_handles": ("name",), "user_tags": ("tag",), "post_tags": ("tag", "written"),
        "post_cashtags": ("cashtag",), "lists": ("id",), "relations": ("record",),
        "media": ("id", "url"), "media_files": ("id", "url", "sha256", "type", "path"),
    },
    "payloads: those that name somebody who was forgotten are dropped whole": {
        "users": ("raw",), "posts": ("raw",), "frames": ("body",),
    },
    _OURS: {
        "crawls": ("name", "flow", "reason"), "lanes": ("facet", "left_out"),
        "services": ("name", "provider", "base", "flavour"),
        "workers": ("name", "host", "identity", "place", "version", "label"), "worker_tokens": ("name", "hash"),
        "plans": ("document", "whole"), "rebuilds": ("edges",), "controls": ("name",),
        "claims": ("name",), "outputs": ("path",), "media_copies": ("place", "path"), "remaps": ("version", "fields"),
        "streams": ("name", "channel", "options"), "ledgers": ("bucket",),
        "credentials": ("credential", "reason"), "bills": ("payer",), "calls": ("facet", "credential", "charges"),
        "errors": ("part",), "outages": ("service",), "quarantine": ("facet",), "quarantine_sources": ("facet", "why"),
        "dictionaries": ("body", "kind"), "tasks": ("memory",), "trends": ("place",), "forget_requests": ("who", "why"),
        "tombstone_state": ("after_key",),
        "modules": ("name",), "module_runs": ("module",), "growth": ("name",), "labels": ("judge",), "label_samples": ("judge",),
        "audits": ("result",), "prepared": ("name", "document"),
        "dashboard_people": ("name", "hash"), "dashboard_sessions": ("hash", "person"),
        "dashboard_tries": ("key",), "actions": ("who", "what"),
        "statistic_parts": ("body",), "statistics": ("name", "body"),
        "word_studies": ("result",),
        "keyword_methods": ("name",), "keywords": ("why", "numbers", "until_why", "until_numbers"),
        "keyword_decisions": ("posts", "background", "precision", "numbers"),
        "keyword_candidates": ("counts", "verdict", "numbers"),
        "tombstones": ("mark",), "tombstone_keys": ("secret",), "judgements": ("judge", "version", "decided_by"),
        "judgement_history": ("judge", "version", "decided_by"), "community_models": ("judge", "learned"),
    },
    _CHOSEN: {
        "controls": ("kind", "wanted"),
        "crawls": ("state", "wanted"), "services": ("network",), "streams": ("state",), "ledgers": ("kind",),
        "credentials": ("state",), "calls": ("state", "outcome"), "errors": ("outcome",), "tasks": ("state",),
        "users": ("network",), "posts": ("network", "kind"), "lists": ("network", "kind"), "judgements": ("subject",),
        "listings": ("kind", "side"), "reaction_listings": ("kind",), "reactions": ("kind",), "relations": ("kind",),
        "relation_history": ("kind", "change"), "deletions": ("subject", "reason"), "unavailable": ("reason",),
        "gaps": ("cause",), "changes": ("kind", "manner"), "shortfalls": ("cause",), "media": ("kind",),
        "media_files": ("kind", "state"), "quarantine": ("subject",), "keyword_orders": ("said",), "keyword_labels": ("label",),
        "candidates": ("source", "state", "reason"), "place_names": ("said",), "labels": ("label",), "label_samples": ("said",),
        "audit_accounts": ("state",), "saved_searches": ("what",), "dashboard_people": ("role",), "actions": ("role", "outcome"),
        "statistic_parts": ("subject", "state"), "statistic_counts": ("measure",),
        "word_studies": ("unit", "state"), "word_study_labels": ("label",),
    },
    _PART: {"judgements": ("value", "reason"), "judgement_history": ("value", "reason")},
}  # fmt: skip
"""Why the other columns are not looked through."""
