-- What answers tell besides: polls, quote counts, emoji, cashtags, links between posts, texts that were cut, hashtags as written.

alter table posts add column quotes bigint;
alter table posts add column via text;              -- the repost through which this one came
alter table posts add column edit_of text;          -- the post that this one replaces, where an edit is a post of its own
alter table posts add column is_cut smallint;       -- the service sent only the beginning of the text
alter table posts add column poll text;
alter table posts add column emoji text;

alter table post_tags add column written text;      -- as the author wrote it, where that is not the tag itself
alter table post_versions add column links text;

create table post_cashtags (
    cashtag text not null,            -- in capitals, without the sign
    post_no bigint not null,
    primary key (cashtag, post_no)
);
create index post_cashtags_post on post_cashtags (post_no);
