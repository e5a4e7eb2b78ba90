-- The first schema. One text for both databases: {serial}, {blob} and {real} are the only words that differ.
-- Times are whole microseconds since the epoch, UTC; truth values are 0 and 1; documents are JSON text.

create table crawls (
    crawl {serial},
    name text not null unique,
    flow text not null,
    settings text not null,
    state text not null,              -- running, paused, stopped, finished, failed: what the process does
    wanted text not null,             -- running, paused, stopped: what the user asked for
    reason text,
    calls bigint not null default 0,
    items bigint not null default 0,
    users bigint not null default 0,  -- new ones this crawl brought
    posts bigint not null default 0,
    created_at bigint not null,
    updated_at bigint not null
);

create table services (
    service {serial},
    name text not null unique,
    provider text not null,
    network text not null,
    base text not null
);

create table lanes (
    lane {serial},
    crawl bigint not null references crawls,
    service bigint not null references services,
    facet text not null,
    unique (crawl, service, facet)
);

create table workers (
    worker {serial},
    name text not null,
    host text not null,
    pid bigint not null,
    started_at bigint not null,
    seen_at bigint not null,
    ended_at bigint
);

create table sequences (
    name text primary key,
    value bigint not null
);
insert into sequences (name, value) values ('token', 0);

-- The frontier. `ready` = 1: waits for its turn in (priority, due) order.
-- `ready` = 0 with a due time: sleeps until then, or is leased until then (token set); one sweep serves both.
-- `ready` = 0 without a due time: sleeps until an edge wakes it, or has failed.
create table tasks (
    task {serial},
    lane bigint not null,
    target text not null,
    ready smallint not null,
    paged smallint not null default 0, -- its next request carries a position; some services limit those apart
    priority {real} not null,
    due bigint,
    token bigint,
    worker bigint,
    state text not null,              -- waiting, leased, asleep, failed
    woken smallint not null default 0, -- an edge woke it while it was leased
    cursor text,
    newest text,
    head text,
    depth bigint not null default 0,
    attempts bigint not null default 0,
    pages bigint not null default 0,  -- calls of the listing under way
    visits bigint not null default 0,
    added_at bigint not null,
    added_by bigint,
    visited_at bigint,
    failure text,
    memory {blob}
);
create unique index tasks_target on tasks (lane, target);
create index tasks_ready on tasks (lane, paged, priority desc, due, task) where ready = 1;
create index tasks_due on tasks (due) where ready = 0 and due is not null;
create index tasks_held on tasks (worker) where worker is not null;
create index tasks_failed on tasks (lane) where state = 'failed';

-- The query log. A call is written before it is made (flying) and ends settled or lost.
create table calls (
    call {serial},
    crawl bigint not null,
    lane bigint not null,
    facet text not null,
    credential text,
    worker bigint not null,
    state text not null,              -- flying, settled, lost
    charges text not null,
    objects bigint not null,
    targets text not null,
    leased_at bigint not null,
    expires_at bigint not null,
    sent_at bigint,
    received_at bigint,
    settled_at bigint,
    status bigint,
    outcome text,
    results bigint,
    new_items bigint,
    bytes bigint,
    rank_micros bigint,
    call_micros bigint,
    seed_micros bigint,
    settle_micros bigint,
    detail text
);
create index calls_flying on calls (worker) where state = 'flying';

create table ledgers (
    bucket text primary key,
    allowance bigint not null,
    window_micros bigint not null,
    kind text not null,
    remaining bigint not null,
    in_flight bigint not null,
    finished bigint not null,
    reset_at bigint,                  -- in the server's time
    offset_low bigint,                -- server time minus ours, bounds
    offset_high bigint,
    probing smallint not null default 0,
    resumed_at bigint,
    backoff_until bigint,
    backoff_step bigint not null default 0,
    next_at bigint,                   -- spacing: not before this time, ours
    spent bigint not null default 0,  -- over the bucket's whole life
    refused bigint not null default 0,
    version bigint not null default 0,
    updated_at bigint not null
);

create table credentials (
    credential text primary key,
    state text not null,              -- good, refused
    reason text,
    since bigint not null
);

create table dictionaries (
    dictionary {serial},
    body {blob} not null,
    trained_at bigint not null
);

create table users (
    user_no {serial},
    id text not null unique,
    network text not null,
    handle text,
    name text,
    description text,
    location text,
    url text,
    language text,
    avatar text,
    created_at bigint,
    followers bigint,
    following bigint,
    posts bigint,
    checked_posts bigint,             -- `posts` as of the last look-up of the profile itself: who has news is told from it
    newest_post_at bigint,
    is_protected smallint,
    is_bot smallint,
    is_verified smallint,
    opts_out smallint,
    labels text,
    found_at bigint not null,         -- first heard of, perhaps only by id
    found_by bigint,
    seen_at bigint,                   -- profile last seen
    seen_by bigint,
    changed_at bigint,
    raw {blob},
    raw_dictionary bigint
);
create index users_handle on users (handle);

-- What one service calls a user, where that is not simply network:key.
create table user_keys (
    service bigint not null,
    key text not null,
    user_no bigint not null,
    primary key (service, key)
);

create table user_history (
    user_no bigint not null,
    at bigint not null,
    call bigint not null,
    before text not null,             -- the old values of the fields that changed
    after text not null
);
create index user_history_user on user_history (user_no, at);

create table posts (
    post_no {serial},
    id text not null unique,
    network text not null,
    author bigint not null,           -- user_no
    kind text not null,
    created_at bigint,                -- as the author's software claims
    listed_at bigint,                 -- when the service took it in
    is_time_doubtful smallint,        -- the claim cannot be true
    text text,
    language text,
    reply_to text,
    repost_of text,
    quote_of text,
    root text,                        -- the post that opened the conversation
    replies bigint,
    reposts bigint,
    likes bigint,
    edited_at bigint,
    url text,
    source text,
    warning text,
    is_sensitive smallint,
    labels text,
    links text,
    place text,
    found_at bigint not null,
    found_by bigint not null,
    seen_at bigint not null,
    seen_by bigint not null,
    deleted_at bigint,
    raw {blob},
    raw_dictionary bigint
);
create index posts_author on posts (author, created_at);
create index posts_repost on posts (repost_of) where repost_of is not null;
create index posts_quote on posts (quote_of) where quote_of is not null;

create table post_keys (
    service bigint not null,
    key text not null,
    post_no bigint not null,
    primary key (service, key)
);

create table post_history (
    post_no bigint not null,
    at bigint not null,
    call bigint not null,
    before text not null,
    after text not null
);
create index post_history_post on post_history (post_no, at);

create table post_tags (
    tag text not null,
    post_no bigint not null,
    primary key (tag, post_no)
);
create index post_tags_post on post_tags (post_no);

create table post_mentions (
    post_no bigint not null,
    user_no bigint not null,
    primary key (post_no, user_no)
);
create index post_mentions_user on post_mentions (user_no);

create table media (
    media_no {serial},
    id text not null,                 -- the same picture may stand in many posts
    post_no bigint not null,
    place bigint not null,            -- first, second … in the post; one picture may stand there twice
    kind text not null,
    url text not null,
    description text
);
create unique index media_post on media (post_no, place);

-- Tags that users gave themselves (Weibo); `gone_at`: a later look did not show it any more.
create table user_tags (
    user_no bigint not null,
    tag text not null,
    name text not null,
    weight bigint,
    found_at bigint not null,
    found_by bigint not null,
    seen_at bigint not null,
    gone_at bigint,
    primary key (user_no, tag)
);

-- What a service said was popular, each time it was asked.
create table trends (
    service bigint not null,
    place text not null,
    at bigint not null,
    rank bigint not null,
    word text not null,
    volume bigint,
    call bigint not null,
    primary key (service, place, at, rank)
);

-- One edge. `seen_out` and `seen_in` are the last sweeps of the two listings that can show it.
create table relations (
    kind text not null,
    source bigint not null,
    target bigint not null,
    found_at bigint not null,
    found_by bigint not null,
    seen_at bigint not null,
    seen_out bigint,
    seen_in bigint,
    removed_at bigint,
    primary key (kind, source, target)
);
create index relations_target on relations (kind, target, source);

-- Each listing of one user's relations: a removal is known only when a sweep ends.
create table listings (
    user_no bigint not null,
    kind text not null,
    side text not null,
    sweep bigint not null,
    began_at bigint not null,
    ended_at bigint,
    before_began_at bigint,           -- start of the last sweep that ended
    listed bigint not null default 0,
    primary key (user_no, kind, side)
);

create table relation_history (
    kind text not null,
    source bigint not null,
    target bigint not null,
    change text not null,             -- added, removed
    after_at bigint,                  -- it happened after this and
    before_at bigint not null,        -- before this
    call bigint not null
);
create index relation_history_source on relation_history (source);
create index relation_history_target on relation_history (target);

create table deletions (
    subject text not null,
    id text not null,
    reason text not null,
    at bigint not null,
    call bigint,
    primary key (subject, id)
);

create table unavailable (
    user_no bigint not null,
    reason text not null,
    since bigint not null,
    call bigint,
    until bigint                      -- when it was seen again
);
create index unavailable_user on unavailable (user_no, since);

create table quarantine (
    item {serial},
    call bigint not null,
    facet text not null,
    subject text not null,
    why text not null,
    at bigint not null,
    raw {blob} not null
);

create table errors (
    error {serial},
    at bigint not null,
    crawl bigint,
    part text not null,
    outcome text,
    call bigint,
    message text not null
);
create index errors_at on errors (at);
