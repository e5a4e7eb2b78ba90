-- Whose word a row holds, where several services tell of one account or post: a service's number, or -1 for the home server.

alter table users add column told_by bigint;
alter table posts add column told_by bigint;

-- One statement a table: each writes every row of a network whose servers tell of each other's people anew.
update users set told_by = case when seen_at is not null and exists (
    select 1 from user_keys k join services s on s.service = k.service
    where k.user_no = users.user_no and users.id like rtrim(s.base, '/') || '/%'
) then -1 else (
    select max(l.service) from calls c join lanes l on l.lane = c.lane where c.call = users.seen_by
) end where network = 'mastodon' and seen_at is not null;
update posts set told_by = case when exists (
    select 1 from post_keys k join services s on s.service = k.service
    where k.post_no = posts.post_no and posts.id like rtrim(s.base, '/') || '/%'
) then -1 else (
    select max(l.service) from calls c join lanes l on l.lane = c.lane where c.call = posts.seen_by
) end where network = 'mastodon';

-- References by a server's own key wait for the post they mean: found by it when it comes, and joined now where it is there.
create index posts_reply_waiting on posts (reply_to) where substr(reply_to, 1, 9) = 'mastodon:';
create index posts_quote_waiting on posts (quote_of) where substr(quote_of, 1, 9) = 'mastodon:';

update posts set reply_to = coalesce((
    select p.id from services s join post_keys k on k.service = s.service and k.key = substr(posts.reply_to, length(s.name) + 11)
    join posts p on p.post_no = k.post_no
    where s.network = 'mastodon' and posts.reply_to = 'mastodon:' || s.name || '/' || k.key
), reply_to) where substr(reply_to, 1, 9) = 'mastodon:';
update posts set quote_of = coalesce((
    select p.id from services s join post_keys k on k.service = s.service and k.key = substr(posts.quote_of, length(s.name) + 11)
    join posts p on p.post_no = k.post_no
    where s.network = 'mastodon' and posts.quote_of = 'mastodon:' || s.name || '/' || k.key
), quote_of) where substr(quote_of, 1, 9) = 'mastodon:';
