-- What is known of a server: software, version, who may read what, and what it refused to answer.
alter table services add column flavour text;
alter table services add column surveyed_at bigint;
