"""Exports to an object store, here a real server of moto that speaks S3 on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from export_scene import exported, filled, opened

from bowerbird.errors import UserError
from failures import raises_code


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    known = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}
    for name, value in (known | {"AWS_EC2_METADATA_DISABLED": "true"}).items():
        monkeypatch.setenv(name, value)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


async def test_files_and_manifest_are_in_the_bucket_when_they_are_whole(endpoint: str, tmp_path: Path) -> None:
    import boto3

    client = boto3.client("s3", endpoint_url=endpoint)
    client.create_bucket(Bucket="research")
    async with opened(tmp_path / "crawl.db") as database:
        await filled(database)
        manifest = await exported(database, "posts", "s3://research/flood", endpoint=endpoint)
        await exported(database, "users", "s3://research/flood/users.csv", endpoint=endpoint)
        with raises_code(UserError, "already_exists") as caught:
            await exported(database, "users", "s3://research/flood/users.csv", endpoint=endpoint)
        assert "--new" in str(caught.value)
        with raises_code(UserError, "file_unwritable") as caught:
            await exported(database, "posts", "s3://nowhere/a", endpoint=endpoint)
        assert "s3://nowhere/a" in str(caught.value)
    held = {item["Key"]: item["Size"] for item in client.list_objects_v2(Bucket="research")["Contents"]}
    assert {f"flood/{file.name}": file.bytes for file in manifest.files}.items() <= held.items()
    told = json.loads(client.get_object(Bucket="research", Key="flood/_posts.manifest.json")["Body"].read())
    assert (told["rows"], told["go_on"]) == (14, None)
    assert client.get_object(Bucket="research", Key="flood/users.csv")["Body"].read().startswith(b'"id","network"')
