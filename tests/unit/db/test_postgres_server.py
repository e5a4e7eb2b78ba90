from __future__ import annotations

import asyncpg


async def test_the_suite_has_a_real_server_and_every_test_its_own_database(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    try:
        assert "PostgreSQL" in await connection.fetchval("select version()")
        assert await connection.fetchval("select count(*) from pg_tables where schemaname = 'public'") == 0
    finally:
        await connection.close()
