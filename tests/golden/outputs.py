"""Everything that a store says, as lines of text to compare: one row or value per line, no prose.

What wording, paths, clocks and versions put into an output is taken out by the few rules at the top
of this module.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from golden import formats, product

PROSE = {
    "certainty": "completeness: how a range was found",
    "go_on": "status: a command to run",
    "go_on_after": "status: what to change first",
    "why": "completeness and left out: a sentence; causes and numbers stay",
    "message": "errors: a sentence; the outcome stays",
    "media_trouble": "status: a sentence",
    "silence": "status: a sentence",
    "description": "croissant.json: sentences",
    "rai:dataBiases": "croissant.json: sentences",
    "rai:dataCollection": "croissant.json: a sentence",
}
"""Keys of documents whose values are sentences. They are left out."""
PROSE_COLUMNS = {
    "detail": "calls and gaps: what the service or the transport said",
    "why": "keywords: a sentence; the numbers stay",
    "until_why": "keywords: a sentence; the numbers stay",
    "error": "module runs: a sentence",
}
"""Columns of exported tables and views whose values are sentences. They are left out."""
REASONS = ("crawls", "report", "streams")
"""Where `reason` is a sentence too: how a crawl or a stream ended. Elsewhere it is a code."""
MACHINE = {
    "host": "where a worker ran",
    "pid": "which process it was",
    "timings": "processor time",
    "size": "bytes of the database",
    "store": "path or address of the database",
    "versions": "of bowerbird",
    "schema": "version of the tables",
    "document": "card: the plan of a crawl in our own form",
    "dateModified": "croissant.json: the time of the machine",
    "datePublished": "croissant.json: the time of the machine",
    "@context": "croissant.json: the same for all",
}
"""Keys of documents that say something about the machine, the version or our own forms."""
GROWING = ("users", "posts")
"""Of the growth of all tables, these: others are our own, or change at that very moment."""
_KEY = b"a key for golden pseudonyms 1234"
LONGEST = 150
"""Tables with more rows are kept as a number, a digest of each column, and some rows."""
SHOWN = 60
"""How many; always the same ones, chosen by the digest of what identifies them."""

TABLES = (
    *("posts", "users", "follows", "reactions", "media", "judgements", "calls"),
    *("keywords", "candidates", "labels", "module_runs", "growth"),
)
"""What `bowerbird export` writes."""
_WITH_IDS = ("posts", "users", "media")
NETWORKS = ("follow", "mention", "reply", "repost", "quote", "co-hashtag")
VIEWS = ("user", "query", "stream", "id", "day")
_DUCKDB = """
select network, kind, language, count(*) as posts, count(distinct author_id) as authors,
    min(created_at)::text as first
from posts group by all order by all
"""
_VIEWS = {
    "deletions": "select * from v_deletions",
    "gaps": "select * from v_gaps",
    "located": "select place, subject, id, source, longitude, latitude, confidence, at "
    "from located",
}
"""Views that no export has."""
_CHANGED = (
    "select id from v_users where seen_at is not null",
    "select id from v_posts where edited_at is not null or seen_at > found_at",
)

Row = Mapping[str, Any]


class Outputs:
    """The outputs of one store: by name the lines of a text."""

    def __init__(
        self, store: str, now: datetime, folder: Path, *, has_formats: bool = True
    ) -> None:
        """`now`: the time at which status and card are read; `folder`: empty, for exported files;
        `has_formats`: whether exports are made in every format, figures drawn, and long tables cut;
        without, all rows of one format are read."""
        self._has_formats = has_formats
        self._store = store
        self._now = now
        self._folder = folder
        self.files: dict[str, list[str]] = {}
        self._notes: list[str] = []

    def collect(self) -> dict[str, list[str]]:
        """Read everything."""
        self._status()
        self._completeness()
        self._card()
        self._absences()
        self._histories()
        for table in TABLES:
            if self._has_formats:
                self._export(table)
            else:
                self._rows_of_export(table)
        self._network_exports()
        self._others()
        self.files["formats"] = self._notes
        return self.files

    def _status(self) -> None:
        self.files["status"] = self._lines(product.status(self._store, self._now))

    def _completeness(self) -> None:
        told = {view: self._run("completeness", "--by", view, "--top", 100_000) for view in VIEWS}
        sums = self._run("completeness")
        self.files["completeness"] = self._lines(
            {
                "left_out": sums["left_out"],
                "posts": sums["posts"],
                "totals": {view: sums[view]["totals"] for view in VIEWS},
            }
        )
        for view, values in told.items():
            self.files[f"completeness_by_{view}"] = self._rows(values[view]["lines"])

    def _card(self) -> None:
        facts = product.card_facts(self._store, self._now)
        for crawl in facts["crawls"]:
            # The flow in our own form.
            del crawl["report"]["flow"]
        self.files["card"] = self._lines(facts)
        if not self._has_formats:
            return
        written = self._run("card", "--out", self._folder / "card")
        croissant = json.loads((self._folder / "card" / "croissant.json").read_text("utf-8"))
        for dated in ("version", "citeAs"):  # by the clock of the machine
            del croissant[dated]
        files = sorted(Path(each).name for each in written["files"])
        self.files["card_files"] = self._lines(
            {"files": files, "unsaid": written["unsaid"], "croissant": croissant}
        )

    def _absences(self) -> None:
        told = self._run("gone", "--top", 100_000)
        for what in ("users", "relations", "posts"):
            lines = told[what].pop("lines")
            self.files[f"gone_{what}"] = [*self._lines({what: told[what]}), *self._rows(lines)]

    def _histories(self) -> None:
        ids = [each for sql in _CHANGED for each in sorted(self._column(sql))]
        rows = [
            {"subject": history["subject"], "id": history["id"], "name": history["name"], **change}
            for history in product.histories(self._store, ids, self._now)
            for change in history["changes"]
            if change["what"] != "found"
        ]
        self.files["history"] = self._rows(rows)

    def _rows_of_export(self, table: str) -> None:
        rows = formats.read_jsonl(self._exported(table, f"{table}.jsonl"))
        self.files[f"table_{table}"] = self._table(_chosen(table, rows))

    def _export(self, table: str) -> None:
        """The rows of a table, and whether each format holds the same."""
        parquet = self._exported(table, f"{table}.parquet")
        rows, types = formats.read_parquet(parquet)
        self.files[f"table_{table}"] = [
            f"columns {_text(types)}",
            *self._table(_chosen(table, rows)),
        ]
        jsonl = formats.read_jsonl(self._exported(table, f"{table}.jsonl"))
        others = {
            "jsonl": jsonl,
            "csv": formats.read_csv(self._exported(table, f"{table}.csv"), types),
            "xlsx": formats.read_xlsx(self._exported(table, f"{table}.xlsx"), types),
        }
        for name, found in others.items():
            self._notes.append(
                f"{table} {name}: {_difference(_chosen(table, rows), _chosen(table, found))}"
            )
        if table in _WITH_IDS:
            ids = formats.read_ids(self._exported(table, f"{table}.txt"))
            self._notes.append(
                f"{table} ids: {_difference([{'id': row['id']} for row in rows], ids)}"
            )
        if table in ("posts", "users"):
            raw = formats.read_jsonl(self._exported(table, f"{table}.raw.jsonl", "--raw"))
            self.files[f"table_{table}_raw"] = self._table(raw, shown=0)
        if table in ("posts", "users", "follows"):
            key = self._folder / "key"
            key.write_bytes(_KEY.hex().encode())
            options = ("--pseudonyms", "--key", key)
            hidden = formats.read_jsonl(
                self._exported(table, f"{table}.pseudonyms.jsonl", *options)
            )
            self.files[f"table_{table}_pseudonyms"] = self._table(hidden, shown=0)

    def _network_exports(self) -> None:
        for kind in NETWORKS:
            options = ("--kind", kind)
            rows = formats.read_jsonl(self._exported("network", f"{kind}.jsonl", *options))
            self.files[f"network_{kind}"] = self._table(rows)
            if not self._has_formats:
                continue
            for ending, read in {
                "gexf": formats.read_gexf,
                "graphml": formats.read_graphml,
            }.items():
                found = read(self._exported("network", f"{kind}.{ending}", *options))
                self._notes.append(
                    f"network {kind} {ending}: {_difference(rows, found, has_nulls=False)}"
                )
            folder = self._exported("network", kind, *options)
            counts = {
                path.name: path.read_text("utf-8").count("\n") - 1
                for path in sorted(folder.glob("*.csv"))
            }
            self._notes.append(f"network {kind} neo4j: {_text(counts)} of {_text(_count_of(rows))}")

    def _others(self) -> None:
        for name, sql in _VIEWS.items():
            self.files[f"view_{name}"] = self._table(product.rows(self._store, sql))
        told = product.command("query", _DUCKDB, self._store, "--json")
        self.files["query_duckdb"] = self._table(told["rows"])
        for service in sorted(
            self._column("select distinct service as id from v_posts where service is not null")
        ):
            out = self._folder / f"{service}.ids.txt"
            told = self._run("dehydrate", "--service", service, "--out", out)
            ids = sorted(row["id"] for row in formats.read_ids(out)) if out.exists() else []
            counts = {name: told[name] for name in ("service", "ids", "left_out")}
            self._notes.append(f"dehydrate {_text(counts)} {_digest(ids)}")

    def _exported(self, what: str, name: str, *options: object) -> Path:
        product.command(
            "export", what, self._store, "--out", self._folder / name, *options, "--json"
        )
        return self._folder / name

    def _run(self, command: str, *options: object) -> Any:
        return product.command(command, self._store, *options, "--json")

    def _column(self, sql: str) -> list[str]:
        return [row["id"] for row in product.rows(self._store, sql)]

    def _rows(self, rows: Iterable[Row], *, shown: int = SHOWN) -> list[str]:
        """One line per row, sorted; unknown values are left out, and what the rules exclude."""
        return self._sorted([self._clean(_known(row)) for row in rows], shown)

    def _table(self, rows: Iterable[Row], *, shown: int = SHOWN) -> list[str]:
        """The same for exported rows, which have values of users and networks under any key."""
        kept = [{k: v for k, v in _known(row).items() if k not in PROSE_COLUMNS} for row in rows]
        return self._sorted(kept, shown)

    def _sorted(self, rows: list[dict[str, Any]], shown: int) -> list[str]:
        """Long tables are a number, a digest of each column, and some of the rows."""
        order = sorted(rows, key=_text)
        if not self._has_formats or (len(rows) <= LONGEST and shown):
            return [_text(row) for row in order]
        columns = sorted({key for row in rows for key in row})
        digests = [f"column {name} {_digest([row.get(name) for row in order])}" for name in columns]
        chosen = sorted(order, key=lambda row: _digest(next(iter(row.values()))))[:shown]
        return [f"rows {len(rows)}", *digests, *sorted(map(_text, chosen))]

    def _lines(self, value: Any) -> list[str]:
        return list(_flat("", self._clean(value)))

    def _clean(self, value: Any, inside: str = "") -> Any:
        """Leave out what the rules exclude, and replace paths; `inside`: the key of the value."""
        if isinstance(value, dict):
            is_left_out = {*PROSE, *MACHINE, *(("reason",) if inside in REASONS else ())}
            return {
                key: self._clean(each, key) for key, each in value.items() if key not in is_left_out
            }
        if isinstance(value, list):
            return [self._clean(each, inside) for each in value]
        if isinstance(value, str):
            return value.replace(str(self._folder), "<folder>")
        return value


def _known(row: Row) -> dict[str, Any]:
    return {key: value for key, value in row.items() if value is not None}


def _chosen(table: str, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows of a table that can be compared; of growth, those of some tables.

    The numbers of runs are left out: modules that start at one moment have no order.
    """
    if table == "growth":
        return [row for row in rows if row["name"] in GROWING]
    if table == "module_runs":
        return [_comparable_run(row) for row in rows]
    return rows


def _comparable_run(row: Row) -> Row:
    kept = {name: value for name, value in row.items() if name != "run"}
    if row["module"] == "growth":
        kept["counts"] = {name: row["counts"].get(name) for name in GROWING}
    return kept


def _flat(path: str, value: Any) -> Iterator[str]:
    """A document as lines that begin with where the value stands."""
    if (
        isinstance(value, dict)
        and value
        and (not path or any(isinstance(each, dict | list) and each for each in value.values()))
    ):
        for key in sorted(value):
            yield from _flat(f"{path}.{key}" if path else key, value[key])
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        for each in value:
            yield f"{path}[] {_text(each)}"
    else:
        yield f"{path} {_text(value)}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=False, separators=(",", ":"))


def _digest(value: Any) -> str:
    return hashlib.sha256(_text(value).encode()).hexdigest()[:16]


def _count_of(rows: Sequence[Row]) -> dict[str, int]:
    nodes = sum("node" in row for row in rows)
    return {"nodes": nodes, "edges": len(rows) - nodes}


def _difference(rows: Sequence[Row], found: Sequence[Row], *, has_nulls: bool = True) -> str:
    """How the rows of one format differ from those of another."""

    def texts(some: Sequence[Row]) -> list[str]:
        return sorted(
            _text({key: row[key] for key in sorted(row) if has_nulls or row[key] is not None})
            for row in some
        )

    here, there = texts(rows), texts(found)
    if here == there:
        return f"the same {len(rows)} rows"
    if len(here) != len(there):
        return f"{len(there)} rows instead of {len(here)}"
    columns: dict[str, int] = {}
    for one, other in zip(here, there, strict=True):
        mine, theirs = json.loads(one), json.loads(other)
        for key in mine.keys() | theirs.keys():
            if mine.get(key) != theirs.get(key) or (key in mine) != (key in theirs):
                columns[key] = columns.get(key, 0) + 1
    return f"{len(rows)} rows, other values in {_text(dict(sorted(columns.items())))}"
