-- What is missing and could not be told afterwards: listings that ended before their end, and times in which a service was down.

create table shortfalls (
    shortfall {serial},
    lane bigint not null,
    target text not null,
    cause text not null,              -- budget, reach, unknown
    detail text not null,
    after_at bigint,                  -- what is missing was written after this
    before_at bigint,                 -- and before this, where either is known
    missing bigint,                   -- all that was missing of the account by then, where a counter tells
    at bigint not null,
    call bigint not null
);
create index shortfalls_target on shortfalls (lane, target);

-- A service that answered several calls in a row with nothing, nonsense or its own trouble.
create table outages (
    outage {serial},
    service text not null,
    began_at bigint not null,
    ended_at bigint,                  -- the first answer after it
    calls bigint not null,
    reason text not null
);
create index outages_service on outages (service, began_at);
