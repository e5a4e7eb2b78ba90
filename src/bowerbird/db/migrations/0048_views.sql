-- For reading, beside `v_posts`: accounts whose profiles were seen, and who follows whom now, by id and handle.

create view v_users as
select u.user_no, u.id, u.network, u.handle, u.name, u.description, u.location, u.url, u.language, u.gender, u.created_at, u.followers,
    u.following, u.posts, u.newest_post_at, u.is_protected, u.is_bot, u.is_verified, u.labels, u.found_at, u.found_by, u.seen_at,
    u.seen_by, u.changed_at
from users u where u.seen_at is not null and coalesce(u.opts_out, 0) = 0;

create view v_follows as
select s.id as source, s.handle as source_handle, t.id as target, t.handle as target_handle, r.found_at, r.found_by, r.seen_at
from relations r join users s on s.user_no = r.source join users t on t.user_no = r.target
where r.kind = 'follow' and r.removed_at is null;
