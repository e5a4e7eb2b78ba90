-- What a search beside a stream must remember: who listed which post, which pictures are on disk, which queues were rebuilt.

-- A post listed by one source: a search, a hashtag or a stream, each with its lane. Posts that only came along are not in it.
create table sightings (
    sighting {serial},
    post_no bigint not null,
    lane bigint not null,
    at bigint not null,
    call bigint not null,
    unique (post_no, lane)
);

-- A queue that was rebuilt from sightings: as long as the same edges lead to it, the engine itself keeps it complete.
create table rebuilds (
    lane bigint primary key,
    edges text not null,              -- a hash of them
    sighting bigint not null,         -- looked through up to this one
    done_at bigint                    -- empty: interrupted
);

-- One picture or film, however many posts show it.
create table media_files (
    file {serial},
    id text not null unique,          -- as in `media`
    kind text not null,
    url text not null,
    state text not null,              -- waiting, kept, given_up, doubted (a post that showed it is gone), removed
    sha256 text,
    bytes bigint,
    type text,                        -- as the server calls it
    path text,                        -- below the folder of the crawl's [media]
    attempts bigint not null default 0,
    error text,
    due bigint not null,              -- not before; while it is fetched: when another worker may try
    worker bigint,                    -- who fetches it now
    found_at bigint not null,
    kept_at bigint
);
create index media_files_due on media_files (kind, due) where state = 'waiting';
create index media_files_doubted on media_files (file) where state = 'doubted';
create index media_files_held on media_files (worker) where worker is not null;
insert into sequences (name, value) values ('media', 0);

create index media_id on media (id);
create index user_keys_user on user_keys (user_no);
