-- What was changed about a crawl while it ran, by whom and why: targets that were retired, streams that were retuned.
create table changes (
    change {serial},
    at bigint not null,
    worker bigint,                    -- the process that wrote it; empty: a command
    who text not null,                -- who asked for it: a module, the flow, the user
    why text not null,
    kind text not null,               -- retired, taken_up, retuned, kept (a retuning that the service refused)
    lane bigint,                      -- a target of a lane
    target text,
    stream bigint,                    -- or a stream, with its options before and after
    before text,
    after text,
    effective_at bigint,              -- since when a stream hears so; empty: not yet
    manner text                       -- how that was done: on the same connection, or by another one
);
create index changes_target on changes (lane, target) where target is not null;
create index changes_stream on changes (stream, at) where stream is not null;

-- What a stream hears now, where that is not what its crawl file says (`options`) any more.
alter table streams add column tuned text;

-- Tasks that are asked no more: `retired`, or `retiring` until the call ends that asks about them.
update tasks set state = 'retired' where state = 'dropped';
create index tasks_retired on tasks (lane, target) where state in ('retired', 'retiring');
