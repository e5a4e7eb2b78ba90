-- Modules: periodic jobs of a crawl, what each did, and what they keep.

-- When a module of a crawl runs next, and all that it remembers between two runs. The claim `module NAME of crawl N` says who runs it.
create table modules (
    crawl bigint not null references crawls,
    name text not null,
    due bigint not null,
    failures bigint not null default 0, -- in a row, up to now
    memory text not null default '{}', -- JSON
    primary key (crawl, name)
);

-- One run of a module. `ended_at` empty: it runs, or its worker died over it; the next run of it ends it.
create table module_runs (
    run {serial},
    crawl bigint not null references crawls,
    module text not null,
    worker bigint not null,
    is_by_hand smallint not null,
    started_at bigint not null,
    ended_at bigint,
    counts text not null default '{}', -- JSON, as far as it got
    error text                        -- why it failed; empty: it did not
);
create index module_runs_module on module_runs (crawl, module, run);

create view v_module_runs as
select r.run, w.name as crawl, r.module, r.is_by_hand, {time r.started_at} as started_at, {time r.ended_at} as ended_at, r.counts,
    r.error
from module_runs r join crawls w on w.crawl = r.crawl;

-- How many rows each table had, every so often.
create table growth (
    at bigint not null,
    name text not null,               -- of the table
    rows bigint not null,
    is_exact smallint not null,       -- counted; otherwise estimated
    primary key (name, at)
);

create view v_growth as
select g.name, {time g.at} as at, g.rows, g.is_exact from growth g;

-- Accounts that may belong: who found them, how often members name them, and how those around them are judged.
create table candidates (
    crawl bigint not null references crawls,
    user_no bigint not null,
    source text not null,             -- member, mentions, neighbours, person: who named it first
    state text not null,              -- named, asked, valid, invalid
    reason text,                      -- why it is invalid
    found_at bigint not null,
    asked_at bigint,                  -- when its profile was
    posts_asked_at bigint,            -- when its posts were
    mentions bigint not null default 0, -- posts of members that mention it
    replies bigint not null default 0,
    reposts bigint not null default 0,
    listed bigint not null default 0, -- lists of members that it is on
    is_mined smallint not null default 0, -- a member whose stored posts were looked through
    votes_at bigint,                  -- when those around it were counted
    followed_by_yes bigint,           -- judged yes, and follow it
    followed_by_no bigint,
    follows_yes bigint,
    follows_no bigint,
    mentioned_by_yes bigint,
    mentioned_by_no bigint,
    primary key (crawl, user_no)
);
create index candidates_state on candidates (crawl, state, user_no);
create index candidates_votes on candidates (crawl, votes_at);

create view v_candidates as
select w.name as crawl, u.id, u.handle, c.source, c.state, c.reason, {time c.found_at} as found_at, c.mentions, c.replies,
    c.reposts, c.listed, {time c.votes_at} as votes_at, c.followed_by_yes, c.followed_by_no, c.follows_yes, c.follows_no,
    c.mentioned_by_yes, c.mentioned_by_no
from candidates c join users u on u.user_no = c.user_no join crawls w on w.crawl = c.crawl
where coalesce(u.opts_out, 0) = 0;

-- Names of places that members write in their profiles and that nobody knew: a person says whether they are.
create table place_names (
    crawl bigint not null references crawls,
    name text not null,               -- as compared
    written text not null,            -- as most of them write it
    members bigint not null,          -- who write it
    others bigint not null,           -- judged not to belong, who write it too
    said text not null,               -- proposed, confirmed, refused
    who text,
    at bigint not null,
    primary key (crawl, name)
);
