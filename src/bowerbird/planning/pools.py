"""Processes that work for one command and end with it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import Any


def process_pool(
    jobs: int, begin: Callable[..., None] | None = None, *values: Any, most_tasks: int | None = None
) -> ProcessPoolExecutor:
    """A pool whose processes end at once when the one that made it is killed: they would work on for minutes, for nobody.

    `begin` is called in each of them with the values; after so many tasks a process is replaced by a new one.
    """
    # Spawned and not forked: a copy of a process with threads may stand still for ever.
    return ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (begin, *values), max_tasks_per_child=most_tasks)


def _begin(begin: Callable[..., None] | None, *values: Any) -> None:
    threading.Thread(target=_end_with_parent, name="end with parent", daemon=True).start()
    if begin is not None:
        begin(*values)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
