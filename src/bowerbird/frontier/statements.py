"""The SQL of the frontier, one text for both databases.

Lease eligibility: ready, or due (its sleep is over, or the lease of a dead worker ran out). The partial indexes `tasks_ready` and
`tasks_due` carry exactly these two questions; a test explains both statements and fails when an index is no longer used.
"""

from functools import cache

from bowerbird.model import TaskState

_NAMES = (
    *("task", "lane", "target", "priority", "due", "cursor", "newest", "head", "depth", "attempts", "pages", "visits"),
    *("added_at", "visited_at", "memory", "fence"),
)
_COLUMNS = ", ".join(_NAMES)
_ORDER = "order by priority desc, due, task limit ?"


def choose(dialect: str, *, banded: bool) -> str:
    """The next ready tasks of one half of a lane, in lane order; on PostgreSQL those another worker is claiming are skipped."""
    band = " and priority >= ? and priority < ?" if banded else ""
    skip = " for update skip locked" if dialect == "postgresql" else ""
    return f"select {_COLUMNS} from tasks where lane = ? and paged = ? and ready = 1{band} {_ORDER}{skip}"


_LEASED = (
    f"ready = 0, due = ?, token = tasks.fence + 1, fence = tasks.fence + 1, worker = ?, state = '{TaskState.LEASED}', woken = 0"
)


def claim_chosen(any_of: str) -> str:
    """Leases chosen tasks; the token of each is one more than at its lease before."""
    return f"update tasks set {_LEASED} where task {any_of}"


def choose_and_claim(*, banded: bool) -> str:
    """The same in one statement, with the due times from before: SQLite has no words for that."""
    columns = ", ".join("chosen.due" if name == "due" else f"tasks.{name}" for name in _NAMES)
    return f"""
with chosen as materialized ({choose("postgresql", banded=banded)})
update tasks set {_LEASED} from chosen where tasks.task = chosen.task returning {columns}
"""


Manner = tuple[bool, ...]
"""What an arrival does to a known task: wakes it when it sleeps, moves it when it waits already, brings it nearer."""
NEW_ONLY: Manner = (False, False, False)
NEW_OR_RETIRED: Manner = (False, False, False, True)
"""Retired targets are added as if they were unknown."""
_WAITING = f"'{TaskState.WAITING}'"
_IS_RETIRED = f"state in ('{TaskState.RETIRED}', '{TaskState.RETIRING}')"

_ARRIVAL = {
    "lane": "bigint",
    "target": "text",
    "ready": "smallint",
    "priority": "double precision",
    "due": "bigint",
    "state": "text",
    "depth": "bigint",
    "added_at": "bigint",
    "added_by": "bigint",
    "memory": "bytea",
    "newest": "text",
    "paged": "smallint",
}
_ADDED = ", ".join(_ARRIVAL)

# What has not ended in good order (leased, amid a listing, being retried, given up) still owes what is above its own `newest`.
_IS_DONE = f"tasks.token is null and tasks.cursor is null and tasks.attempts = 0 and tasks.state <> '{TaskState.FAILED}'"
_TAKES_NEWEST = f"excluded.newest is not null and {_IS_DONE}"

# A leased task is only marked: its settle sees the mark and makes it ready again.
_WAKE_ANY = f"""
on conflict (lane, target) do update set
    ready = case when tasks.token is null then excluded.ready else 0 end,
    due = case when tasks.token is null then excluded.due else tasks.due end,
    priority = case when tasks.token is null then excluded.priority else tasks.priority end,
    state = case when tasks.token is null then excluded.state else '{TaskState.LEASED}' end,
    depth = case when excluded.depth < tasks.depth then excluded.depth else tasks.depth end,
    memory = coalesce(excluded.memory, tasks.memory),
    failure = case when tasks.state in ('{TaskState.RETIRED}', '{TaskState.RETIRING}') then null else tasks.failure end,
    newest = case when {_TAKES_NEWEST} then excluded.newest else tasks.newest end,
    paged = case when {_TAKES_NEWEST} then excluded.paged else tasks.paged end,
    woken = case when tasks.token is null then 0 else 1 end
"""

_IS_NEARER = "excluded.depth < tasks.depth"

_WHERE_KNOWN: dict[Manner, str] = {
    NEW_ONLY: "on conflict (lane, target) do nothing",
    (True, False, False): f"{_WAKE_ANY}where tasks.ready = 0",
    (False, True, False): f"{_WAKE_ANY}where tasks.ready = 1",
    (True, True, False): _WAKE_ANY,
    (False, False, True): f"{_WAKE_ANY}where {_IS_NEARER}",
    (True, False, True): f"{_WAKE_ANY}where tasks.ready = 0 or {_IS_NEARER}",
    (False, True, True): f"{_WAKE_ANY}where tasks.ready = 1 or {_IS_NEARER}",
    (True, True, True): _WAKE_ANY,
    NEW_OR_RETIRED: f"{_WAKE_ANY}where tasks.{_IS_RETIRED}",
}

TAKE_TURN = "select pg_advisory_xact_lock(7254107)"


@cache
def adding(manner: Manner) -> str:
    """Adds one arrival."""
    return f"insert into tasks ({_ADDED}) values ({', '.join('?' for _ in _ARRIVAL)}) {_WHERE_KNOWN[manner]}"


@cache
def adding_in_order(manner: Manner) -> str:
    """Adds many arrivals on PostgreSQL, given as one list per column. Their numbers follow the order in which they came, which is
    the order in which they are asked; they are written in that of their targets, the same for all: two workers that add the
    same targets then wait for each other instead of deadlocking."""
    arrived = ", ".join(f"?::{kind}[]" for kind in _ARRIVAL.values())
    return f"""
with arrived as (select * from unnest({arrived}) with ordinality as listed ({_ADDED}, place)),
numbered as materialized (
    select nextval(pg_get_serial_sequence('tasks', 'task')) as task, {_ADDED} from (select * from arrived order by place) as a
)
insert into tasks (task, {_ADDED}) select task, {_ADDED} from numbered order by lane, target {_WHERE_KNOWN[manner]}
"""


def has_retired(any_of: str) -> str:
    """Whether lanes have retired targets at all: most have none."""
    return f"select 1 as there from tasks where {_IS_RETIRED} and lane {any_of} limit 1"


# What is leased to a call stays so until that ends. Nothing of what was learned is forgotten.
RETIRE = f"""
update tasks set ready = 0, due = case when token is null then null else due end, woken = 0, failure = ?,
    state = case when token is null then '{TaskState.RETIRED}' else '{TaskState.RETIRING}' end
where lane = ? and target = ? and state not in ('{TaskState.RETIRED}', '{TaskState.RETIRING}') returning target
"""
RECORD = "insert into changes (at, worker, who, why, kind, lane, target) values (?, ?, ?, ?, 'retired', ?, ?)"


def held(any_of: str, dialect: str) -> str:
    """Token and marks of leased tasks, locked until the settle ends."""
    lock = " order by lane, target for update" if dialect == "postgresql" else ""
    return f"select task, token, woken, state, failure from tasks where task {any_of}{lock}"


SETTLE = """
update tasks set ready = ?, due = ?, priority = ?, state = ?, paged = ?, token = null, worker = null, woken = 0,
    cursor = ?, newest = ?, head = ?, attempts = ?, pages = ?, visits = visits + ?, visited_at = coalesce(?, visited_at),
    failure = ?, memory = ?
where task = ?
"""

# A lease that ends ends a retiring task too.
_ENDED = """
    ready = case when state = 'retiring' then 0 else {ready} end,
    due = case when state = 'retiring' then null else {due} end,
    state = case when state = 'retiring' then 'retired' else {state} end, token = null, worker = null"""

GIVE_BACK = f"""
update tasks set {_ENDED.format(ready="cast(? as bigint)", due="cast(? as bigint)", state="?")} where task = ? and token = ?
"""


# Nothing but the lease and the attempt: of a call that our own code could not settle nothing else is known for certain.
SET_BACK = f"""
update tasks set failure = case when state = '{TaskState.RETIRING}' then failure else ? end, woken = 0, attempts = attempts + 1,
    {_ENDED.format(ready="0", due="cast(? as bigint)", state="?")}
where task = ? and token = ?
"""


def sweep(dialect: str) -> str:
    skip = " for update skip locked" if dialect == "postgresql" else ""
    return f"""
update tasks set {_ENDED.format(ready="1", due="due", state=_WAITING)}, woken = 0
where task in (select task from tasks where ready = 0 and due is not null and due <= ? order by due limit ?{skip})
returning lane
"""


IS_ANY_DUE = "select 1 as due from tasks where ready = 0 and due is not null and due <= ? limit 1"


def next_due(any_of: str) -> str:
    """The first due time of some lanes: other crawls in the same store have tasks of their own."""
    # `+lane` is no column of an index: otherwise SQLite would rather sort all tasks of the lanes than walk along `tasks_due`.
    return f"select due from tasks where ready = 0 and due is not null and +lane {any_of} order by due limit 1"


def ready_in(dialect: str) -> str:
    wanted = "(select value as lane from json_each(?)) l" if dialect == "sqlite" else "unnest(?::bigint[]) as l (lane)"
    # In the order of `tasks_ready`: PostgreSQL might otherwise read through all tasks to find that none is ready.
    order = "t.paged, t.priority desc, t.due, t.task"
    first = f"select t.task from tasks t where t.lane = l.lane and t.ready = 1 order by {order} limit 1"
    return f"select l.lane from {wanted} where ({first}) is not null"


# Token and due time belong together: what has a token is due when its lease runs out.
EXPIRE = "update tasks set due = ? where worker = ? and due = ? and token is not null"

# What workers hold that have ended; `tasks_held` finds it among any number of tasks.
RECOVER = f"""
update tasks set {_ENDED.format(ready="1", due="cast(? as bigint)", state=_WAITING)}, woken = 0
where worker is not null and worker not in (select worker from workers where ended_at is null)
returning lane
"""


# What is leased to a call is ended by that call; what was asked before and only sleeps has nothing to give up.
CLOSE = f"""
update tasks set ready = 0, due = null, state = '{TaskState.FAILED}', failure = ?
where lane = ? and token is null and (ready = 1 or due is not null)
"""


def revive(any_of: str) -> str:
    """Gives targets that were given up another chance."""
    return f"""
update tasks set ready = 1, due = ?, state = '{TaskState.WAITING}', attempts = 0, failure = null
where state = '{TaskState.FAILED}' and lane {any_of}
"""


def known(any_of: str) -> str:
    return f"select {_COLUMNS} from tasks where lane = ? and target {any_of}"
