-- What was deleted leaves everything: dictionaries without content, and a quarantine that is bounded and can be purged.

-- What a dictionary is for (network/subject). Empty: learned from what people wrote, by an earlier version; payloads that
-- need it are packed anew, then it is dropped.
alter table dictionaries add column kind text;

-- How often one source sent items that could not be mapped or stored; `quarantine` keeps a sample of each.
create table quarantine_sources (
    source {serial},
    service bigint not null,          -- 0: not known any more
    facet text not null,
    why text not null,                -- without values: it outlives the items
    items bigint not null,
    bytes bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    unique (service, facet, why)
);
insert into quarantine_sources (service, facet, why, items, bytes, first_at, last_at)
select coalesce(l.service, 0), q.facet, 'set aside by an earlier version', count(*), sum(length(q.raw)), min(q.at), max(q.at)
from quarantine q left join calls c on c.call = q.call left join lanes l on l.lane = c.lane
group by coalesce(l.service, 0), q.facet;

-- Of items of an earlier version only the count is kept: no purge could find out whose they are.
drop table quarantine;
create table quarantine (
    item {serial},
    source bigint not null,
    call bigint not null,
    facet text not null,
    subject text not null,
    why text not null,
    at bigint not null,
    bytes bigint not null,            -- of the whole payload; what is kept of it may be less
    raw {blob} not null
);
create index quarantine_source on quarantine (source, at);
create index quarantine_at on quarantine (at);

-- Hashes of the words in an item, ids among them: whoever is purged takes along what names them.
create table quarantine_names (
    name bigint not null,
    item bigint not null,
    primary key (name, item)
);
create index quarantine_names_item on quarantine_names (item);

-- 1: something was deleted since the database was last written anew, and copies of it may be left between its rows.
insert into sequences (name, value) select 'residue', case when exists (select 1 from users) then 1 else 0 end;
