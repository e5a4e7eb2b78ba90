-- Samples of judged accounts that people label, to know how good a judge is.

-- Who is in a sample, in the order in which they are shown; `said` is what the judge said of all of them when it was drawn.
create table label_samples (
    crawl bigint not null references crawls,
    judge text not null,
    said text not null,               -- yes, no, undecided
    place bigint not null,
    user_no bigint not null,
    drawn_at bigint not null,
    primary key (crawl, judge, said, place)
);
create unique index label_samples_account on label_samples (crawl, judge, user_no);

create table labels (
    crawl bigint not null references crawls,
    judge text not null,
    user_no bigint not null,
    who text not null,
    label text not null,              -- yes, no, unsure
    at bigint not null,
    primary key (crawl, judge, user_no, who)
);

create view v_labels as
select w.name as crawl, l.judge, s.said, u.id, u.handle, l.who, l.label, {time l.at} as at
from labels l join label_samples s on s.crawl = l.crawl and s.judge = l.judge and s.user_no = l.user_no
join users u on u.user_no = l.user_no join crawls w on w.crawl = l.crawl
where coalesce(u.opts_out, 0) = 0;
