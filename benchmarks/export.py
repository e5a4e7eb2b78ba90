"""How quick exports are beside DuckDB's own, and how their memory grows: `python -m benchmarks.export --json`.

Stores are made by `benchmarks/large_store.py` and kept in the cache folder. Each export runs in a process of its own: bowerbird's
as the command runs it, and DuckDB's `COPY` of the same posts, with the same columns, out of the same SQLite file, which it reads
with its own extension (a development dependency; nothing is downloaded). Both write a Parquet file (Zstandard 1) and a CSV.
What counts is processor time, the least of several runs: other programs on the machine disturb it least; the time on the clock
stands beside it. `ratio` is the smaller one of bowerbird's rows a second by DuckDB's, for Parquet and CSV. `ratio_to_own_tables`
is the same where DuckDB has the finished rows in a table of its own, with nothing to read or to join. `memory_growth` is how many
times more memory the largest store takes than the smallest, at its peak.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.large_store import large_store
from bowerbird.cli.which import NamedStore, read_store
from bowerbird.clock import RealClock
from bowerbird.db.sqlite.short_addresses import address_in_sql
from bowerbird.db.sqlite.short_columns import IMPLIED_COLUMNS, SHORT_COLUMNS, implied_in_sql, whole_in_sql, written
from bowerbird.export.jobs.manifest import Source
from bowerbird.export.jobs.request import Request, export
from bowerbird.settings import load_settings

_TIMES = 3
FORMATS = ("parquet", "csv")
_COPY = {"parquet": "(format parquet, compression zstd, compression_level 1)", "csv": "(format csv, header)"}
_LIST = {"parquet": "list({0} order by {0})", "csv": "string_agg({0}, '|' order by {0})"}
_TIME = "make_timestamptz({0}) as {1}"
_PLAIN = "id network kind text language replies reposts likes quotes reply_to repost_of quote_of root source warning poll emoji"
_TIMED = "created_at listed_at edited_at found_at seen_at"
_POSTS = """
select {plain}, {times}, u.id as author_id, u.handle as author_handle, s.name as service, p.is_sensitive = 1 as is_sensitive,
    coalesce(p.url, case when {network} = 'bluesky' and p.kind <> 'repost' and p.text is not null
        then 'https://bsky.app/profile/' || replace(substr({id}, 6), '/app.bsky.feed.post/', '/post/') end) as url,
    {documents}, p.place ->> 'name' as place, p.place ->> 'country' as country, p.place ->> 'longitude' as longitude,
    p.place ->> 'latitude' as latitude, t.tags, c.cashtags, m.mentions, x.media
from s.posts p join s.users u on u.user_no = p.author
left join (select c.call, s.name from s.calls c join s.lanes l on l.lane = c.lane join s.services s on s.service = l.service) s
    on s.call = p.found_by
left join (select post_no, {tags} as tags from s.post_tags group by post_no) t on t.post_no = p.post_no
left join (select post_no, {cashtags} as cashtags from s.post_cashtags group by post_no) c on c.post_no = p.post_no
left join (
    select m.post_no, {mentions} as mentions from s.post_mentions m join s.users u on u.user_no = m.user_no group by m.post_no) m
    on m.post_no = p.post_no
left join (select post_no, {media} as media from s.media group by post_no) x on x.post_no = p.post_no
where p.deleted_at is null and coalesce(u.opts_out, 0) = 0
"""


class Spent(Struct, frozen=True):
    """What one export took."""

    rows: int
    processor: float
    clock: float
    megabytes: float


def posts_for_duckdb(format_: str) -> str:
    """The same columns in DuckDB's words."""
    lists = {name: _LIST[format_].format(column) for name, column in _PARTS.items()}
    documents = ("links", "labels") if format_ == "csv" else ()
    return _POSTS.format(
        plain=", ".join(f"{_whole(name)} as {name}" for name in _PLAIN.split()),
        id=_whole("id"),
        network=_whole("network"),
        times=", ".join(_TIME.format(_whole(name), name) for name in _TIMED.split()),
        documents=", ".join(
            f"p.{name}" if name in documents else f"cast(p.{name}::json as varchar[]) as {name}" for name in ("links", "labels")
        ),
        **lists,
    )


def _whole(column: str) -> str:
    """A column of posts; DuckDB does not see those that SQLite makes of what is stored."""
    if column in IMPLIED_COLUMNS:
        return implied_in_sql(column, "p.")
    stored = f"p.{written('sqlite', column)}"
    return whole_in_sql(stored) if column in SHORT_COLUMNS else stored


_PARTS = {"tags": "tag", "cashtags": "cashtag", "mentions": "u.id", "media": address_in_sql()}


def by_bowerbird(store: Path, out: Path) -> int:
    async def write() -> int:
        async with read_store(NamedStore(str(store)), RealClock()) as database:
            return (await export(database, Request(what="posts", out=str(out)), Source(str(store), 0), RealClock())).rows

    return asyncio.run(write())


def by_duckdb(store: Path, out: Path, own_table: bool) -> tuple[int, float]:
    """How many rows, and the processor time that was spent before the export itself."""
    import duckdb
    import duckdb_extension_sqlite_scanner

    folder = Path(duckdb_extension_sqlite_scanner.__file__).parent
    connection = duckdb.connect()
    connection.execute(f"load '{next(folder.rglob('*.duckdb_extension'))}'")
    connection.execute(f"attach '{store}' as s (type sqlite, read_only)")
    format_ = out.suffix[1:]
    select = posts_for_duckdb(format_)
    if own_table:
        connection.execute(f"create table own as {select}")
        select = "select * from own"
    before = time.process_time()
    (rows,) = connection.execute(f"copy ({select}) to '{out}' {_COPY[format_]}").fetchone() or (0,)
    return int(rows), before if own_table else 0.0


def one(who: str, store: Path, format_: str) -> Spent:
    """One export in this process."""
    with tempfile.TemporaryDirectory(dir=store.parent) as folder:
        out, clock, processor, before = Path(folder) / f"posts.{format_}", time.perf_counter(), time.process_time(), 0.0
        if who == "bowerbird":
            rows = by_bowerbird(store, out)
        else:
            rows, before = by_duckdb(store, out, who == "duckdb_own")
        spent = time.process_time() - max(processor, before)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return Spent(rows, spent, time.perf_counter() - clock, round(peak, 1))


def in_child(who: str, store: Path, format_: str) -> Spent:
    """The same in a process of its own, so that its memory is its own."""
    arguments = [sys.executable, "-m", "benchmarks.export", "--one", who, "--store", str(store), "--format", format_]
    done = subprocess.run(arguments, check=True, capture_output=True, env=dict(os.environ))
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Spent)


def least(who: str, store: Path, format_: str, times: int) -> Spent:
    return min((in_child(who, store, format_) for _ in range(times)), key=lambda spent: spent.processor)


def measured(sizes: list[int], folder: Path, times: int) -> dict[str, Any]:
    stores: dict[int, Path] = {}
    for size in sizes:
        stores[size] = large_store(size, folder, stores[max(stores)] if stores else None)
    compared = 1_000_000 if 1_000_000 in stores else max(stores)
    beside: dict[str, dict[str, Spent]] = {}
    for format_ in FORMATS:
        beside[format_] = {who: least(who, stores[compared], format_, times) for who in ("bowerbird", "duckdb", "duckdb_own")}
        told = "  ".join(f"{who} {spent.processor:.2f} s ({spent.clock:.2f})" for who, spent in beside[format_].items())
        print(f"{compared:>12,} posts as {format_}: {told}", flush=True)
    memory = {size: {format_: in_child("bowerbird", stores[size], format_).megabytes for format_ in FORMATS} for size in sizes}
    return figures(compared, beside, memory)


def figures(compared: int, beside: dict[str, dict[str, Spent]], memory: dict[int, dict[str, float]]) -> dict[str, Any]:
    """What a machine reads."""
    for format_, each in beside.items():
        rows = {who: spent.rows for who, spent in each.items()}
        if len(set(rows.values())) != 1:
            raise SystemExit(f"the exports as {format_} have different rows: {rows}")

    def ratios(to: str) -> dict[str, float]:
        return {format_: round(each[to].processor / each["bowerbird"].processor, 2) for format_, each in beside.items()}

    smallest, largest = memory[min(memory)], memory[max(memory)]
    return {
        "ratio": min(ratios("duckdb").values()),
        "ratios": ratios("duckdb"),
        "ratio_to_own_tables": ratios("duckdb_own"),
        "memory_growth": round(max(largest[format_] / smallest[format_] for format_ in FORMATS), 2),
        "compared": compared,
        "rows_a_second": {f: round(each["bowerbird"].rows / each["bowerbird"].processor) for f, each in beside.items()},
        "processor_seconds": {f: {who: round(spent.processor, 2) for who, spent in each.items()} for f, each in beside.items()},
        "clock_seconds": {f: {who: round(spent.clock, 2) for who, spent in each.items()} for f, each in beside.items()},
        "peak_megabytes": memory,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="only the last line matters to a machine: one JSON object")
    parser.add_argument("--sizes", default="100000,1000000", help="posts of each store; 10000000 may be added: 20 GB and an hour")
    parser.add_argument("--folder", type=Path, help="where the stores are kept; default: the cache folder")
    parser.add_argument("--times", type=int, default=_TIMES, help="runs of each export, of which the least counts")
    parser.add_argument("--one", choices=["bowerbird", "duckdb", "duckdb_own"], help="one export in this process")
    parser.add_argument("--store", type=Path)
    parser.add_argument("--format", choices=FORMATS)
    options = parser.parse_args()
    if options.one:
        print(msgspec.json.encode(one(options.one, options.store, options.format)).decode())
        return
    folder = options.folder or load_settings().cache_folder / "benchmarks"
    print(msgspec.json.encode(measured(sorted({int(size) for size in options.sizes.split(",")}), folder, options.times)).decode())


if __name__ == "__main__":
    main()
