-- Where accounts and posts are, as far as a crawl with [[places]] asked: one row for each area that something belongs to.

create table located (
    place text not null,              -- the area's name in the crawl file
    subject text not null,            -- user, post
    id text not null,
    source text not null,             -- coordinates, place, profile, text: what decided, the strongest so far
    longitude {real},
    latitude {real},
    confidence {real} not null,
    at bigint not null,
    call bigint not null,
    primary key (place, subject, id)
);
create index located_item on located (subject, id);
