-- What accounts and posts are judged to be. Places were the first such judgement, in a table of their own.

create table judgements (
    judge text not null,              -- place, language, …: who judged
    subject text not null,            -- user, post
    id text not null,
    value text not null,              -- what it is judged to be: the area's name in the crawl file, a language, member
    reason text not null,             -- what decided, the strongest so far
    strength bigint not null,
    confidence {real} not null,
    evidence text not null,           -- JSON: what the judge went by
    version text not null,            -- of the judge
    at bigint not null,
    call bigint not null,
    primary key (judge, subject, id, value)
);
create index judgements_item on judgements (id);
insert into judgements (judge, subject, id, value, reason, strength, confidence, evidence, version, at, call)
select 'place', subject, id, place, source,
    case source when 'coordinates' then 4 when 'place' then 3 when 'profile' then 2 else 1 end, confidence,
    cast({json_object}('longitude', longitude, 'latitude', latitude) as text), '1', at, call
from located;
drop table located;
create view located as
select value as place, subject, id, reason as source,
    cast(cast(evidence as {json}) ->> 'longitude' as {real}) as longitude,
    cast(cast(evidence as {json}) ->> 'latitude' as {real}) as latitude, confidence, at, call
from judgements where judge = 'place';
