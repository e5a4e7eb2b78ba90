-- What people look for in the dashboard, kept under a name; and the answers to a post, found as its reposts and quotes are.

create table saved_searches (
    search {serial},
    name text not null unique,
    what text not null,               -- posts, users, follows, media
    query text not null,              -- as it stands in the address of the page
    who text not null,
    at bigint not null
);

create index posts_reply on posts (substr(reply_to, length(reply_to) - 18)) where reply_to is not null;
