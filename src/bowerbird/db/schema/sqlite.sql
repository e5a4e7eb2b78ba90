-- The schema of a SQLite store, version 1. postgresql.sql has the same tables; views.sql has the views of both.
-- Times are microseconds since 1970 (UTC), truth values 0 and 1, documents JSON text.
-- A short_ column is what is stored; the generated column without the prefix is what is read (db/sqlite/short_columns.py).
-- Ids are indexed by their last characters, and indexes of scattered values begin with the million of the row
-- (db/sqlite/ends_of_ids.py, millions.py).

-- One row. Only a store of this version is opened.
create table schema_version (
    version bigint not null,
    created_at bigint not null
);

create table crawls (
    crawl integer primary key,
    name text not null unique,
    flow text not null,
    settings text not null,
    state text not null,  -- running, paused, stopped, finished, failed: the state of the process
    wanted text not null,  -- running, paused, stopped: what the user wants
    reason text,
    calls bigint not null default 0,
    items bigint not null default 0,
    users bigint not null default 0,  -- new accounts stored by this crawl
    posts bigint not null default 0,
    created_at bigint not null,
    updated_at bigint not null,
    plan bigint not null default 0,  -- version of the plan in force; 0: none stored
    seeds_left_alone bigint not null default 0  -- seeds that opted out of collection
);

create table services (
    service integer primary key,
    name text not null unique,
    provider text not null,
    network text not null,
    base text not null,
    flavour text,  -- JSON: server software, version, what it allows and what it refused
    surveyed_at bigint
);

create table lanes (
    lane integer primary key,
    crawl bigint not null references crawls,
    service bigint not null references services,
    facet text not null,
    -- why the facet is not requested (no credential, not offered, refused) and since when; its tasks wait
    left_out text,
    left_out_at bigint,
    unique (crawl, service, facet)
);

create table workers (
    worker integer primary key,
    name text not null,
    host text not null,
    pid bigint not null,
    started_at bigint not null,
    seen_at bigint not null,
    ended_at bigint,
    -- a random name, and where and when the process started: host names and process ids are reused
    identity text,
    place text,
    process_started bigint,
    version text,  -- of bowerbird
    -- name given by the user; coordinator: the worker that leases for it (null: it has the database itself)
    label text,
    coordinator bigint
);
create index workers_living on workers (worker) where ended_at is null;

-- The frontier. ready = 1: waits for its turn, ordered by priority and due.
-- ready = 0 with a due time: sleeps until then, or is leased until then (token is set). One sweep serves both.
-- ready = 0 without a due time: sleeps until an edge wakes it, or has failed.
create table tasks (
    task integer primary key,
    lane bigint not null,
    target text not null,
    ready smallint not null,
    paged smallint not null default 0,  -- its next request has a cursor; some services limit these separately
    priority real not null,
    due bigint,
    token bigint,
    worker bigint,
    state text not null,  -- waiting, leased, asleep, failed
    woken smallint not null default 0,  -- an edge woke it while it was leased
    cursor text,
    newest text,
    head text,
    depth bigint not null default 0,
    attempts bigint not null default 0,
    pages bigint not null default 0,  -- requests of the current listing
    visits bigint not null default 0,
    added_at bigint not null,
    added_by bigint,
    visited_at bigint,
    failure text,
    memory blob,
    -- number of leases so far: the fencing token. One counter per task, so that workers do not wait for a shared row
    fence bigint not null default 0
);
create unique index tasks_target on tasks (lane, target);
create index tasks_ready on tasks (lane, paged, priority desc, due, task) where ready = 1;
create index tasks_due on tasks (due) where ready = 0 and due is not null;
create index tasks_held on tasks (worker) where worker is not null;
create index tasks_failed on tasks (lane) where state = 'failed';
create index tasks_of_seeds on tasks (lane, added_by) where depth = 0;
create index tasks_retired on tasks (lane, target) where state in ('retired', 'retiring');
create index tasks_seeds on tasks (lane, task) where depth = 0 and added_by is null;

-- The request log. A row is and before this time the request is sent (flying) and ends settled or lost.
create table calls (
    call integer primary key,
    crawl bigint not null,
    lane bigint not null,
    facet text not null,
    credential text,
    worker bigint not null,
    state text not null,  -- flying, settled, lost
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
create index calls_good on calls (lane) where outcome = 'ok';
create index calls_in_vain on calls (call)
    where objects = 1 and outcome in ('not_found', 'suspended', 'deactivated', 'protected', 'blocked');

create table ledgers (
    bucket text primary key,
    allowance bigint not null,
    window_micros bigint not null,
    kind text not null,
    remaining bigint not null,
    in_flight bigint not null,
    finished bigint not null,
    reset_at bigint,  -- by the server's clock
    offset_low bigint,  -- bounds of server time minus ours
    offset_high bigint,
    probing smallint not null default 0,
    resumed_at bigint,
    backoff_until bigint,
    backoff_step bigint not null default 0,
    next_at bigint,  -- spacing: no request before this time, by our clock
    spent bigint not null default 0,  -- since the bucket was created
    refused bigint not null default 0,
    version bigint not null default 0,
    updated_at bigint not null,
    backoff_since bigint  -- start of the backoff; only a success sent later ends it
);

create table credentials (
    service bigint not null,
    credential text not null,
    state text not null,  -- good, refused
    reason text,
    since bigint not null,
    primary key (service, credential)
);

create table dictionaries (
    dictionary integer primary key,
    body blob not null,
    trained_at bigint not null,
    kind text not null  -- network/subject
);

create table users (
    user_no integer primary key,
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
    newest_post_at bigint,
    is_protected smallint,
    is_bot smallint,
    is_verified smallint,
    opts_out smallint,
    labels text,
    found_at bigint not null,  -- first seen, perhaps only as an id
    found_by bigint,
    seen_at bigint,  -- profile last seen
    seen_by bigint,
    changed_at bigint,
    raw blob,
    raw_dictionary bigint,
    -- source of the values where several services show the account: a service, or -1 for its home server
    told_by bigint,
    gender text,  -- m or f, on Weibo
    time_zone text,  -- as set by the account (Twitter v1.1)
    checked_posts bigint  -- posts as of the last look-up of the profile itself; shows who has new posts
);
create index users_opted_out on users (user_no) where opts_out = 1;
create index users_handle on users (lower(handle)) where lower(handle) is not null;

-- The key of a user at one service, where it is not the key in users.id.
create table user_keys (
    service bigint not null,
    key text not null,
    user_no bigint not null,
    primary key (service, key)
);
create index user_keys_user on user_keys (user_no);

create table user_history (
    user_no bigint not null,
    at bigint not null,
    call bigint not null,
    before text not null,  -- the old values of the fields that changed
    after text not null
);
create index user_history_user on user_history (user_no, at);

create table posts (
    post_no integer primary key,
    short_id text not null,
    id text generated always as (case substr(short_id, 1, 1) when '+' then 'at://did:plc:' || substr(short_id, 2, 24) || '/app.bsky.feed.post/' || substr(short_id, 26) when '-' then 'at://did:plc:' || substr(short_id, 2, 24) || '/app.bsky.feed.repost/' || substr(short_id, 26) when '=' then substr(short_id, 2) else short_id end) virtual,
    short_network text not null,
    author bigint not null,  -- user_no
    kind text not null,
    created_at bigint,  -- as claimed by the author's software
    listed_at bigint,  -- when the service received it
    is_time_doubtful smallint,  -- created_at cannot be true
    text text,
    language text,
    short_reply_to text,
    reply_to text generated always as (case substr(short_reply_to, 1, 1) when '+' then 'at://did:plc:' || substr(short_reply_to, 2, 24) || '/app.bsky.feed.post/' || substr(short_reply_to, 26) when '-' then 'at://did:plc:' || substr(short_reply_to, 2, 24) || '/app.bsky.feed.repost/' || substr(short_reply_to, 26) when '=' then substr(short_reply_to, 2) else short_reply_to end) virtual,
    short_repost_of text,
    repost_of text generated always as (case substr(short_repost_of, 1, 1) when '+' then 'at://did:plc:' || substr(short_repost_of, 2, 24) || '/app.bsky.feed.post/' || substr(short_repost_of, 26) when '-' then 'at://did:plc:' || substr(short_repost_of, 2, 24) || '/app.bsky.feed.repost/' || substr(short_repost_of, 26) when '=' then substr(short_repost_of, 2) else short_repost_of end) virtual,
    short_quote_of text,
    quote_of text generated always as (case substr(short_quote_of, 1, 1) when '+' then 'at://did:plc:' || substr(short_quote_of, 2, 24) || '/app.bsky.feed.post/' || substr(short_quote_of, 26) when '-' then 'at://did:plc:' || substr(short_quote_of, 2, 24) || '/app.bsky.feed.repost/' || substr(short_quote_of, 26) when '=' then substr(short_quote_of, 2) else short_quote_of end) virtual,
    short_root text,  -- the post that opened the conversation
    -- the post that opened the conversation
    root text generated always as (case substr(short_root, 1, 1) when '+' then 'at://did:plc:' || substr(short_root, 2, 24) || '/app.bsky.feed.post/' || substr(short_root, 26) when '-' then 'at://did:plc:' || substr(short_root, 2, 24) || '/app.bsky.feed.repost/' || substr(short_root, 26) when '=' then substr(short_root, 2) else short_root end) virtual,
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
    short_seen_at bigint not null,
    short_seen_by bigint not null,
    deleted_at bigint,
    raw blob,
    raw_dictionary bigint,
    told_by bigint,
    quotes bigint,
    short_via text,  -- the repost that this one reposts
    -- the repost that this one reposts
    via text generated always as (case substr(short_via, 1, 1) when '+' then 'at://did:plc:' || substr(short_via, 2, 24) || '/app.bsky.feed.post/' || substr(short_via, 26) when '-' then 'at://did:plc:' || substr(short_via, 2, 24) || '/app.bsky.feed.repost/' || substr(short_via, 26) when '=' then substr(short_via, 2) else short_via end) virtual,
    edit_of text,  -- the post that this one replaces, where an edit is a new post
    is_cut smallint,  -- the service sent only the beginning of the text
    poll text,
    emoji text,
    frame bigint,
    frame_place bigint,  -- which of the frame's payloads, from 0
    network text generated always as (case short_network when '' then case substr(short_id, 1, 1) when '+' then 'bluesky' when '-' then 'bluesky' end else short_network end) virtual,
    seen_at bigint generated always as (case short_seen_at when 0 then found_at else short_seen_at end) virtual,
    seen_by bigint generated always as (case short_seen_by when 0 then found_by else short_seen_by end) virtual
);
create index posts_reply_waiting on posts (reply_to) where substr(reply_to, 1, 9) = 'mastodon:';
create index posts_quote_waiting on posts (quote_of) where substr(quote_of, 1, 9) = 'mastodon:';
create index posts_id on posts (substr(id, -13));
create index posts_author on posts (post_no >> 20, author);
create index posts_repost on posts (post_no >> 20, substr(repost_of, -10)) where repost_of is not null;
create index posts_quote on posts (post_no >> 20, substr(quote_of, -10)) where quote_of is not null;
create index posts_reply on posts (post_no >> 20, substr(reply_to, -10)) where reply_to is not null;

create table post_keys (
    service bigint not null,
    key text not null,
    post_no bigint not null,
    primary key (service, key)
);
create index post_keys_post on post_keys (post_no);

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
    written text,  -- as the author wrote it, if it differs from the tag
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
    media_no integer primary key,
    id text not null,  -- many posts may show the same picture
    post_no bigint not null,
    place bigint not null,  -- position in the post, from 0; a picture may occur twice
    kind text not null,
    short_url text not null,
    description text,
    url text generated always as (case substr(short_url, 1, 1) when '+' then 'https://cdn.bsky.app/img/feed_fullsize/plain/did:plc:' || substr(short_url, 2) || '/' || id || '@jpeg' when '-' then 'https://video.bsky.app/watch/did:plc:' || substr(short_url, 2) || '/' || id || '/playlist.m3u8' when '~' then 'https://video.bsky.app/watch/did%3Aplc%3A' || substr(short_url, 2) || '/' || id || '/playlist.m3u8' when '=' then substr(short_url, 2) else short_url end) virtual
);
create unique index media_post on media (post_no, place);
create index media_id on media (substr(id, -13));

-- Tags that users chose for themselves (Weibo). gone_at: a later request no longer showed the tag.
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

-- Trending topics of a service, one set of rows per request.
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

-- One edge. seen_out and seen_in are the last complete sweeps of the two listings that can show it.
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
    record text,  -- Bluesky reports an unfollow by the name of the record only
    primary key (kind, source, target)
);
create index relations_target on relations (kind, target, source);
create index relations_record on relations (record, source) where record is not null;

-- Listings of a user's relations: a removal is known only when a sweep is complete.
create table listings (
    user_no bigint not null,
    kind text not null,
    side text not null,
    sweep bigint not null,
    began_at bigint not null,
    ended_at bigint,
    before_began_at bigint,  -- start of the last completed sweep
    listed bigint not null default 0,
    primary key (user_no, kind, side)
);

create table relation_history (
    change_no integer primary key,
    kind text not null,
    source bigint not null,
    target bigint not null,
    change text not null,  -- added, removed
    after_at bigint,  -- the change happened after this time (null: unknown)
    before_at bigint not null,  -- and before this time
    call bigint not null
);
create index relation_history_removed on relation_history (source, target, before_at) where change = 'removed';
create index relation_history_source on relation_history (change_no >> 20, source);
create index relation_history_target on relation_history (change_no >> 20, target);

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
    until bigint  -- when the account was seen again
);
create index unavailable_user on unavailable (user_no, since);
create index unavailable_now on unavailable (user_no) where until is null;

create table quarantine (
    item integer primary key,
    source bigint not null,
    call bigint not null,
    facet text not null,
    subject text not null,
    why text not null,
    at bigint not null,
    bytes bigint not null,  -- of the whole payload, which may be stored in part
    raw blob not null
);
create index quarantine_source on quarantine (source, at);
create index quarantine_at on quarantine (at);

create table errors (
    error integer primary key,
    at bigint not null,
    crawl bigint,
    part text not null,
    outcome text,
    call bigint,
    message text not null
);
create index errors_at on errors (at);

-- One stream subscription of a crawl. The claim `stream N` is held by the worker that listens.
create table streams (
    stream integer primary key,
    crawl bigint not null references crawls,
    service bigint not null references services,
    name text not null,
    channel text not null,
    options text not null,
    state text not null,  -- idle, connecting, live, waiting, refused
    reason text,
    cursor text,  -- stored in the transaction that saves the events before it
    head text,  -- newest post key received
    event_at bigint,  -- the network's time of the newest event
    heard_at bigint,  -- our time of the last message saved
    connected_at bigint,
    connections bigint not null default 0,
    events bigint not null default 0,
    tuned text,  -- current subscription, if it differs from options
    -- results in the busiest second so far: the reserve of the next connection where results cost money
    busiest bigint not null default 0,
    unique (crawl, service, name)
);

-- Time that a stream did not cover. A gap with a target is filled by the next complete listing of that task.
create table gaps (
    gap integer primary key,
    stream bigint not null references streams,
    cause text not null,  -- start, cut, silence, outage, outdated, undelivered
    detail text,
    after_at bigint,  -- the network's time: the gap begins after this event
    before_at bigint,  -- and ends before this one
    after_key text,
    before_key text,
    began_at bigint not null,  -- our time of the last message saved
    ended_at bigint,  -- our time of the next connection
    missing bigint,  -- messages, if the service reports it
    lane bigint,
    target text,
    asked_at bigint,  -- when the task was woken; a listing that ends later fills the gap
    call bigint
);
create index gaps_stream on gaps (stream, began_at);

-- Lists of accounts.
create table lists (
    list_no integer primary key,
    id text not null unique,
    network text not null,
    owner bigint,  -- user_no, if the service reports it
    kind text,  -- curated, moderation, reference, if the network reports it
    name text,
    description text,
    members bigint,  -- as counted by the service
    followers bigint,
    created_at bigint,
    found_at bigint not null,
    found_by bigint not null,
    seen_at bigint not null
);
create index lists_owner on lists (owner);

create table list_members (
    list_no bigint not null,
    user_no bigint not null,
    found_at bigint not null,
    found_by bigint not null,
    seen_at bigint not null,
    primary key (list_no, user_no)
);
create index list_members_user on list_members (user_no);

-- The network's own versions of an edited post, the first included; post_history has the changes that we saw.
create table post_versions (
    post_no bigint not null,
    at bigint not null,  -- the network's time of this version
    text text,
    warning text,
    is_sensitive smallint,
    call bigint not null,
    links text,
    primary key (post_no, at)
);

-- Posts that match a query in an interval, as counted by the service; a later count replaces an earlier one.
create table volumes (
    service bigint not null,
    query text not null,
    begins_at bigint not null,
    ends_at bigint not null,
    posts bigint not null,
    at bigint not null,
    call bigint not null,
    primary key (service, query, begins_at)
);

-- Reposts and likes, from services that list accounts.
create table reactions (
    post_no bigint not null,
    user_no bigint not null,
    kind text not null,  -- repost, like
    at bigint,  -- the network's time, if its list has it
    sweep bigint,  -- the last listing that showed it
    place bigint,  -- position in that listing; 0 is the newest
    found_at bigint not null,
    found_by bigint not null,
    seen_at bigint not null,
    gone_at bigint,  -- a later complete listing did not show it
    primary key (post_no, kind, user_no)
);
create index reactions_user on reactions (user_no, kind);

-- Listings of the reactions to a post: a removal is known only when a listing is complete.
create table reaction_listings (
    post_no bigint not null,
    kind text not null,
    sweep bigint not null,  -- the request that began it
    began_at bigint not null,
    ended_at bigint,
    listed bigint not null default 0,
    primary key (post_no, kind)
);

-- Listings that ended early, and what is missing because of it.
create table shortfalls (
    shortfall integer primary key,
    lane bigint not null,
    target text not null,
    cause text not null,  -- budget, reach, unknown
    detail text not null,
    after_at bigint,  -- missing items were written after this
    before_at bigint,  -- and before this, if known
    missing bigint,  -- missing in total, if the account has a counter
    at bigint not null,
    call bigint not null
);
create index shortfalls_target on shortfalls (lane, target);

-- A service failed several requests in a row: no response, an invalid one, or a server error.
create table outages (
    outage integer primary key,
    service text not null,
    began_at bigint not null,
    ended_at bigint,  -- first valid response afterwards
    calls bigint not null,
    reason text not null
);
create index outages_service on outages (service, began_at);

-- A post listed by one source (a search, a hashtag, a stream). Posts embedded in others are not included.
create table sightings (
    sighting integer primary key,
    post_no bigint not null,
    lane bigint not null,
    at bigint not null,
    call bigint not null,
    unique (post_no, lane)
);

-- Queues rebuilt from sightings. A queue is rebuilt again when the edges that lead to it change.
create table rebuilds (
    lane bigint primary key,
    edges text not null,  -- a hash of them
    sighting bigint not null,  -- processed up to this one
    done_at bigint  -- null: interrupted
);

-- One picture or video, whatever the number of posts that show it.
create table media_files (
    file integer primary key,
    id text not null unique,  -- as in `media`
    kind text not null,
    url text not null,
    state text not null,  -- waiting, kept, given_up, doubted (a post with it was deleted), removed
    sha256 text,
    bytes bigint,
    type text,  -- content type as sent by the server
    path text,  -- below the folder of the crawl's [media]
    attempts bigint not null default 0,
    error text,
    due bigint not null,  -- next attempt; during a download: when another worker may take over
    found_at bigint not null,
    kept_at bigint
);
create index media_files_due on media_files (kind, due) where state = 'waiting';
create index media_files_doubted on media_files (file) where state = 'doubted';

-- Items billed today, on services that bill an item once per UTC day.
create table bills (
    payer text not null,  -- the bucket's owner, such as x/app:mine
    day bigint not null,  -- days since the epoch, UTC; earlier days are deleted
    item text not null,  -- such as user:12
    primary key (payer, day, item)
);

-- Number of items per source that could not be parsed or stored; quarantine keeps a sample of each.
create table quarantine_sources (
    source integer primary key,
    service bigint not null,  -- 0: unknown
    facet text not null,
    why text not null,  -- without values from the item, because it outlives the items
    items bigint not null,
    bytes bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    unique (service, facet, why)
);

-- Hashes of the words and ids in an item: purging a user purges the items that name the user.
create table quarantine_names (
    name bigint not null,
    item bigint not null,
    primary key (name, item)
);
create index quarantine_names_item on quarantine_names (item);

-- State of the current listing of a task, for detecting pagination loops and empty pages.
create table paging (
    task bigint primary key,
    position text not null,
    remaining integer not null,
    span integer not null,
    empty integer not null,
    barren integer not null
);

create table consents (
    crawl bigint primary key,
    in_all bigint,  -- limit in thousandths of a dollar; null: only the monthly limit applies
    a_month bigint not null,  -- limit per calendar month (UTC), all services together
    agreed_at bigint not null
);

create table post_cashtags (
    cashtag text not null,  -- in capitals, without the sign
    post_no bigint not null,
    primary key (cashtag, post_no)
);
create index post_cashtags_post on post_cashtags (post_no);

-- The plan of a crawl, which all its processes follow: every version of its crawl file, and when it came into force.
create table plans (
    crawl bigint not null references crawls,
    version bigint not null,
    document text not null,
    since bigint not null,
    -- the plan for processes without the crawl file: no seeds, no secrets, no database address
    whole text,
    primary key (crawl, version)
);

-- Payloads of posts that arrived together, compressed together.
create table frames (
    frame integer primary key,
    body blob not null  -- zstd: msgpack list of payloads; an entry is empty if it was removed
);

-- Exclusive claims of one worker until a time: on a stream, a media file, a backup or a module, by name.
-- The row exists while the claim is held. Each claim has a new token, so that late writers are refused.
create table claims (
    name text primary key,
    worker bigint not null,
    token bigint not null,
    until bigint not null  -- another worker may take it then, or as soon as this worker is dead
);

-- When the next scheduled backup of a crawl is due. The claim `backup NAME` is held by the worker that makes it.
create table backups (
    crawl bigint primary key references crawls,
    due bigint not null
);

-- Number of accounts admitted to a crawl of limited size.
create table admissions (
    crawl bigint primary key references crawls,
    accounts bigint not null
);

-- One row: media was processed up to this number.
create table media_intake (
    media_no bigint not null
);
insert into media_intake (media_no) values (0);

-- One row. 1: content was deleted since the file was last rewritten, and its bytes may remain in free pages.
create table residue (
    is_left smallint not null
);
insert into residue (is_left) values (0);

-- Changes to a running crawl, with who and why: retired targets, updated stream subscriptions.
create table changes (
    change integer primary key,
    at bigint not null,
    worker bigint,  -- null: a command
    who text not null,  -- a module, the flow, the user
    why text not null,
    kind text not null,  -- retired, taken_up, retuned, kept (update refused by the service)
    lane bigint,  -- of a task
    target text,
    stream bigint,  -- or of a stream; before and after are its options
    before text,
    after text,
    effective_at bigint,  -- when the stream took effect; null: not yet
    manner text  -- on the same connection or a new one
);
create index changes_target on changes (lane, target) where target is not null;
create index changes_stream on changes (stream, at) where stream is not null;

-- Labels of accounts and posts, by a classifier or a person.
create table judgements (
    judge text not null,  -- the classifier: place, language, …
    subject text not null,  -- user, post
    id text not null,
    value text not null,  -- the label: an area of the crawl file, a language, member
    reason text not null,  -- the strongest reason so far
    strength bigint not null,
    confidence real not null,
    evidence text not null,  -- JSON
    version text not null,  -- of the classifier
    at bigint not null,
    call bigint not null,
    decided_by text,  -- a person; null: the classifier
    primary key (judge, subject, id, value)
);
create index judgements_item on judgements (id);
create index judgements_people on judgements (judge, value, at, id) where subject = 'user';
create index judgements_doubt on judgements (judge, value, confidence, id) where subject = 'user';
create index judgements_by_persons on judgements (judge, at, id) where decided_by is not null;

-- Former handles of accounts.
create table former_handles (
    name text collate binary not null,  -- lower case
    user_no bigint not null,
    until bigint not null,  -- when the account was first seen with another handle
    handle text not null  -- as written
);
create index former_handles_name on former_handles (name);
create index former_handles_user on former_handles (user_no);

-- Number of posts by day of writing and by the crawl that stored them first, updated with every page.
-- Concurrent transactions add to different slots.
create table post_days (
    day bigint not null,  -- since 1970; -2147483648: unknown
    crawl bigint not null,  -- 0: its request is not in the log
    slot bigint not null,
    stored bigint not null,
    deleted bigint not null,
    primary key (day, crawl, slot)
);

create table post_counts (
    user_no integer primary key,
    stored bigint not null,
    deleted bigint not null,
    reposts bigint not null,  -- not deleted
    first_found bigint not null,  -- not later than the first found_at
    last_written bigint not null,  -- not earlier than the last post
    last_seen bigint not null  -- not earlier than the last seen_at
);

-- Keys of the hashes in tombstones, which keep forgotten people and posts out of the store.
create table tombstone_keys (
    key_no integer primary key,
    secret text not null unique  -- hex, 32 bytes; the first is this store's own
);

create table tombstones (
    tombstone integer primary key,
    mark text not null unique  -- hex: HMAC-SHA256 of an id, handle or URL, cut to 16 bytes
);

-- One row. version grows with every request to forget; sweeping is the version of the current sweep, with its
-- position in step and place; swept is the last version whose sweep is complete.
create table tombstone_state (
    version bigint not null,
    sweeping bigint not null,
    step bigint not null,
    place bigint not null,
    swept bigint not null,
    -- position in a table without row numbers: the key of the last row, as JSON
    after_key text
);
insert into tombstone_state (version, sweeping, step, place, swept, after_key) values (0, 0, 0, 0, 0, null);

-- Requests to forget: who, when, why, and how much was removed.
create table forget_requests (
    request integer primary key,
    version bigint not null,  -- tombstone_state.version when it was made
    at bigint not null,
    who text not null,
    why text not null,
    names bigint not null,  -- ids, handles and URLs kept out
    users bigint not null,
    posts bigint not null,
    relations bigint not null,
    media bigint not null,  -- pictures and videos
    mentions bigint not null,  -- texts of other people from which a name was removed
    done_at bigint  -- end of the sweep; null: not complete
);

-- Runs of `bowerbird remap`: stored payloads parsed again with the current parsers.
create table remaps (
    remap integer primary key,
    version text not null,  -- of bowerbird
    begun_at bigint not null,
    ended_at bigint,  -- null: unfinished; the same command continues
    users_to bigint not null,  -- last rows start of the frame; later rows need no second parse
    posts_to bigint not null,
    users_at bigint not null,  -- done up to these rows
    posts_at bigint not null,
    items bigint not null,  -- payloads parsed
    changed bigint not null,  -- accounts and posts changed
    unread bigint not null,  -- payloads without usable content
    fields text not null  -- JSON: changes per field
);

-- Results of one-line commands (timeline, search, …) in order, so that interrupted output can continue.
create table results (
    result integer primary key,
    crawl bigint not null,
    service bigint not null,
    target text not null,  -- the target of the task
    item text not null,  -- identifies a result of the target
    post_no bigint,
    user_no bigint,
    owner bigint,  -- owner of the list
    told text  -- JSON: values from the listing itself (rank, volume, time of the repost)
);
create unique index results_once on results (crawl, service, target, item);

-- Resolved names: results about the key belong to the target.
create table meanings (
    crawl bigint not null,
    service bigint not null,
    key text not null,
    target text not null,
    primary key (crawl, service, key, target)
);

-- Lines of an input file, with the columns that are copied to the output.
create table inputs (
    crawl bigint not null,
    number bigint not null,
    written text not null,
    columns text,  -- JSON
    service bigint,
    target text,  -- first target of the line
    primary key (crawl, number)
);
create index inputs_written on inputs (crawl, written);
create index inputs_target on inputs (crawl, service, target);

-- Progress of each output file.
create table outputs (
    crawl bigint not null,
    path text not null,
    result bigint not null,  -- the file contains all results up to this one
    size bigint not null,  -- of the file in bytes
    base bigint not null,  -- size of the file before the first row
    rows bigint not null,
    primary key (crawl, path)
);

-- Keyword methods of an event crawl. state is everything a method keeps between two frames.
create table keyword_methods (
    method integer primary key,
    crawl bigint not null references crawls,
    name text not null,
    bit bigint not null,  -- its bit in keyword_posts.methods
    state text not null,  -- JSON
    since bigint not null,
    until bigint,  -- null: in the crawl file
    unique (crawl, name)
);

-- Progress of a crawl through its frames. version changes with every change of a keyword set.
create table keyword_progress (
    crawl bigint primary key references crawls,
    version bigint not null,
    decided bigint not null,  -- start of the last frame that was decided or missed
    share real not null,  -- sampled share of full streams and public timelines
    watched_at bigint not null  -- when the crawl last ran; frames that ended long after were missed
);

-- Keywords that entered and left, with the numbers behind each decision.
create table keywords (
    keyword integer primary key,
    crawl bigint not null references crawls,
    method bigint not null references keyword_methods,
    term text not null,  -- in normal form
    since bigint not null,
    why text not null,
    numbers text not null,  -- JSON
    until bigint,  -- null: followed
    until_why text,
    until_numbers text
);
create unique index keywords_followed on keywords (method, term) where until is null;
create index keywords_term on keywords (crawl, term);

-- One frame (an interval of time).
create table keyword_frames (
    crawl bigint not null references crawls,
    frame bigint not null,  -- start of the frame
    ends bigint not null,
    heard bigint not null,  -- posts of full streams and public timelines, all of them
    visits bigint not null,  -- pages of public timelines
    rate real not null,  -- sum of posts per second over these pages
    collected bigint,  -- posts collected by any method
    sampled bigint,  -- posts of the background sample
    volume bigint,  -- posts on the whole network, counted or estimated; null: unknown
    cap bigint,  -- maximum that the network sends per frame
    lost bigint,  -- posts lost to that cap
    decided_at bigint,  -- null: not decided, or missed
    primary key (crawl, frame)
);

-- Result of one method in one frame.
create table keyword_decisions (
    method bigint not null references keyword_methods,
    frame bigint not null,
    posts text not null,  -- JSON: posts per slot
    background text,  -- JSON: sampled posts per slot
    keywords bigint not null,  -- followed after this frame
    precision text,  -- JSON: claimed precision of the collection, with low and high
    numbers text not null,  -- JSON: other figures
    primary key (method, frame)
);

-- Terms considered by a method in each of the last 2,016 frames, keywords included.
create table keyword_candidates (
    method bigint not null references keyword_methods,
    frame bigint not null,
    term text not null,
    counts text not null,  -- JSON: posts per slot
    verdict text not null,
    numbers text not null,  -- JSON
    together text not null,  -- JSON: posts that also contain each keyword
    primary key (method, frame, term)
);
create index keyword_candidates_term on keyword_candidates (term);

-- Which methods collected a post, one bit per method.
create table keyword_posts (
    crawl bigint not null references crawls,
    post_no bigint not null,
    at bigint not null,  -- the network's time of the post
    frame bigint,  -- null: caught up later, not counted
    methods bigint not null,
    primary key (crawl, post_no)
);
create index keyword_posts_frame on keyword_posts (crawl, frame) where frame is not null;
create index keyword_posts_at on keyword_posts (crawl, at);
create index keyword_posts_post on keyword_posts (post_no);

-- The background: a random sample of the posts of at most one day, as terms, without post id, author and mentions.
create table keyword_samples (
    sample integer primary key,
    crawl bigint not null references crawls,
    at bigint not null,
    draw real not null,  -- random, 0 to 1; kept while below the sampled share
    terms text not null
);
create index keyword_samples_at on keyword_samples (crawl, at);

-- Searches that test a candidate. Results are kept until the next decision.
create table keyword_probes (
    probe integer primary key,
    crawl bigint not null references crawls,
    term text not null,
    lane bigint not null,
    target text not null,
    asked_at bigint not null,
    answered_at bigint,
    used_at bigint,  -- when a decision used it
    posts bigint,  -- number found
    found text  -- JSON, until a decision used it
);
create index keyword_probes_open on keyword_probes (lane, target) where used_at is null;

-- Instructions of users: pin, block or free a term.
create table keyword_orders (
    keyword_order integer primary key,
    crawl bigint not null references crawls,
    at bigint not null,
    who text not null,
    term text not null,
    said text not null
);

-- Grades given by people: related, possibly, unrelated, unknown.
create table keyword_labels (
    crawl bigint not null references crawls,
    term text not null,
    tagger text not null,
    label text not null,
    at bigint not null,
    primary key (crawl, term, tagger)
);

-- Tokens of workers that connect to a coordinator. Only the hash is stored.
create table worker_tokens (
    name text primary key,
    hash text not null,  -- SHA-256, in hexadecimal
    created_at bigint not null,
    seen_at bigint,  -- last use, to the minute
    revoked_at bigint
);

-- Wanted state of a part of a crawl; crawls.wanted is that of the whole crawl.
create table controls (
    crawl bigint not null references crawls,
    kind text not null,  -- facet, worker
    name text not null,  -- facet, or label of the worker
    wanted text not null,  -- paused; stopped (workers only)
    since bigint not null,
    primary key (crawl, kind, name)
);

create table judgement_history (
    entry integer primary key,
    judge text not null,
    id text not null,  -- of an account
    value text not null,
    reason text not null,
    confidence real not null,
    evidence text not null,
    version text not null,
    decided_by text,
    at bigint not null,
    until bigint not null,  -- end of the label
    strength bigint not null default 0,
    call bigint not null default 0
);
create index judgement_history_item on judgement_history (id);

-- What a community classifier learned: prior, weights of neighbours and of words.
create table community_models (
    judge text primary key,
    learned text not null,  -- JSON
    examples bigint not null,
    persons bigint not null,  -- of these, decided by a person
    at bigint not null
);

-- Periodic jobs of a crawl: next run, and state between two runs. The claim `module NAME of crawl N` is held by
-- the worker that runs it.
create table modules (
    crawl bigint not null references crawls,
    name text not null,
    due bigint not null,
    failures bigint not null default 0,  -- consecutive
    memory text not null default '{}',  -- JSON
    primary key (crawl, name)
);

-- Runs of jobs. ended_at null: it is running, or its worker died; the next run ends it.
create table module_runs (
    run integer primary key,
    crawl bigint not null references crawls,
    module text not null,
    worker bigint not null,
    is_by_hand smallint not null,
    started_at bigint not null,
    ended_at bigint,
    counts text not null default '{}',  -- JSON: results so far
    error text  -- null: it did not fail
);
create index module_runs_module on module_runs (crawl, module, run);

-- Growth log: rows and bytes of each table over time. `database` is the whole database.
create table growth (
    at bigint not null,
    name text not null,  -- of the table
    rows bigint not null,
    is_exact smallint not null,  -- 1: counted, 0: estimated
    bytes bigint,
    primary key (name, at)
);

-- Candidates of a community: who found them, mentions by members, and the labels of their neighbours.
create table candidates (
    crawl bigint not null references crawls,
    user_no bigint not null,
    source text not null,  -- first source: member, mentions, neighbours, person
    state text not null,  -- named, asked, valid, invalid
    reason text,  -- if invalid
    found_at bigint not null,
    asked_at bigint,  -- profile request
    posts_asked_at bigint,  -- timeline request
    mentions bigint not null default 0,  -- posts of members that mention the account
    replies bigint not null default 0,
    reposts bigint not null default 0,
    listed bigint not null default 0,  -- lists of members that contain it
    is_mined smallint not null default 0,  -- 1: a member whose stored posts were processed
    votes_at bigint,  -- when neighbours were counted
    followed_by_yes bigint,  -- followers labelled yes
    followed_by_no bigint,
    follows_yes bigint,
    follows_no bigint,
    mentioned_by_yes bigint,
    mentioned_by_no bigint,
    primary key (crawl, user_no)
);
create index candidates_state on candidates (crawl, state, user_no);
create index candidates_votes on candidates (crawl, votes_at);
create index candidates_mentions on candidates (crawl, mentions, user_no);

-- Unknown place names in profiles of members, for a person to confirm.
create table place_names (
    crawl bigint not null references crawls,
    name text not null,  -- normalised
    written text not null,  -- most frequent spelling
    members bigint not null,  -- members who use it
    others bigint not null,  -- non-members who use it
    said text not null,  -- proposed, confirmed, refused
    who text,
    at bigint not null,
    primary key (crawl, name)
);

-- Random samples of labelled accounts that people label again, to measure a classifier. said is the label of the
-- classifier when the sample was drawn.
create table label_samples (
    crawl bigint not null references crawls,
    judge text not null,
    said text not null,  -- yes, no, undecided
    place bigint not null,
    user_no bigint not null,
    drawn_at bigint not null,
    primary key (crawl, judge, said, place)
);
create unique index label_samples_account on label_samples (crawl, judge, user_no);

create table labels (
    crawl bigint not null references crawls,
    judge text not null,
    user_no bigint not null,
    who text not null,
    label text not null,  -- yes, no, unsure
    at bigint not null,
    primary key (crawl, judge, user_no, who)
);

-- Audits: recent posts of random members requested again, to measure which share is stored.
create table audits (
    audit integer primary key,
    crawl bigint not null references crawls,
    at bigint not null,
    ended_at bigint,  -- null: running, or interrupted
    newest bigint not null,  -- maximum number of posts requested per account
    result text  -- JSON
);

create table audit_accounts (
    audit bigint not null references audits,
    user_no bigint not null,
    since bigint not null,  -- posts count from the time when the crawl knew the account
    until bigint not null,  -- to the last request before the audit
    asked bigint not null default 0,  -- posts returned
    wrote bigint not null default 0,  -- posts within since and until
    had bigint not null default 0,  -- of these, stored
    state text not null,  -- asked, shown, absent
    primary key (audit, user_no)
);

-- Users of the dashboard.
create table dashboard_people (
    name text primary key,
    hash text not null,  -- argon2id hash of the password
    role text not null,  -- read, steer, admin
    created_at bigint not null,
    changed_at bigint not null,  -- when the password was last set
    seen_at bigint  -- last login
);

-- Sessions of the dashboard. Only the hash of a session id is stored.
create table dashboard_sessions (
    hash text primary key,
    person text,  -- null: logged in with the key shown in the terminal
    opened_at bigint not null,
    seen_at bigint not null  -- to the minute
);
create index dashboard_sessions_person on dashboard_sessions (person);

-- Failed logins, for the throttle.
create table dashboard_tries (
    key text primary key,  -- hash of a name, an IP address or both
    tries bigint not null,
    since bigint not null
);
create index dashboard_tries_since on dashboard_tries (since);

create table actions (
    action integer primary key,
    at bigint not null,
    who text not null,
    role text not null,
    what text not null,
    subject text not null,
    detail text not null,  -- if failed or refused
    outcome text not null  -- done, failed, refused
);
create index actions_subject on actions (subject, action);
create index actions_who on actions (who, action);

-- Saved searches of the dashboard.
create table saved_searches (
    search integer primary key,
    name text not null unique,
    what text not null,  -- posts, users, follows, media
    query text not null,  -- the query string of the page
    who text not null,
    at bigint not null
);

-- Statistics for the dashboard, counted in the background. They contain no text: tags and links are hashes with the
-- number of a post that has them. A part is a range of posts (or users); after a deletion it is counted again.
create table statistic_parts (
    part integer primary key,
    subject text not null,  -- posts, users
    first bigint not null,
    last bigint not null,
    through bigint not null,  -- counted up to this row
    state text not null,  -- counted, again (being recounted), former (to be removed)
    counted_at bigint not null,
    body text  -- JSON, of users
);

create table statistic_counts (
    part bigint not null,
    measure text not null,
    at bigint not null,  -- start of an hour, day or month; 0: all
    key bigint not null,
    other bigint not null,
    n bigint not null,
    example bigint not null,  -- number of a post with the value
    primary key (part, measure, at, key, other)
);

-- Posts deleted since they were counted.
create table statistic_recounts (
    recount integer primary key,
    number bigint not null  -- post_no
);

-- Prepared figures of the dashboard: JSON.
create table statistics (
    name text primary key,
    at bigint not null,
    body text not null
);

-- One row: which process counts, until when, and since when new figures are wanted.
create table statistic_work (
    one smallint primary key,
    token bigint not null,
    until bigint not null,
    wanted_at bigint not null
);
insert into statistic_work (one, token, until, wanted_at) values (1, 0, 0, 0);

-- Word studies: posts that mention given words over time, compared with a series of the user.
create table word_studies (
    study integer primary key,
    name text not null,  -- given by the user
    words text not null,  -- JSON: words and spellings
    unit text not null,  -- hour, day, month
    since bigint,  -- posts written from this time
    until bigint,  -- and before this time
    who text not null,
    made_at bigint not null,
    state text not null,  -- waiting, done, failed
    token bigint not null default 0,  -- of the process that searches
    held_until bigint not null default 0,
    through bigint not null default 0,  -- searched up to this post
    top bigint not null default 0,
    ended_at bigint,
    result text,  -- JSON: posts and authors per interval
    spellings text,  -- JSON: spellings used by several people, with counts
    series_name text,  -- name of the uploaded series
    series text,  -- JSON: times and numbers
    error text
);

-- Random sample of the posts of a word study, in display order.
create table word_study_posts (
    study bigint not null,
    place bigint not null,
    post_no bigint not null,
    primary key (study, place)
);
create index word_study_posts_post on word_study_posts (post_no);

create table word_study_labels (
    study bigint not null,
    post_no bigint not null,
    who text not null,
    label text not null,  -- yes, no, unsure
    at bigint not null,
    primary key (study, post_no, who)
);
create index word_study_labels_post on word_study_labels (post_no);

create table prepared (
    name text primary key,  -- report and its subject
    made_at bigint not null,
    took_micros bigint not null,
    document text not null  -- JSON
);

-- Media files copied to another folder or object store by this store, so that removals are repeated there.
create table media_copies (
    place text not null,  -- the folder or s3://BUCKET/FOLDER of the copy
    path text not null,  -- as in `media_files`
    primary key (place, path)
);

create table highest_numbers (
    users bigint not null,
    posts bigint not null
);
insert into highest_numbers (users, posts) values (0, 0);
