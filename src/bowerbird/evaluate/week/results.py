"""Things of a first week that make something of what was collected, each one command on the store of a small crawl."""

from __future__ import annotations

import json

from bowerbird.evaluate.week.scene import Scene, check, keys_of
from bowerbird.evaluate.week.serving import Server

_PARQUET = b"PAR1"


def prepare(scene: Scene, server: Server) -> None:
    """The store that all of them read: posts of some accounts, and whom they follow."""
    names = [server.handle(account) for account in server.writers(6)]
    scene.do("timelines", *names, *server.options(), "--store", store_of(server), "-o", f"stored-{server.name}.jsonl")
    scene.do("following", *names, *server.options(), "--store", store_of(server), "-o", f"stored-{server.name}.csv")


def store_of(server: Server) -> str:
    return f"crawl-{server.name}.db"


def posts_as_files(scene: Scene, server: Server) -> None:
    wanted = {row["id"] for row in scene.rows(f"stored-{server.name}.jsonl")}
    scene.do("export", "posts", store_of(server), "-o", f"exported-{server.name}.csv")
    check(wanted <= {row["id"] for row in scene.rows(f"exported-{server.name}.csv")}, "posts are missing from the CSV")
    scene.do("export", "posts", store_of(server), "-o", f"exported-{server.name}.parquet")
    found = [path for path in scene.folder.glob(f"exported-{server.name}*/**/*.parquet") if path.is_file()]
    found += [path for path in scene.folder.glob(f"exported-{server.name}*.parquet") if path.is_file()]
    check(any(path.read_bytes().startswith(_PARQUET) for path in found), "there is no Parquet file")


def follow_network(scene: Scene, server: Server) -> None:
    name = f"network-{server.name}.gexf"
    scene.do("export", "network", store_of(server), "--kind", "follow", "-o", name)
    edges = {(row["source_id"], row["target_id"]) for row in scene.rows(f"stored-{server.name}.csv")}
    text = (scene.folder / name).read_text(encoding="utf-8")
    check(text.count("<edge ") >= len(edges), f"{len(edges)} edges are known, and {text.count('<edge ')} are in the file")


def missing(scene: Scene, server: Server) -> None:
    told = json.loads(scene.do("completeness", store_of(server), "--json").out.splitlines()[-1])
    check(bool(told), "nothing is told of what is missing")


def by_sql(scene: Scene, server: Server) -> None:
    count = len({row["id"] for row in scene.rows(f"stored-{server.name}.jsonl")})
    told = scene.do("query", "select count(*) as found from v_posts", store_of(server), "--json").out
    numbers = {int(word) for word in "".join(mark if mark.isdigit() else " " for mark in told).split()}
    check(any(number >= count for number in numbers), f"{count} posts are stored, and it says {told[-100:]}")


def picture(scene: Scene, server: Server) -> None:
    name = f"volumes-{server.name}.svg"
    scene.do("plot", "volumes", store_of(server), "-o", name)
    check("<svg" in (scene.folder / name).read_text(encoding="utf-8"), "there is no picture")


def dataset_card(scene: Scene, server: Server) -> None:
    folder = scene.folder / f"card-{server.name}"
    scene.do("card", store_of(server), "-o", folder.name)
    check(any(folder.glob("*.md")) and any(folder.glob("*.html")), "there is no card")


def forget_a_person(scene: Scene, server: Server) -> None:
    """Done last: what others read is gone then."""
    account = server.writers(1)[0]
    whom = server.handle(account) + (f"@{server.service.dialect.domain}" if server.name == "mastodon" else "")
    scene.do("forget", whom, "--store", store_of(server), "--on", _network(server), "--yes")
    scene.do("export", "posts", store_of(server), "-o", f"after-{server.name}.csv")
    left = keys_of(scene.rows(f"after-{server.name}.csv"), "id", server) & server.posts(account)
    check(not left, f"{len(left)} posts of the person are still there")


def _network(server: Server) -> str:
    return "x" if server.name == "twitter_v1" else server.name
