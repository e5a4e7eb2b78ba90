-- What one-line commands (`timeline`, `search`, …) were asked for and found, in order: their output goes on where it was.

create table results (
    result {serial},
    crawl bigint not null,
    service bigint not null,
    target text not null,             -- what was asked about, as the task calls it
    item text not null,               -- what makes two results of a target the same
    post_no bigint,
    user_no bigint,
    owner bigint,                     -- the account whose list it stands on
    told text                         -- JSON: what the listing alone says of it (rank, volume, when it was passed on)
);
create unique index results_once on results (crawl, service, target, item);

-- The accounts and posts that names stand for: what is found about the key was asked for by the target.
create table meanings (
    crawl bigint not null,
    service bigint not null,
    key text not null,
    target text not null,
    primary key (crawl, service, key, target)
);

-- The lines of an input file, with the columns that are carried through into the output.
create table inputs (
    crawl bigint not null,
    number bigint not null,
    written text not null,
    columns text,                     -- JSON
    service bigint,
    target text,                      -- what is asked about first for it
    primary key (crawl, number)
);
create index inputs_written on inputs (crawl, written);
create index inputs_target on inputs (crawl, service, target);

-- How far each output file is written.
create table outputs (
    crawl bigint not null,
    path text not null,
    result bigint not null,           -- up to this one, everything is in the file
    size bigint not null,             -- of the file then, in bytes
    base bigint not null,             -- of the file before the first of these rows
    rows bigint not null,
    primary key (crawl, path)
);
