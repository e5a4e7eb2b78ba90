-- Whose word a row holds, where several services tell of one account or post: a service's number, or -1 for the home server.

alter table users add column told_by bigint;
alter table posts add column told_by bigint;

update users set told_by = (
    select max(l.service) from calls c join lanes l on l.lane = c.lane where c.call = users.seen_by
) where network in ('mastodon', 'bluesky') and seen_by is not null;
update posts set told_by = (
    select max(l.service) from calls c join lanes l on l.lane = c.lane where c.call = posts.seen_by
) where network in ('mastodon', 'bluesky');
update users set told_by = -1 where network = 'mastodon' and seen_at is not null and exists (
    select 1 from user_keys k join services s on s.service = k.service
    where k.user_no = users.user_no and users.id like rtrim(s.base, '/') || '/%'
);
update posts set told_by = -1 where network = 'mastodon' and exists (
    select 1 from post_keys k join services s on s.service = k.service
    where k.post_no = posts.post_no and posts.id like rtrim(s.base, '/') || '/%'
);
