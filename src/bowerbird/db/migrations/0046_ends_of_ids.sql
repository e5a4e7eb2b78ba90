-- Posts are found by the ends of their ids, which grow with time: new ones stand at the end of the index, and not anywhere in it.
-- `only sqlite`: there one process writes, and looks whether a post is there before it inserts it. PostgreSQL keeps `unique`.

only sqlite: drop index posts_repost;
only sqlite: drop index posts_quote;
only sqlite: remake posts, id text not null unique, id text not null;
only sqlite: create index posts_id on posts (substr(id, length(id) - 18));
only sqlite: create index posts_repost on posts (substr(repost_of, length(repost_of) - 18)) where repost_of is not null;
only sqlite: create index posts_quote on posts (substr(quote_of, length(quote_of) - 18)) where quote_of is not null;

drop view reposts;
create view reposts as
select o.post_no, r.author as user_no, r.post_no as repost_no,
    coalesce(case when r.is_time_doubtful = 1 then r.listed_at else r.created_at end, x.at) as at,
    x.sweep, x.place, case when x.found_at < r.found_at then x.found_at else r.found_at end as found_at
from posts r join posts o on substr(o.id, length(o.id) - 18) = substr(r.repost_of, length(r.repost_of) - 18) and o.id = r.repost_of
left join reactions x on x.post_no = o.post_no and x.kind = 'repost' and x.user_no = r.author
where r.repost_of is not null and r.deleted_at is null
union all
select x.post_no, x.user_no, null, x.at, x.sweep, x.place, x.found_at from reactions x
where x.kind = 'repost' and x.gone_at is null and not exists (
    select 1 from posts o join posts r on substr(r.repost_of, length(r.repost_of) - 18) = substr(o.id, length(o.id) - 18)
    and r.repost_of = o.id and r.author = x.user_no and r.deleted_at is null
    where o.post_no = x.post_no);

-- For reading: posts with the ids of their authors, and with addresses, which are not stored where they follow from the id.
create view v_posts as
select p.post_no, p.id, p.network, p.kind, u.id as author, u.handle as author_handle, p.created_at, p.listed_at, p.edited_at,
    p.deleted_at, p.text, p.language, p.reply_to, p.repost_of, p.quote_of, p.root, p.via, p.edit_of, p.replies, p.reposts, p.likes,
    p.quotes, coalesce(p.url, case when p.network = 'bluesky' and p.kind <> 'repost' and p.text is not null
        then 'https://bsky.app/profile/' || replace(substr(p.id, 6), '/app.bsky.feed.post/', '/post/') end) as url,
    p.source, p.warning, p.is_sensitive, p.is_cut, p.labels, p.links, p.place, p.poll, p.emoji, p.found_at, p.found_by, p.seen_at,
    p.seen_by
from posts p join users u on u.user_no = p.author;

-- Names of records grow with time as well.
drop index relations_record;
create index relations_record on relations (record, source) where record is not null;
