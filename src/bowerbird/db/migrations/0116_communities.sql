-- Who said it, where a person did, and what was said of accounts before.
alter table judgements add column decided_by text;       -- a person; empty: the judge itself

create table judgement_history (
    entry {serial},
    judge text not null,
    id text not null,                 -- of an account
    value text not null,
    reason text not null,
    confidence {real} not null,
    evidence text not null,
    version text not null,
    decided_by text,
    at bigint not null,
    until bigint not null             -- when something else was said, or nothing
);
create index judgement_history_item on judgement_history (id);

drop view v_judgements;
create view v_judgements as
select j.judge, j.version, j.subject, j.id, u.handle, j.value, j.reason, j.confidence, j.evidence, j.decided_by, {time j.at} as at
from judgements j left join users u on j.subject = 'user' and u.id = j.id
where coalesce(u.opts_out, 0) = 0;

-- What a classifier learned from judged accounts: the prior, weights of neighbours and of words.
create table community_models (
    judge text primary key,
    learned text not null,            -- JSON
    examples bigint not null,
    persons bigint not null,          -- of these, how many a person decided
    at bigint not null
);
