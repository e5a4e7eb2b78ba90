"""Joining two rows of one user: known by key on one service, and by id from elsewhere."""

from __future__ import annotations

from bowerbird.db.sqlite.ends_of_ids import is_same
from bowerbird.store.context import SaveContext
from bowerbird.store.numbers import remember_numbers

_LATER = "case when relations.{0} is null or excluded.{0} > relations.{0} then excluded.{0} else relations.{0} end"
_JOIN_RELATIONS = """
insert into relations (kind, source, target, found_at, found_by, seen_at, seen_out, seen_in, removed_at, record)
select kind, {source}, {target}, found_at, found_by, seen_at, seen_out, seen_in, removed_at, record from relations
where kind in ('follow', 'member') and {end} = ?
on conflict (kind, source, target) do update set
    found_at = case when excluded.found_at < relations.found_at then excluded.found_at else relations.found_at end,
    seen_at = {seen_at}, seen_out = {seen_out}, seen_in = {seen_in}, record = coalesce(relations.record, excluded.record),
    removed_at = case when excluded.removed_at is null or relations.removed_at is null then null else relations.removed_at end
"""
_LATEST = {column: _LATER.format(column) for column in ("seen_at", "seen_out", "seen_in")}
_JOIN_OUT = _JOIN_RELATIONS.format(source="cast(? as bigint)", target="target", end="source", **_LATEST)
_JOIN_IN = _JOIN_RELATIONS.format(source="source", target="cast(? as bigint)", end="target", **_LATEST)

_MOVE_MENTIONS = """
insert into post_mentions (post_no, user_no) select post_no, cast(? as bigint) from post_mentions where user_no = ?
on conflict (post_no, user_no) do nothing
"""
_MOVE_LISTINGS = """
insert into listings (user_no, kind, side, sweep, began_at, ended_at, before_began_at, listed)
select cast(? as bigint), kind, side, sweep, began_at, ended_at, before_began_at, listed from listings where user_no = ?
on conflict (user_no, kind, side) do nothing
"""
_MOVE_TAGS = """
insert into user_tags (user_no, tag, name, weight, found_at, found_by, seen_at, gone_at)
select cast(? as bigint), tag, name, weight, found_at, found_by, seen_at, gone_at from user_tags where user_no = ?
on conflict (user_no, tag) do nothing
"""
_MOVE_MEMBERSHIPS = """
insert into list_members (list_no, user_no, found_at, found_by, seen_at)
select list_no, cast(? as bigint), found_at, found_by, seen_at from list_members where user_no = ?
on conflict (list_no, user_no) do nothing
"""
_MOVE_REACTIONS = """
insert into reactions (post_no, user_no, kind, at, sweep, place, found_at, found_by, seen_at, gone_at)
select post_no, cast(? as bigint), kind, at, sweep, place, found_at, found_by, seen_at, gone_at from reactions where user_no = ?
on conflict (post_no, kind, user_no) do nothing
"""
_CANDIDATE = (
    "source, state, reason, found_at, asked_at, posts_asked_at, mentions, replies, reposts, listed, is_mined, votes_at, "
    "followed_by_yes, followed_by_no, follows_yes, follows_no, mentioned_by_yes, mentioned_by_no"
)
_IS_EARLIER = "excluded.found_at < candidates.found_at"
# Where both were candidates, what is known of the one that stays holds. Its posts are looked through once: twice would count
# them twice. Those around it are others now, and are counted anew.
_MOVE_CANDIDATES = f"""
insert into candidates (crawl, user_no, {_CANDIDATE})
select crawl, cast(? as bigint), {_CANDIDATE} from candidates where user_no = ?
on conflict (crawl, user_no) do update set mentions = candidates.mentions + excluded.mentions,
    replies = candidates.replies + excluded.replies, reposts = candidates.reposts + excluded.reposts,
    listed = candidates.listed + excluded.listed, votes_at = null,
    is_mined = case when excluded.is_mined = 1 then 1 else candidates.is_mined end,
    source = case when {_IS_EARLIER} then excluded.source else candidates.source end,
    found_at = case when {_IS_EARLIER} then excluded.found_at else candidates.found_at end,
    posts_asked_at = case when candidates.posts_asked_at is null or excluded.posts_asked_at > candidates.posts_asked_at
        then excluded.posts_asked_at else candidates.posts_asked_at end
"""
_MOVE_LABELS = """
insert into labels (crawl, judge, user_no, who, label, at)
select crawl, judge, cast(? as bigint), who, label, at from labels where user_no = ?
on conflict (crawl, judge, user_no, who) do nothing
"""
# Who is in the same sample twice leaves a place empty; the places of rows that move come from below zero.
_MOVE_SAMPLED = """
insert into label_samples (crawl, judge, said, place, user_no, drawn_at)
select crawl, judge, said, -place, cast(? as bigint), drawn_at from label_samples where user_no = ?
on conflict do nothing
"""
_MOVE_AUDITED = """
insert into audit_accounts (audit, user_no, since, until, asked, wrote, had, state)
select audit, cast(? as bigint), since, until, asked, wrote, had, state from audit_accounts where user_no = ?
on conflict (audit, user_no) do nothing
"""
_ID = "(select id from users where user_no = ?)"
_RENAME_JUDGEMENTS = f"update judgements set id = ? where subject = 'user' and id = {_ID}"
_RENAME_JUDGEMENT_HISTORY = f"update judgement_history set id = ? where id = {_ID}"
_NAME = "update users set id = ? where user_no = ?"
_MOVE_JUDGEMENTS = f"""
insert into judgements (judge, subject, id, value, reason, strength, confidence, evidence, version, decided_by, at, call)
select judge, subject, {_ID}, value, reason, strength, confidence, evidence, version, decided_by, at, call from judgements
where subject = 'user' and id = {_ID}
on conflict (judge, subject, id, value) do nothing
"""
_MOVES = (
    f"update judgement_history set id = {_ID} where id = {_ID}",
    "update user_keys set user_no = ? where user_no = ?",
    "update lists set owner = ? where owner = ?",
    "update posts set author = ? where author = ?",
    "update user_history set user_no = ? where user_no = ?",
    "update former_handles set user_no = ? where user_no = ?",
    "update unavailable set user_no = ? where user_no = ?",
    "update results set user_no = ? where user_no = ?",
    "update results set owner = ? where owner = ?",
    "update relation_history set source = ? where source = ?",
    "update relation_history set target = ? where target = ?",
    # Their posts are counted anew when somebody asks, or with the next page that has many.
    "delete from post_counts where user_no = ? or user_no = ?",
)
# Every kind is named because the indexes of relations begin with it.
_KINDS = "kind in ('follow', 'member')"
_LEFTOVERS = (
    f"delete from relations where {_KINDS} and source = ?",
    f"delete from relations where {_KINDS} and target = ?",
    "delete from post_mentions where user_no = ?",
    "delete from listings where user_no = ?",
    "delete from user_tags where user_no = ?",
    "delete from list_members where user_no = ?",
    "delete from reactions where user_no = ?",
    "delete from candidates where user_no = ?",
    "delete from labels where user_no = ?",
    "delete from label_samples where user_no = ?",
    "delete from audit_accounts where user_no = ?",
    f"delete from judgements where subject = 'user' and id = {_ID}",
    "delete from users where user_no = ?",
)
_JOINS = (
    *(
        _JOIN_OUT,
        _JOIN_IN,
        _MOVE_MENTIONS,
        _MOVE_LISTINGS,
        _MOVE_TAGS,
        _MOVE_MEMBERSHIPS,
        _MOVE_REACTIONS,
        _MOVE_JUDGEMENTS,
        _MOVE_CANDIDATES,
        _MOVE_LABELS,
        _MOVE_SAMPLED,
        _MOVE_AUDITED,
    ),
    *_MOVES,
)
"""Every table that names users; a test holds this against the schema, and the columns that are carried along too."""
COUNTED_ANEW = frozenset({("statistic_counts", "key"), ("statistic_counts", "other")})
"""Columns that name users and are not joined: `_RECOUNT` has what they counted counted again."""


# What they wrote, and what names, answers or passes them on, was counted for a number that goes.
_RECOUNT = f"""
insert into statistic_recounts (number) select post_no from posts where author = ?
union select post_no from post_mentions where user_no = ?
union select c.post_no from posts p cross join posts c where p.author = ? and {is_same("c.reply_to", "p.id")}
union select c.post_no from posts p cross join posts c where p.author = ? and {is_same("c.repost_of", "p.id")}
"""


async def name_user(s: SaveContext, user_no: int, known_id: str) -> None:
    """A user known only by key turns out to have this id."""
    await s.tx.execute_all([(_RENAME_JUDGEMENTS, [(known_id, user_no)]), (_RENAME_JUDGEMENT_HISTORY, [(known_id, user_no)])])
    await s.tx.execute_all([(_NAME, [(known_id, user_no)])])


async def merge_users(s: SaveContext, guessed: int, known: int) -> None:
    """Everything that was said of the guessed row is said of the known one; the guessed row goes, its keys move."""
    await remember_numbers(s.tx, s.database)
    await s.tx.execute(_RECOUNT, guessed, guessed, guessed, guessed)
    for statement in _JOINS:
        await s.tx.execute(statement, known, guessed)
    for statement in _LEFTOVERS:
        await s.tx.execute(statement, guessed)
