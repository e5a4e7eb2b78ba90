-- A fleet: many workers on one crawl, some of them without the database.

-- Who may work through a coordinator. Of a token only its hash is kept.
create table worker_tokens (
    name text primary key,
    hash text not null,               -- SHA-256, in hexadecimal
    created_at bigint not null,
    seen_at bigint,                   -- when it was last shown, to the minute
    revoked_at bigint
);

-- What is wanted of a part of a crawl; what is wanted of the whole of it is `crawls.wanted`.
create table controls (
    crawl bigint not null references crawls,
    kind text not null,               -- facet, worker
    name text not null,               -- of the facet, or the label of the worker
    wanted text not null,             -- paused; stopped (workers only)
    since bigint not null,
    primary key (crawl, kind, name)
);

-- What its user calls a worker, and through which other one it gets its calls; empty: from the database itself.
alter table workers add column label text;
alter table workers add column coordinator bigint;

-- The plan as a process without the crawl file reads it: no seeds, no secrets, no address of a database.
alter table plans add column whole text;
