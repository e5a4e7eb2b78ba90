"""Logs go to standard error, so that results on standard output stay clean."""

from __future__ import annotations

import logging
import sys

from bowerbird.cli.screens.outlet import Outlet


def set_up_logs(level: str, *, as_json: bool = False) -> None:
    """Sends our own and the libraries' messages of at least `level` to standard error, one line each; with `as_json` as JSON."""
    threshold = getattr(logging, level.upper())
    logging.basicConfig(level=threshold, stream=Outlet(sys.stderr), format="%(levelname)s %(name)s: %(message)s", force=True)
    if as_json:
        logging.getLogger().handlers[0].setFormatter(_JsonFormatter())
    # While PostgreSQL is away the pool logs a traceback at every try; we say once, in our own words, what we wait for.
    logging.getLogger("asyncpg.pool").setLevel(logging.CRITICAL if threshold >= logging.WARNING else logging.NOTSET)


class _JsonFormatter(logging.Formatter):
    """A message as one JSON object, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        import json  # takes a while to load, and only machines read it

        return json.dumps({"level": record.levelname.lower(), "logger": record.name, "message": super().format(record)})
