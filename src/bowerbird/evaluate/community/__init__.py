"""How well is a community collected that only some members are known of, with the same calls, by TwitterEcho's order and by ours?

A world of people of twelve nations, as `evaluate nationality` has it; the community are those of Portugal, a fifth of all. Both
begin with the same seeds and may make the same calls of whatever kind. `echo` looks candidates up in the order in which they were
found, mentions and the followers of random members, decides by TwitterEcho's rule, and members come round by its priorities.
`ours` is the built-in flow. TwitterEcho began with 2,052 seeds and had added 4,017 users after a day.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, to_builtins

from bowerbird.errors import UserError
from bowerbird.evaluate.community.run import FLOWS, Order, run_order
from bowerbird.evaluate.coverage.activity import PUBLISHED

Say = Callable[[str], None]
PUBLISHED_GROWTH = {"seeds": 2_052, "added_in_24_hours": 4_017, "belong_of_mentioned": 0.79}
"""Oliveira 2011, sections 3.4.1 and 4.1."""


class Wish(Struct, frozen=True, kw_only=True):
    """What is to be evaluated."""

    accounts: int = 60_000
    seeds: int = 2_052
    days: float = 14.0
    seed: int = 1
    only: tuple[str, ...] = ()
    keep: Path | None = None
    """Where figures of each order are kept, so that an evaluation that was interrupted goes on with the next."""


class Kept(Struct, frozen=True):
    """The figures of one order in a file, and of what."""

    accounts: int
    seeds: int
    days: float
    seed: int
    figures: dict[str, Any]


def evaluate_community(wish: Wish, folder: Path, say: Say = print) -> dict[str, Any]:
    """The figures of both; `folder`: where descriptions and stores may be put."""
    for name in wish.only:
        if name not in FLOWS:
            raise UserError(f"there is no order {name!r}", f"there are {', '.join(FLOWS)}", code="unknown_name")
    names: Sequence[str] = wish.only or tuple(FLOWS)
    found = {name: _figures(name, wish, folder, say) for name in names}
    for name, each in found.items():
        say(
            f"{name}: {each['added_in_24_hours']:,} members added in 24 hours, {each['members']:,} at the end, precision "
            f"{each['precision']:.3f}, recall {each['recall']:.3f}, {each['captured_of_found']['posts']:.1%} of their posts"
        )
    return {
        "accounts": wish.accounts,
        "days": wish.days,
        "seed": wish.seed,
        **found,
        "published": {**PUBLISHED_GROWTH, "captured": to_builtins(PUBLISHED)},
    }


def _figures(name: str, wish: Wish, folder: Path, say: Say) -> dict[str, Any]:
    """Of one order: those that are kept of the same evaluation, or else made now, and kept."""
    if wish.keep is None:
        return run_order(_order(name, wish), folder, say)
    file = wish.keep / f"community-{name}.json"
    asked = (wish.accounts, wish.seeds, wish.days, wish.seed)
    if (kept := _read(file)) is not None and (kept.accounts, kept.seeds, kept.days, kept.seed) == asked:
        say(f"  {name}: as kept in {file}")
        return kept.figures
    figures = run_order(_order(name, wish), folder, say)
    wish.keep.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(Kept(*asked, figures)), indent=1))
    return figures


def _read(file: Path) -> Kept | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Kept)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(
            f"{file} holds no figures of a community: {error}", "name another folder with --keep", code="file_damaged"
        ) from None


def _order(name: str, wish: Wish) -> Order:
    return Order(name=name, accounts=wish.accounts, seeds=wish.seeds, length=timedelta(days=wish.days), seed=wish.seed)
