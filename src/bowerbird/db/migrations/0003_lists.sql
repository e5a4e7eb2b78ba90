-- What is neither user, post nor relation: lists of accounts, versions of edited posts, volumes of queries.

create table lists (
    list_no {serial},
    id text not null unique,
    network text not null,
    owner bigint,                     -- user_no, where the service tells it
    kind text,                        -- curated, moderation, reference, where the network tells
    name text,
    description text,
    members bigint,                   -- as the service counts them
    followers bigint,
    created_at bigint,
    found_at bigint not null,
    found_by bigint not null,
    seen_at bigint not null
);
create index lists_owner on lists (owner);

create table list_members (
    list_no bigint not null,
    user_no bigint not null,
    found_at bigint not null,
    found_by bigint not null,
    seen_at bigint not null,
    primary key (list_no, user_no)
);
create index list_members_user on list_members (user_no);

-- The network's own versions of a post, the first included; `post_history` is what we saw ourselves.
create table post_versions (
    post_no bigint not null,
    at bigint not null,               -- when the network says that it was written
    text text,
    warning text,
    is_sensitive smallint,
    call bigint not null,
    primary key (post_no, at)
);

-- How many posts matched a query in a stretch of time, as the service counts them; a later count replaces an earlier one.
create table volumes (
    service bigint not null,
    query text not null,
    begins_at bigint not null,
    ends_at bigint not null,
    posts bigint not null,
    at bigint not null,
    call bigint not null,
    primary key (service, query, begins_at)
);
