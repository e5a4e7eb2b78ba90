-- Posts are found by the last 13 characters of their ids instead of 19: a record key of Bluesky has 13, and what stands before it
-- is the same in all. Media are found by the ends of their ids as well, and handles only where there is one.
-- `only sqlite`: PostgreSQL has indexes of whole ids; before the first character its `substr` finds nothing, so that it takes all.

only sqlite: drop index posts_id;
only sqlite: index posts_id on posts (substr(id, -13));
only sqlite: drop index posts_repost;
only sqlite: index posts_repost on posts (substr(repost_of, -13)) where repost_of is not null;
only sqlite: drop index posts_quote;
only sqlite: index posts_quote on posts (substr(quote_of, -13)) where quote_of is not null;
drop index posts_reply;
only sqlite: index posts_reply on posts (substr(reply_to, -13)) where reply_to is not null;
only postgresql: create index posts_reply on posts (substr(reply_to, -13)) where reply_to is not null;
only sqlite: drop index media_id;
only sqlite: index media_id on media (substr(id, -13));
only sqlite: drop index users_handle;
only sqlite: index users_handle on users (lower(handle)) where lower(handle) is not null;

drop view reposts;
create view reposts as
select o.post_no, r.author as user_no, r.post_no as repost_no,
    coalesce(case when r.is_time_doubtful = 1 then r.listed_at else r.created_at end, x.at) as at,
    x.sweep, x.place, case when x.found_at < r.found_at then x.found_at else r.found_at end as found_at
from posts r join posts o on substr(o.id, -13) = substr(r.repost_of, -13) and o.id = r.repost_of
left join reactions x on x.post_no = o.post_no and x.kind = 'repost' and x.user_no = r.author
where r.repost_of is not null and r.deleted_at is null
union all
select x.post_no, x.user_no, null, x.at, x.sweep, x.place, x.found_at from reactions x
where x.kind = 'repost' and x.gone_at is null and not exists (
    select 1 from posts o join posts r on substr(r.repost_of, -13) = substr(o.id, -13)
    and r.repost_of = o.id and r.author = x.user_no and r.deleted_at is null
    where o.post_no = x.post_no);
