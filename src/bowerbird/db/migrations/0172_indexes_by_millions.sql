-- A stream's posts and ties are of anybody, so that each of them stood anywhere in the indexes by author, by what is answered and
-- passed on, and by the ends of a tie: at ten million posts nearly every row wrote a page of its own in each of them. These indexes
-- now begin with the million in which a row was added. Whoever asks by author looks into each million.
-- What is answered, passed on and quoted is found by the last 10 characters of its id instead of 13: it stands anywhere in any case.
-- `only sqlite`: PostgreSQL writes what changed of a page, and does not leave out the first column of an index. Its indexes are of
-- whole ids.

only sqlite: drop index posts_author;
only sqlite: index_by_millions posts_author on posts (author);
only sqlite: drop index posts_repost;
only sqlite: index_by_millions posts_repost on posts (substr(repost_of, -10)) where repost_of is not null;
only sqlite: drop index posts_quote;
only sqlite: index_by_millions posts_quote on posts (substr(quote_of, -10)) where quote_of is not null;
drop index posts_reply;
only sqlite: index_by_millions posts_reply on posts (substr(reply_to, -10)) where reply_to is not null;
only postgresql: create index posts_reply on posts (reply_to) where reply_to is not null;
only sqlite: drop index relation_history_source;
only sqlite: drop index relation_history_target;
only sqlite: number relation_history, change_no;
only sqlite: index_by_millions relation_history_source on relation_history (source);
only sqlite: index_by_millions relation_history_target on relation_history (target);

drop view reposts;
create view reposts as
select o.post_no, r.author as user_no, r.post_no as repost_no,
    coalesce(case when r.is_time_doubtful = 1 then r.listed_at else r.created_at end, x.at) as at,
    x.sweep, x.place, case when x.found_at < r.found_at then x.found_at else r.found_at end as found_at
from posts r join posts o on substr(o.id, -13) = substr(r.repost_of, -13) and substr(r.repost_of, -10) = substr(o.id, -10)
    and o.id = r.repost_of
left join reactions x on x.post_no = o.post_no and x.kind = 'repost' and x.user_no = r.author
where r.repost_of is not null and r.deleted_at is null
union all
select x.post_no, x.user_no, null, x.at, x.sweep, x.place, x.found_at from reactions x
where x.kind = 'repost' and x.gone_at is null and not exists (
    select 1 from posts o join posts r on substr(r.repost_of, -10) = substr(o.id, -10)
    and r.repost_of = o.id and r.author = x.user_no and r.deleted_at is null
    where o.post_no = x.post_no);
