-- Candidates and labels tell of nobody who is gone, as users do: not of those who opted out, were deleted or suspended.

drop view v_candidates;
create view v_candidates as
select w.name as crawl, u.id, u.handle, c.source, c.state, c.reason, {time c.found_at} as found_at, c.mentions, c.replies,
    c.reposts, c.listed, {time c.votes_at} as votes_at, c.followed_by_yes, c.followed_by_no, c.follows_yes, c.follows_no,
    c.mentioned_by_yes, c.mentioned_by_no
from candidates c join users u on u.user_no = c.user_no join crawls w on w.crawl = c.crawl
where coalesce(u.opts_out, 0) = 0 and not exists (
    select 1 from unavailable a
    where a.user_no = u.user_no and a.until is null and a.reason in ('not_found', 'suspended', 'deactivated'));

drop view v_labels;
create view v_labels as
select w.name as crawl, l.judge, s.said, u.id, u.handle, l.who, l.label, {time l.at} as at
from labels l join label_samples s on s.crawl = l.crawl and s.judge = l.judge and s.user_no = l.user_no
join users u on u.user_no = l.user_no join crawls w on w.crawl = l.crawl
where coalesce(u.opts_out, 0) = 0 and not exists (
    select 1 from unavailable a
    where a.user_no = u.user_no and a.until is null and a.reason in ('not_found', 'suspended', 'deactivated'));
