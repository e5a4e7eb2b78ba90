-- Who and what was forgotten on request: kept out for good, known by keyed hashes alone.

create table tombstone_keys (
    key_no {serial},
    secret text not null unique       -- hex, 32 bytes: what the marks are made with; the first is the store's own
);

create table tombstones (
    tombstone {serial},
    mark text not null unique         -- hex: HMAC-SHA256 of a name (an id, handle or address), cut to 16 bytes
);

-- One row. `version` grows with every request; `sweeping` is the version that the sweep under way looks for, and where it is;
-- `swept` the last one that was looked for everywhere.
create table tombstone_state (
    version bigint not null,
    sweeping bigint not null,
    step bigint not null,
    place bigint not null,
    swept bigint not null
);
insert into tombstone_state (version, sweeping, step, place, swept) values (0, 0, 0, 0, 0);

-- Each request: who made it, when, why, and how much was removed; nothing of what it was.
create table forget_requests (
    request {serial},
    version bigint not null,          -- of the tombstones when it was made
    at bigint not null,
    who text not null,
    why text not null,
    names bigint not null,            -- ids, handles and addresses kept out by it
    users bigint not null,
    posts bigint not null,
    relations bigint not null,
    media bigint not null,            -- pictures and films
    mentions bigint not null,         -- of posts, profiles and lines of others: where a name was taken out
    done_at bigint                    -- when the whole store was looked through; empty: not yet
);
