-- Keywords of an event crawl: each method's set, what every frame counted and decided, and which posts each method collected.

-- One method of a crawl. Its state is all that it remembers between two frames.
create table keyword_methods (
    method {serial},
    crawl bigint not null references crawls,
    name text not null,
    bit bigint not null,              -- its place in keyword_posts.methods
    state text not null,              -- JSON
    since bigint not null,
    until bigint,                     -- the crawl file no longer names it
    unique (crawl, name)
);

-- How far a crawl has come with its frames. `version` changes whenever a set of keywords does.
create table keyword_progress (
    crawl bigint primary key references crawls,
    version bigint not null,
    decided bigint not null,          -- every frame up to the one that began then is decided, or was missed
    share {real} not null,            -- share of the posts of full streams and public timelines that is sampled
    watched_at bigint not null        -- when the crawl was last running: frames that ended long after were missed
);

-- Entries of keywords, and their exits: with the numbers that decided.
create table keywords (
    keyword {serial},
    crawl bigint not null references crawls,
    method bigint not null references keyword_methods,
    term text not null,               -- in normal form
    since bigint not null,
    why text not null,
    numbers text not null,            -- JSON
    until bigint,                     -- empty: it is followed
    until_why text,
    until_numbers text
);
create unique index keywords_followed on keywords (method, term) where until is null;
create index keywords_term on keywords (crawl, term);

-- One frame of the clock: what was read in it.
create table keyword_frames (
    crawl bigint not null references crawls,
    frame bigint not null,            -- when it began
    ends bigint not null,
    heard bigint not null,            -- posts of full streams and public timelines, with or without a keyword
    visits bigint not null,           -- pages of public timelines
    rate {real} not null,             -- posts per second on them, added up over these pages
    collected bigint,                 -- posts of all methods together
    sampled bigint,                   -- posts of the background sample
    volume bigint,                    -- posts on the whole network, counted or estimated; empty: unknown
    cap bigint,                       -- posts that the network sends at most in such a time
    lost bigint,                      -- posts that it did not send because of that
    decided_at bigint,                -- empty: not yet, or missed
    primary key (crawl, frame)
);

-- What one method made of it.
create table keyword_decisions (
    method bigint not null references keyword_methods,
    frame bigint not null,
    posts text not null,              -- JSON: its posts in each slot
    background text,                  -- JSON: posts of the sample in each slot
    keywords bigint not null,         -- how many it follows from then on
    precision text,                   -- JSON: claimed for the whole collection, with low and high; empty: not estimated
    numbers text not null,            -- JSON: other figures
    primary key (method, frame)
);

-- The terms that a method considered in each of the last 2,016 frames, its keywords among them.
create table keyword_candidates (
    method bigint not null references keyword_methods,
    frame bigint not null,
    term text not null,
    counts text not null,             -- JSON: posts in each slot
    verdict text not null,
    numbers text not null,            -- JSON
    together text not null,           -- JSON: posts that carried each keyword too
    primary key (method, frame, term)
);
create index keyword_candidates_term on keyword_candidates (term);

-- Which methods collected a post, one bit for each.
create table keyword_posts (
    crawl bigint not null references crawls,
    post_no bigint not null,
    at bigint not null,               -- the network's time of it
    frame bigint,                     -- the one that counts it; empty: caught up later
    methods bigint not null,
    primary key (crawl, post_no)
);
create index keyword_posts_frame on keyword_posts (crawl, frame) where frame is not null;
create index keyword_posts_at on keyword_posts (crawl, at);
create index keyword_posts_post on keyword_posts (post_no);

-- The background: a random sample of posts of at most a day, as terms, without a name of the post, its author or mentions.
create table keyword_samples (
    sample {serial},
    crawl bigint not null references crawls,
    at bigint not null,
    draw {real} not null,             -- from 0 to 1: it stays as long as this is below the share that is sampled
    terms text not null
);
create index keyword_samples_at on keyword_samples (crawl, at);

-- Searches that test a candidate. What they found is kept until the next decision.
create table keyword_probes (
    probe {serial},
    crawl bigint not null references crawls,
    term text not null,
    lane bigint not null,
    target text not null,
    asked_at bigint not null,
    answered_at bigint,
    used_at bigint,                   -- a decision has seen it
    posts bigint,                     -- how many it found
    found text                        -- JSON, until a decision has seen it
);
create index keyword_probes_open on keyword_probes (lane, target) where used_at is null;

-- What users said about a term: pin, block, free.
create table keyword_orders (
    keyword_order {serial},
    crawl bigint not null references crawls,
    at bigint not null,
    who text not null,
    term text not null,
    said text not null
);

-- What people say a hashtag or word is about: related, possibly, unrelated, unknown.
create table keyword_labels (
    crawl bigint not null references crawls,
    term text not null,
    tagger text not null,
    label text not null,
    at bigint not null,
    primary key (crawl, term, tagger)
);
