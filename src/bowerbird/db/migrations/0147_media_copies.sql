-- Which files of media this store has put into which copy of them, so that what it keeps no longer leaves the copy with the next
-- scheduled one, and what others put there stays.
create table media_copies (
    place text not null,              -- the folder or s3://BUCKET/FOLDER of the copy
    path text not null,               -- as in `media_files`
    primary key (place, path)
);
