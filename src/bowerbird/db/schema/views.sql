-- The views of both databases. {time C}, {texts C}, {bytewise} and others are replaced as in db/tables.py.
-- The v_ views are for users; they leave out deleted content and accounts that opted out.

-- Posts with the ids of their authors and with URLs, which are not stored where they follow from the id.
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

-- Accounts whose profile was seen.
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

-- Current follows, by id and handle.
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

create view v_deletions as
select d.subject, d.id, d.reason, {time d.at} as at,
    (select s.name from calls c join lanes l on l.lane = c.lane join services s on s.service = l.service where c.call = d.call)
        as service
from deletions d;

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

create view v_growth as
select g.name, {time g.at} as at, g.rows, g.is_exact from growth g;

-- Keywords of events, as in exports.
create view v_keywords as
select w.name as crawl, m.name as method, k.term, {time k.since} as since, k.why, k.numbers, {time k.until} as until, k.until_why,
    k.until_numbers
from keywords k join keyword_methods m on m.method = k.method join crawls w on w.crawl = k.crawl;

create view v_judgements as
select j.judge, j.version, j.subject, j.id, u.handle, j.value, j.reason, j.confidence, j.evidence, j.decided_by, {time j.at} as at
from judgements j left join users u on j.subject = 'user' and u.id = j.id
where coalesce(u.opts_out, 0) = 0;

create view v_module_runs as
select r.run, w.name as crawl, r.module, r.is_by_hand, {time r.started_at} as started_at, {time r.ended_at} as ended_at, r.counts,
    r.error
from module_runs r join crawls w on w.crawl = r.crawl;

create view v_candidates as
select w.name as crawl, u.id, u.handle, c.source, c.state, c.reason, {time c.found_at} as found_at, c.mentions, c.replies,
    c.reposts, c.listed, {time c.votes_at} as votes_at, c.followed_by_yes, c.followed_by_no, c.follows_yes, c.follows_no,
    c.mentioned_by_yes, c.mentioned_by_no
from candidates c join users u on u.user_no = c.user_no join crawls w on w.crawl = c.crawl
where coalesce(u.opts_out, 0) = 0 and not exists (
    select 1 from unavailable a
    where a.user_no = u.user_no and a.until is null and a.reason in ('not_found', 'suspended', 'deactivated'));

create view v_labels as
select w.name as crawl, l.judge, s.said, u.id, u.handle, l.who, l.label, {time l.at} as at
from labels l join label_samples s on s.crawl = l.crawl and s.judge = l.judge and s.user_no = l.user_no
join users u on u.user_no = l.user_no join crawls w on w.crawl = l.crawl
where coalesce(u.opts_out, 0) = 0 and not exists (
    select 1 from unavailable a
    where a.user_no = u.user_no and a.until is null and a.reason in ('not_found', 'suspended', 'deactivated'));

-- Places of accounts and posts, from crawls with [[places]]: one row per area.
create view located as
select value as place, subject, id, reason as source,
    cast(cast(evidence as {json}) ->> 'longitude' as {real}) as longitude,
    cast(cast(evidence as {json}) ->> 'latitude' as {real}) as latitude, confidence, at, call
from judgements where judge = 'place';

-- Every known repost, once per account: from a post, from a list of accounts, or both.
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
