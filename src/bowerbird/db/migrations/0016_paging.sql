-- How a listing under way has gone: one position met in it, to notice that it leads back there, and pages that brought nothing.

create table paging (
    task bigint primary key,
    position text not null,
    remaining integer not null,
    span integer not null,
    empty integer not null,
    barren integer not null
);
