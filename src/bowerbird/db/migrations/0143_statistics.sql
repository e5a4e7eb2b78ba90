-- Statistics that pages show, counted in the background. No text of anybody stands here: people are numbers, tags and links are
-- hashes with the number of a post that has them, from which they are read as long as it is there.

-- Posts (or users) with neighbouring numbers, counted together. What is deleted later is noted in `statistic_recounts`, and the
-- part is counted again beside the old one, which stands until that is done.
create table statistic_parts (
    part {serial},
    subject text not null,            -- posts, users
    first bigint not null,
    last bigint not null,
    through bigint not null,          -- counted up to this number
    state text not null,              -- counted, again (not shown yet), former (to be removed)
    counted_at bigint not null,
    body text                         -- JSON, numbers alone; of users
);

create table statistic_counts (
    part bigint not null,
    measure text not null,
    at bigint not null,               -- microseconds: beginning of an hour, day or month; 0: all times
    key bigint not null,
    other bigint not null,
    n bigint not null,
    example bigint not null,          -- a post that has it
    primary key (part, measure, at, key, other)
);

-- Posts that lost their content since they were counted.
create table statistic_recounts (
    recount {serial},
    number bigint not null            -- of the post
);

-- What is shown, made from the counts: JSON, numbers alone.
create table statistics (
    name text primary key,
    at bigint not null,
    body text not null
);

-- Who counts, until when, and since when somebody waits for new numbers.
create table statistic_work (
    one smallint primary key,
    token bigint not null,
    until bigint not null,
    wanted_at bigint not null
);
insert into statistic_work (one, token, until, wanted_at) values (1, 0, 0, 0);
