"""Attacks by files: what networks call pictures, and crawl files of people who may steer and want the machine."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import msgspec

from bowerbird.evaluate.web.counting import Tally
from bowerbird.evaluate.web.marking import CALL, MARK
from bowerbird.evaluate.web.stage import Got, Stage
from bowerbird.web.security import Role

_HTML = f"<!doctype html><script>{CALL}</script><{MARK}>".encode()
_SVG = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{CALL}"><script>{CALL}</script></svg>'.encode()
_GIF = b"GIF89a/*" + b"\0" * 8 + b"*/=1;" + CALL.encode()
_PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj\n"
DISGUISED = {
    "html.jpg": _HTML, "html.png": _HTML, "html.mp4": _HTML, "svg.png": _SVG, "svg.gif": _SVG, "svg.webp": _SVG,
    "script.gif": _GIF, "svg.bin": _SVG, "html.bin": _HTML, "page.html": _HTML, "drawing.svg": _SVG, "list.m3u8": _HTML,
    "data.json": _HTML,
    "document.pdf": _PDF, "page.xhtml": _HTML, "text.xml": _SVG, 'a"; x=.html': _HTML, "none": _HTML,
}  # fmt: skip
"""Files as a network may send them, under the names that they may get; the last ones they never should."""
_SHOWN = ("image/jpeg", "image/png", "image/gif", "image/webp", "video/mp4")
_KEPT = """
insert into media_files (id, kind, url, state, type, path, due, found_at) values (?, 'photo', 'x', 'kept', 'image/png', ?, 0, 0)
"""
_IN_A_POST = """
insert into media (id, post_no, place, kind, short_url) select ?, p.post_no, ?, 'photo', 'x'
from posts p join users u on u.user_no = p.author
where p.deleted_at is null and coalesce(u.opts_out, 0) = 0 limit 1
"""
_CRAWL = 'flow = "timelines"\nseeds = ["@alice"]\n[service]\nprovider = "mastodon"\nbase = "https://m.example"\n'
_FLOW = '[service]\nprovider = "mastodon"\nbase = "https://m.example"\n[flow]\nuse = "timelines"\n'
_TOLD = "modules.notification"
REACHES = (
    f'{_CRAWL}[{_TOLD}]\ncommand = ["touch", "/tmp/x"]\n',
    f'{_CRAWL}[modules]\nnotification = {{ command = ["touch", "/tmp/x"] }}\n',
    f'seeds = ["@alice"]\n{_FLOW}[flow.{_TOLD}]\ncommand = ["touch", "/tmp/x"]\n',
    f'{_CRAWL}[{_TOLD}]\nwebhook = "http://127.0.0.1:9200/_shutdown"\n',
    f'{_CRAWL}[{_TOLD}]\nmail = ["a@b.example"]\n',
    f'{_CRAWL}[{_TOLD}]\nmail = ["a@b.example"]\nserver = "smtp://10.0.0.1"\n',
    f'{_CRAWL}[modules.retention]\nposts = "1h"\n',
    f'seeds = ["@alice"]\n{_FLOW}[flow.modules.retention]\nerrors = "1h"\n',
    f"{_CRAWL}[media]\nprivate_addresses = true\n",
    *(
        _CRAWL.replace("https://m.example", f"http://{host}")
        for host in (
            "169.254.169.254", "2852039166", "0xa9.254.43518", "0251.0376.0251.0376", "[fe80::1]", "[::ffff:169.254.169.254]",
            "[64:ff9b::a9fe:a9fe]", "100.100.100.200", "[fd00:ec2::254]", "metadata.google.internal", "METADATA.google.internal.",
            "169.254.169.254%00.m.example", "m.example@169.254.169.254",
        )
    ),
    *(
        f'{_CRAWL}[[streams]]\nchannel = "local"\n{base}\n'
        for base in (
            'base = "ws://169.254.169.254"', 'base = "wss://j.example/latest/meta-data?x="', 'base = "wss://j.example/a#b"',
        )
    ),
    f'contact = """\nstore = "x"\n"""\nstore = "/tmp/elsewhere.db"\n{_CRAWL}',
    f'contact = """\nstore = "x"\n"""\nstore = "vault:archive"\n{_CRAWL}',
    f"contact = '''\n[x]\n'''\n\"store\" = \"/tmp/elsewhere.db\"\n{_CRAWL}",
    _CRAWL.replace('seeds = ["@alice"]', 'seeds.file = "/etc/passwd"'),
    _CRAWL.replace('seeds = ["@alice"]', 'seeds.store = "/tmp/elsewhere.db"'),
    _CRAWL.replace('flow = "timelines"', 'flow = "../../etc/flow.toml"'),
    f'{_CRAWL}[backup]\nevery = "1d"\nfolder = "/tmp/x"\n',
    f'{_CRAWL}[backup]\nevery = "1d"\nfolder = "x"\nmedia = "s3://elsewhere/x"\n',
    f'{_CRAWL}[media]\nfolder = "../../../tmp/x"\n',
    f'{_CRAWL}[consent]\nopt_out = "/etc/passwd"\n',
    f'{_CRAWL}[consent]\nalso = ["discoverable"]\n',
    f'{_CRAWL}[consent]\noverride = ["nobot"]\nreason = "x"\n',
    f'{_CRAWL}[consent]\ndeleted = "keep"\nreason = "x"\n',
)  # fmt: skip
"""Crawl files that run a program, read or write files, use other stores, erase this one, or ask where machines are told their
secrets."""


async def attack_files(stage: Stage, tally: Tally) -> None:
    """Pages and drawings that a network calls pictures: whatever they are, a browser is told to run nothing of them."""
    await _keep(stage)
    for number, name in enumerate(DISGUISED):
        address = f"/media/{quote(_id(number), safe='')}"
        for headers in ({}, {"Accept": "text/html"}, {"Range": "bytes=0-40"}):
            got = await stage.ask("GET", address, visit=stage.visits[Role.READ], headers=headers)
            tally.attempt("disguised files", f"{name} gave {got.status} {got.headers}", is_in=not _is_harmless(got))
        if got.headers.get("content-type", "").startswith("image/"):
            stage.shown.append(address)


async def attack_reach(stage: Stage, tally: Tally) -> None:
    """Crawl files by somebody who may steer, and may not become a user of the machine."""
    steve = stage.visits[Role.STEER]
    for number, text in enumerate(REACHES):
        form = {"token": steve.token, "name": f"reach{number}", "text": text}
        got = await stage.ask("POST", "/steering/new/make", visit=steve, data=form)
        words = f"{text!r:.200} gave {got.status}"
        tally.attempt("crawl files that reach far", words, is_in=got.status != 400 or _is_written(stage, number))
    for base in ("http://169.254.169.254", "http://2852039166/", "file:///etc/passwd", "http://[::ffff:169.254.169.254]/"):
        form = {"token": steve.token, "q": "@alice", "provider": "mastodon", "base": base}
        got = await stage.ask("POST", "/steering/people/look", visit=steve, data=form)
        tally.attempt("look-ups that reach far", f"{base} gave {got.status}", is_in=got.status != 400)


def _is_harmless(got: Got) -> bool:
    kind = got.headers.get("content-type", "")
    is_file = kind == "application/octet-stream" and got.headers.get("content-disposition", "").startswith("attachment;")
    is_kept_in = "sandbox" in got.headers.get("content-security-policy", "")
    is_as_told = got.headers.get("x-content-type-options") == "nosniff" and "no-store" in got.headers.get("cache-control", "")
    return got.status in (200, 206) and (is_file or kind in _SHOWN) and is_kept_in and is_as_told


def _is_written(stage: Stage, number: int) -> bool:
    return any(Path(stage.site.store).parent.rglob(f"reach{number}.toml"))


async def _keep(stage: Stage) -> None:
    """The files, in the folder that a crawl file of the store names, in a post that everybody may see."""
    folder = Path(stage.site.store).parent
    (folder / "media").mkdir()
    crawl = folder / "pictures.toml"
    crawl.write_text(f'store = "marked.db"\n{_CRAWL}[media]\nfolder = "media"\n')
    async with stage.site.database.transaction() as tx:
        settings = msgspec.json.encode({"called": {"file": str(crawl)}}).decode()
        await tx.execute("update crawls set settings = json_patch(settings, ?)", settings)
        for number, (name, body) in enumerate(DISGUISED.items()):
            (folder / "media" / name).write_bytes(body)
            await tx.execute(_KEPT, _id(number), name)
            await tx.execute(_IN_A_POST, _id(number), 100 + number)


def _id(number: int) -> str:
    return f"disguised/{number}"
