-- What reports look up, found without reading whole tables.

-- Handles are looked up whatever their case, and by their beginning (a name on any server): one index serves both.
drop index users_handle;
create index users_handle on users (lower(handle) {bytewise});

-- The handles that accounts had before, as far as their history is kept; only who takes another one is in it.
create table former_handles (
    name text {bytewise} not null,    -- in lower case
    user_no bigint not null,
    until bigint not null,            -- when it was first seen without it
    handle text not null              -- as it was written
);
create index former_handles_name on former_handles (name);
create index former_handles_user on former_handles (user_no);
insert into former_handles (name, user_no, until, handle)
select lower(h.handle), h.user_no, h.at, h.handle
from (select user_no, at, cast(before as {json}) ->> 'handle' as handle from user_history where before like '%"handle":%') as h
where h.handle is not null;

-- What `gone` lists and `status` counts; most rows are not in these.
create index relation_history_removed on relation_history (source, target, before_at) where change = 'removed';
create index unavailable_now on unavailable (user_no) where until is null;
create index users_opted_out on users (user_no) where opts_out = 1;
