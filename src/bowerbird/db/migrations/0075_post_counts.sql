-- Counts of posts, kept up to date with every page, so that `completeness` need not read the posts.

-- By the day they were written on, and by the crawl that brought them first. Pages that are saved at once add to different slots.
create table post_days (
    day bigint not null,              -- since 1970; -2147483648: nobody knows
    crawl bigint not null,            -- 0: its call is not in the query log
    slot bigint not null,
    stored bigint not null,
    deleted bigint not null,
    primary key (day, crawl, slot)
);

-- By account, of those with many posts; an account without a row has its posts counted when somebody asks.
only sqlite: create table post_counts (
    user_no integer primary key,
    stored bigint not null,
    deleted bigint not null,
    reposts bigint not null,
    first_found bigint not null,
    last_written bigint not null,
    last_seen bigint not null
);
only postgresql: create table post_counts (
    user_no bigint primary key,
    stored bigint not null,
    deleted bigint not null,
    reposts bigint not null,          -- not deleted
    first_found bigint not null,      -- none of them was found before
    last_written bigint not null,     -- nor written after,
    last_seen bigint not null         -- nor seen after
);

insert into post_days (day, crawl, slot, stored, deleted)
select case when p.created_at is null then -2147483648
        when p.is_time_doubtful = 1 then coalesce(p.listed_at, p.created_at) / 86400000000 else p.created_at / 86400000000 end,
    coalesce(c.crawl, 0), 0, count(*), sum(case when p.deleted_at is not null then 1 else 0 end)
from posts p left join calls c on c.call = p.found_by group by 1, 2;

insert into post_counts (user_no, stored, deleted, reposts, first_found, last_written, last_seen)
select author, count(*), sum(case when deleted_at is not null then 1 else 0 end),
    sum(case when deleted_at is null and kind = 'repost' then 1 else 0 end),
    min(found_at), max(case when created_at > listed_at then created_at else coalesce(listed_at, created_at, found_at) end), max(seen_at)
from posts group by author having count(*) >= 10;
