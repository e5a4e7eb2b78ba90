-- The plan of a crawl, which all its processes follow: every version of what its file said, and since when it holds.
create table plans (
    crawl bigint not null references crawls,
    version bigint not null,
    document text not null,
    since bigint not null,
    primary key (crawl, version)
);
alter table crawls add column plan bigint not null default 0;  -- the version that holds; 0: begun before plans were kept

-- A worker by itself: a random name, and where and when its process started. Host names and process numbers come again.
alter table workers add column identity text;
alter table workers add column place text;
alter table workers add column process_started bigint;
