"""A Parquet export is read by Spark, where Java and pyspark are installed: neither is a dependency of ours."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from store_pages import TIMELINE, Crawled, post, user

from bowerbird.clock import RealClock
from bowerbird.export.jobs.manifest import Source
from bowerbird.export.jobs.request import Request, export
from bowerbird.model import Page
from bowerbird.ports import Database

pyspark_sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
pytestmark = [pytest.mark.long, pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed")]


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


async def test_spark_reads_the_days_of_an_export_with_their_types(crawled: Crawled, tmp_path: Path) -> None:
    posts = tuple(post(str(n), text=f"words {n}", tags=("a", "b"), likes=n) for n in range(10, 30))
    await crawled.save(Page(users=(user("1", handle="ada"),), posts=posts), TIMELINE, "1")
    await export(crawled.database, Request(what="posts", out=f"{tmp_path}/posts"), Source("a store", 1), RealClock())
    session = pyspark_sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        read = session.read.parquet(f"{tmp_path}/posts")
        kinds = dict(read.dtypes)
        assert (kinds["likes"], kinds["tags"], kinds["created_at"]) == ("bigint", "array<string>", "timestamp")
        rows = {row["id"]: (row["text"], row["likes"], list(row["tags"]), row["author_handle"]) for row in read.collect()}
        assert rows == {f"x:{n}": (f"words {n}", n, ["a", "b"], "ada") for n in range(10, 30)}
    finally:
        session.stop()
