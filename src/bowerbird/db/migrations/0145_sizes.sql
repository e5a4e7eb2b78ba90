-- How large tables, indexes and the whole database were over time, and reports that take long, as they were last worked out.

-- Bytes; empty: not known then. The whole database has the name `database`, an index its own.
alter table growth add column bytes bigint;

create table prepared (
    name text primary key,            -- of the report, and what it is about
    made_at bigint not null,
    took_micros bigint not null,
    document text not null            -- JSON
);
