-- The time zone that an account set, as the network says it (v1.1); most networks do not tell.
alter table users add column time_zone text;

drop view v_users;
create view v_users as
select u.id, u.network,
    (select s.name from calls c join lanes l on l.lane = c.lane join services s on s.service = l.service where c.call = u.found_by)
        as service,
    u.handle, u.name, u.description, u.location, u.url, u.language, u.gender, u.time_zone, u.avatar,
    {time u.created_at} as created_at, u.followers, u.following, u.posts, {time u.newest_post_at} as newest_post_at,
    u.is_protected, u.is_bot, u.is_verified, coalesce(u.labels, '[]') as labels, {time u.found_at} as found_at,
    {time u.seen_at} as seen_at, u.user_no
from users u
where u.seen_at is not null and coalesce(u.opts_out, 0) = 0 and not exists (
    select 1 from unavailable a
    where a.user_no = u.user_no and a.until is null and a.reason in ('not_found', 'suspended', 'deactivated'));
