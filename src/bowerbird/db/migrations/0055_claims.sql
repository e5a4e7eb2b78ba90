-- One kind of claim: what one worker alone may do until a time. A stream, a file of media, a backup or a module, by name. A row is
-- there only while somebody has the claim; a token is new with each one that is given, so that late writers are refused.
create table claims (
    name text primary key,
    worker bigint not null,
    token bigint not null,
    until bigint not null             -- another worker may take it from then on, or as soon as this one is dead
);

insert into claims (name, worker, token, until)
select 'stream ' || stream, worker, token, held_until from streams where worker is not null and held_until is not null;
alter table streams drop column worker;
alter table streams drop column token;
alter table streams drop column held_until;

insert into claims (name, worker, token, until)
select 'media ' || file, worker, file, due from media_files where worker is not null and state = 'waiting';
drop index media_files_held;
alter table media_files drop column worker;

-- The five meanings of `sequences`, each in a place of its own.

-- When the next scheduled copy of a crawl is due; the claim `backup NAME` says who takes it.
create table backups (
    crawl bigint primary key references crawls,
    due bigint not null
);
insert into backups (crawl, due)
select c.crawl, case when s.value > 0 then s.value else 0 end from sequences s join crawls c on s.name = 'backup ' || c.name;

-- How many accounts a crawl with a limited size asks about.
create table admissions (
    crawl bigint primary key references crawls,
    accounts bigint not null
);
insert into admissions (crawl, accounts)
select c.crawl, s.value from sequences s join crawls c on s.name = 'accounts of crawl ' || c.crawl;

-- How many seeds of a crawl asked not to be collected.
alter table crawls add column seeds_left_alone bigint not null default 0;
update crawls set seeds_left_alone = (select s.value from sequences s where s.name = 'seeds left alone in crawl ' || crawls.crawl)
where exists (select 1 from sequences s where s.name = 'seeds left alone in crawl ' || crawls.crawl);

-- One row: `media` was looked through up to this number.
create table media_intake (
    media_no bigint not null
);
insert into media_intake (media_no) select value from sequences where name = 'media';

-- One row. 1: something was deleted since the database was last written anew, and copies of it may be left between its rows.
create table residue (
    is_left smallint not null
);
insert into residue (is_left) select value from sequences where name = 'residue';

drop table sequences;
