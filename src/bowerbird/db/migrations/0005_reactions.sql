-- Who passed a post on or liked it, where the service lists accounts and not posts.

create table reactions (
    post_no bigint not null,
    user_no bigint not null,
    kind text not null,               -- repost, like
    at bigint,                        -- the network's time, where its list tells it
    sweep bigint,                     -- the listing that showed it last, and
    place bigint,                     -- where it stood there: 0 is the newest
    found_at bigint not null,
    found_by bigint not null,
    seen_at bigint not null,
    gone_at bigint,                   -- a later listing, read to its end, did not show it
    primary key (post_no, kind, user_no)
);
create index reactions_user on reactions (user_no, kind);

-- Each listing of the reactions to one post: what it no longer shows is known only when it ends.
create table reaction_listings (
    post_no bigint not null,
    kind text not null,
    sweep bigint not null,            -- the call that began it
    began_at bigint not null,
    ended_at bigint,
    listed bigint not null default 0,
    primary key (post_no, kind)
);

-- Every repost that is known, once for each account: as a post of its own, from a list of accounts, or both.
create view reposts as
select o.post_no, r.author as user_no, r.post_no as repost_no,
    coalesce(case when r.is_time_doubtful = 1 then r.listed_at else r.created_at end, x.at) as at,
    x.sweep, x.place, case when x.found_at < r.found_at then x.found_at else r.found_at end as found_at
from posts r join posts o on o.id = r.repost_of
left join reactions x on x.post_no = o.post_no and x.kind = 'repost' and x.user_no = r.author
where r.repost_of is not null and r.deleted_at is null
union all
select x.post_no, x.user_no, null, x.at, x.sweep, x.place, x.found_at from reactions x
where x.kind = 'repost' and x.gone_at is null and not exists (
    select 1 from posts o join posts r on r.repost_of = o.id and r.author = x.user_no and r.deleted_at is null
    where o.post_no = x.post_no);
