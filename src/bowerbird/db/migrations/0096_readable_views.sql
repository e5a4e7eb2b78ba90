-- For reading: what exports tell, row by row and column by column, with the number of a post or account behind it. Nothing that was
-- deleted is in it, and nothing of accounts that asked not to be collected. Names of services are looked up in the row, so that
-- whoever does not ask for them does not pay for them.

drop view v_posts;
drop view v_users;
drop view v_follows;

create view v_posts as
select p.id, p.network,
    (select s.name from calls c join lanes l on l.lane = c.lane join services s on s.service = l.service where c.call = p.found_by)
        as service,
    p.kind, coalesce(p.url, case when p.network = 'bluesky' and p.kind <> 'repost' and p.text is not null
        then 'https://bsky.app/profile/' || replace(substr(p.id, 6), '/app.bsky.feed.post/', '/post/') end) as url,
    u.id as author_id, u.handle as author_handle, {time p.created_at} as created_at, {time p.listed_at} as listed_at,
    {time p.edited_at} as edited_at, p.text, p.language, p.replies, p.reposts, p.likes, p.quotes, p.reply_to, p.repost_of,
    p.quote_of, p.root,
    (select {texts o.tag} from (select t.tag from post_tags t where t.post_no = p.post_no order by t.tag {bytewise}) o) as tags,
    (select {texts o.cashtag} from
        (select t.cashtag from post_cashtags t where t.post_no = p.post_no order by t.cashtag {bytewise}) o) as cashtags,
    (select {texts o.id} from (select n.id from post_mentions m join users n on n.user_no = m.user_no
        where m.post_no = p.post_no order by n.id {bytewise}) o) as mentions,
    coalesce(p.links, '[]') as links,
    (select {texts o.url} from (select m.url from media m where m.post_no = p.post_no order by m.place) o) as media,
    p.source, p.warning, p.is_sensitive, coalesce(p.labels, '[]') as labels,
    cast(p.place as {json}) ->> 'name' as place, cast(p.place as {json}) ->> 'country' as country,
    cast(cast(p.place as {json}) ->> 'longitude' as {real}) as longitude,
    cast(cast(p.place as {json}) ->> 'latitude' as {real}) as latitude,
    p.poll, p.emoji, {time p.found_at} as found_at, {time p.seen_at} as seen_at, p.post_no
from posts p join users u on u.user_no = p.author
where p.deleted_at is null and coalesce(u.opts_out, 0) = 0;

create view v_users as
select u.id, u.network,
    (select s.name from calls c join lanes l on l.lane = c.lane join services s on s.service = l.service where c.call = u.found_by)
        as service,
    u.handle, u.name, u.description, u.location, u.url, u.language, u.gender, u.avatar, {time u.created_at} as created_at,
    u.followers, u.following, u.posts, {time u.newest_post_at} as newest_post_at, u.is_protected, u.is_bot, u.is_verified,
    coalesce(u.labels, '[]') as labels, {time u.found_at} as found_at, {time u.seen_at} as seen_at, u.user_no
from users u
where u.seen_at is not null and coalesce(u.opts_out, 0) = 0 and not exists (
    select 1 from unavailable a
    where a.user_no = u.user_no and a.until is null and a.reason in ('not_found', 'suspended', 'deactivated'));

create view v_follows as
select s.id as source_id, s.handle as source_handle, t.id as target_id, t.handle as target_handle, s.network,
    (select v.name from calls c join lanes l on l.lane = c.lane join services v on v.service = l.service where c.call = r.found_by)
        as service,
    {time r.found_at} as found_at, {time r.seen_at} as seen_at
from relations r join users s on s.user_no = r.source join users t on t.user_no = r.target
where r.kind = 'follow' and r.removed_at is null and coalesce(s.opts_out, 0) = 0 and coalesce(t.opts_out, 0) = 0;

create view v_reactions as
select p.id as post_id, x.kind, u.id as user_id, u.handle as user_handle, p.network,
    (select s.name from calls c join lanes l on l.lane = c.lane join services s on s.service = l.service where c.call = x.found_by)
        as service,
    {time x.at} as at, {time x.found_at} as found_at, {time x.seen_at} as seen_at
from reactions x join posts p on p.post_no = x.post_no join users u on u.user_no = x.user_no
where x.gone_at is null and p.deleted_at is null and coalesce(u.opts_out, 0) = 0;

create view v_media as
select m.id, p.id as post_id, u.id as author_id, u.handle as author_handle, p.network, {time p.created_at} as created_at, m.kind,
    m.url, m.description, f.state, f.path, f.type, f.bytes, f.sha256
from media m join posts p on p.post_no = m.post_no join users u on u.user_no = p.author left join media_files f on f.id = m.id
where p.deleted_at is null and coalesce(u.opts_out, 0) = 0;

create view v_judgements as
select j.judge, j.version, j.subject, j.id, u.handle, j.value, j.reason, j.confidence, j.evidence, {time j.at} as at
from judgements j left join users u on j.subject = 'user' and u.id = j.id
where coalesce(u.opts_out, 0) = 0;

create view v_calls as
select c.call, w.name as crawl, s.name as service, c.facet, c.state, c.outcome, c.status, c.targets, c.objects, c.results,
    c.new_items, c.bytes, c.credential, {time c.leased_at} as leased_at, {time c.sent_at} as sent_at,
    {time c.received_at} as received_at, {time c.settled_at} as settled_at, c.detail
from calls c join crawls w on w.crawl = c.crawl left join lanes l on l.lane = c.lane left join services s on s.service = l.service;

create view v_gaps as
select g.gap, w.name as crawl, s.name as service, x.name as stream, x.channel, g.cause, g.detail, {time g.after_at} as after_at,
    {time g.before_at} as before_at, {time g.began_at} as began_at, {time g.ended_at} as ended_at, g.missing,
    {time g.asked_at} as asked_at,
    case when exists (select 1 from tasks t where t.lane = g.lane and t.target = g.target and t.visited_at >= g.asked_at)
        then 1 else 0 end as is_filled
from gaps g join streams x on x.stream = g.stream join crawls w on w.crawl = x.crawl join services s on s.service = x.service;

create view v_deletions as
select d.subject, d.id, d.reason, {time d.at} as at,
    (select s.name from calls c join lanes l on l.lane = c.lane join services s on s.service = l.service where c.call = d.call)
        as service
from deletions d;
