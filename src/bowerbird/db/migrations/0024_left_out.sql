-- Why a facet of a crawl is not asked (no credential for it, not offered, refused) and since when; what it would be asked about
-- waits in its lane. Null: it is asked.
alter table lanes add column left_out text;
alter table lanes add column left_out_at bigint;
