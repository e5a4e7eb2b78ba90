-- The highest numbers that accounts and posts ever had, noted when one of them is deleted: SQLite would give the number of the last
-- row again once that is gone, and what remembers numbers elsewhere (counts, marks up to which was looked) would mean a stranger.
-- `only sqlite`: PostgreSQL gives no number twice.

only sqlite: create table highest_numbers (
    users bigint not null,
    posts bigint not null
);
only sqlite: insert into highest_numbers (users, posts) select
    coalesce(max(case when subject = 'users' then through end), 0), coalesce(max(case when subject = 'posts' then through end), 0)
from statistic_parts;
