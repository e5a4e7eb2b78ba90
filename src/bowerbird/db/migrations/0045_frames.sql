-- Payloads of posts that came together, compressed together. Those of earlier versions stay in `posts.raw`.

create table frames (
    frame {serial},
    body {blob} not null              -- zstd: a msgpack list of payloads; empty where one was taken out
);
alter table posts add column frame bigint;
alter table posts add column frame_place bigint;  -- which of the frame's payloads, from 0
