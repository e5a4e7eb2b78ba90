"""Templates: escaped by default, and an error where a name is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import CodeType
from typing import Any

from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket

from bowerbird import __version__
from bowerbird.model.command_lines import command_line
from bowerbird.reports.columns import as_text, cell
from bowerbird.reports.subjects import subject_of
from bowerbird.web import formats
from bowerbird.web.navigation import AREAS, area_of
from bowerbird.web.ranges import SPANS, Range, local, with_range

HERE = Path(__file__).parent
ASSETS = HERE / "assets"
FOREIGN = HERE / "foreign"
"""What is fetched from npm when bowerbird is installed or packed."""


class _Compiled(BytecodeCache):
    """What templates were compiled to, for every site of this process: that takes longer than to render them."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._kept.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key, bucket.checksum] = bucket.code


_compiled = _Compiled()


class Templates:
    """Renders the files of `templates/`."""

    def __init__(
        self, now: Callable[[], datetime], asking: Mapping[str, Callable[..., object]], chosen: Callable[[], Range] = Range
    ) -> None:
        """`asking`: what templates call to know of whoever asks for a page; `chosen`: what its plots show."""
        self._environment = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            # They are part of the program, and do not change while it runs.
            auto_reload=False,
            bytecode_cache=_compiled,
        )
        self._environment.filters |= {
            "number": formats.number,
            "text": as_text,
            "cell": cell,
            "rate": formats.rate,
            "size": formats.size,
            "share": formats.share,
            "lasting": formats.lasting,
            "brief": formats.brief,
            "exact": formats.exact,
            "in_path": formats.in_path,
            "safe_link": formats.safe_link,
            "store_name": formats.store_name,
            "subject": subject_of,
            "local_time": local,
            "with_range": lambda address: with_range(address, chosen()),
        }
        self._environment.globals |= {
            "now": now,
            "age_words": lambda when: formats.age(when, now()),
            **asking,
            "asset": asset,
            "areas": AREAS,
            "area_of": area_of,
            "version": __version__,
            "chosen_range": chosen,
            "spans": SPANS,
            "command": command_line,
            "cell": cell,
        }

    def compile(self) -> None:
        """All of them, which otherwise the first reader of each page waits for."""
        for name in self._environment.list_templates(extensions=["html"]):
            self._environment.get_template(name)

    def render(self, template: str, values: Mapping[str, Any], block: str | None = None) -> str:
        """The whole template, or one block of it."""
        found = self._environment.get_template(template)
        if block is None:
            return found.render(values)
        return "".join(found.blocks[block](found.new_context(dict(values))))


@cache
def asset(name: str) -> str:
    """The address of a file of ours; it changes with the file, so that browsers may keep it for good."""
    digest = sha256((ASSETS / name).read_bytes()).hexdigest()[:12]
    return f"/assets/{name}?v={digest}"
