"""Whose profile a page answers with, and who only came along."""

from __future__ import annotations

import pytest

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.model import Page, Task, User, asked_about
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings


def asked(targets: str, *users: tuple[str, str], about: str | None = None) -> dict[str, str]:
    tasks = [Task(task=number, lane=1, target=target, token=1) for number, target in enumerate(targets.split())]
    page = Page(users=tuple(User(id=f"x:{key}", key=key, handle=handle) for key, handle in users), about=about)
    return {key: task.target for key, task in asked_about(tasks, page).items()}


def test_accounts_are_asked_about_by_key_or_handle_and_others_come_along() -> None:
    assert asked("1 @Ada", ("1", "one"), ("2", "ada"), ("3", "eve")) == {"1": "1", "2": "@Ada"}


def test_a_lone_name_is_answered_by_the_lone_account_or_the_one_the_page_is_about() -> None:
    assert asked("@ada@home.example", ("2", "ada")) == {"2": "@ada@home.example"}
    assert asked("@/zaku", ("3", "eve"), ("2", "ada"), about="2") == {"2": "@/zaku"}
    assert asked("@/zaku", ("3", "eve"), ("2", "ada")) == {}
    assert asked("1", ("2", "ada")) == {}


@pytest.mark.parametrize("address", ["https://weibo.com/d{}", "https://weibo.com/u/{}"])
def test_addresses_on_weibo_lead_to_timelines(address: str) -> None:
    async def main(clock: VirtualClock) -> int:
        world = WorldSettings(accounts=60, seed=5, following=8.0, longest_history=60)
        laboratory = Laboratory(Setup(dialect="weibo", world=world), clock)
        seeds = [address.format(key) for key in laboratory.keys(12)]
        async with laboratory.crawl(laboratory.plan('flow = "timelines"', seeds, 'stop.duration = "1h"')) as crawl:
            await laboratory.run(crawl)
            async with crawl.database.reading() as tx:
                sql = "select count(*) as n from tasks t join lanes l on l.lane = t.lane where l.facet = 'timeline'"
                return int((await tx.fetch(sql))[0]["n"])

    assert run_virtual(main, start=WorldSettings().start) >= 10
