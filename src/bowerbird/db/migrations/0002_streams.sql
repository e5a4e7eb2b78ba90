-- Live streams, their gaps, and the names under which relations are ended.

-- One subscription of one crawl. `token` fences: only the worker that took the stream last may write its cursor.
create table streams (
    stream {serial},
    crawl bigint not null references crawls,
    service bigint not null references services,
    name text not null,
    channel text not null,
    options text not null,
    state text not null,              -- idle, connecting, live, waiting, refused
    reason text,
    worker bigint,
    token bigint not null default 0,
    held_until bigint,                -- another worker may take it from then on
    cursor text,                      -- written in the transaction that saves the events before it
    head text,                        -- newest post key heard
    event_at bigint,                  -- the network's time of the newest event
    heard_at bigint,                  -- our time of the last message saved
    connected_at bigint,
    connections bigint not null default 0,
    events bigint not null default 0,
    unique (crawl, service, name)
);

-- What a stream cannot have delivered. A gap with a task is being filled by that task's next whole listing.
create table gaps (
    gap {serial},
    stream bigint not null references streams,
    cause text not null,              -- start, cut, silence, outage, outdated, undelivered
    detail text,
    after_at bigint,                  -- the network's time: it lies after this event and
    before_at bigint,                 -- before this one
    after_key text,
    before_key text,
    began_at bigint not null,         -- our time: from the last message saved
    ended_at bigint,                  -- to the next connection
    missing bigint,                   -- how many messages, where the service says so
    lane bigint,
    target text,
    asked_at bigint,                  -- when that task was woken for it: it is filled by a listing that ends after this
    call bigint
);
create index gaps_stream on gaps (stream, began_at);

-- Bluesky tells the end of a follow by the name of its record alone.
alter table relations add column record text;
create index relations_record on relations (source, record) where record is not null;
