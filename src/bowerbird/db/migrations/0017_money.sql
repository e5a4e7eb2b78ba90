-- Money: one purse for each service and calendar month, whatever the credentials, and one for each crawl; and what a user agreed to.

-- What applications spent this month is spent; calls that were under way may have been made.
insert into ledgers (bucket, allowance, window_micros, kind, remaining, in_flight, finished, reset_at, probing, backoff_step, spent,
                     refused, version, updated_at)
select s.name || '/money', 10000, max(l.window_micros), 'month', 10000 - sum(l.allowance - l.remaining + l.in_flight), 0, 0,
       max(l.reset_at), 0, 0, sum(l.spent), 0, 0, max(l.updated_at)
from services s join ledgers l on substr(l.bucket, 1, length(s.name) + 5) = s.name || '/app:' and l.bucket like '%/money'
group by s.name;

delete from ledgers where bucket like '%/app:%/money';

create table consents (
    crawl bigint primary key,
    in_all bigint,                    -- thousandths of a dollar that the crawl may spend in its life; null: the months alone limit it
    a_month bigint not null,          -- the same in a calendar month (UTC), over its services
    agreed_at bigint not null
);
