-- Audits: recent posts of random members were asked for again, to know which part of them is stored.

create table audits (
    audit {serial},
    crawl bigint not null references crawls,
    at bigint not null,
    ended_at bigint,                  -- empty: under way, or never ended
    newest bigint not null,           -- posts of each account that were asked for at most
    result text                       -- JSON
);

create table audit_accounts (
    audit bigint not null references audits,
    user_no bigint not null,
    since bigint not null,            -- posts from then on count: the crawl knew the account
    until bigint not null,            -- up to its last look at it
    asked bigint not null default 0,  -- its posts that were shown
    wrote bigint not null default 0,  -- those of them that count
    had bigint not null default 0,    -- and are stored
    state text not null,              -- asked, shown, absent
    primary key (audit, user_no)
);
