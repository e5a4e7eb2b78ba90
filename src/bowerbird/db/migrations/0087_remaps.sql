-- Each reading of the stored payloads with the parsers of a later version: how far it is, and what it changed.
create table remaps (
    remap {serial},
    version text not null,            -- of the bowerbird whose parsers read
    begun_at bigint not null,
    ended_at bigint,                  -- empty: not yet at its end; the same command goes on
    users_to bigint not null,         -- the last of each when it began: what came later was read by these parsers already
    posts_to bigint not null,
    users_at bigint not null,         -- up to these they are done
    posts_at bigint not null,
    items bigint not null,            -- payloads that were read
    changed bigint not null,          -- accounts and posts that were changed
    unread bigint not null,           -- payloads that say nothing of their item, or nothing that may be kept
    fields text not null              -- JSON: how often each field was changed
);
