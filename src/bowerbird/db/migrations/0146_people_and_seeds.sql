-- People by what is said of them, for those who go through them one by one: the latest first, the most doubtful first, and those
-- of whom a person spoke; and candidates by how often members mention them.

create index judgements_people on judgements (judge, value, at, id) where subject = 'user';
create index judgements_doubt on judgements (judge, value, confidence, id) where subject = 'user';
create index judgements_by_persons on judgements (judge, at, id) where decided_by is not null;
create index candidates_mentions on candidates (crawl, mentions, user_no);

-- The seeds of a crawl, among millions of other tasks.
create index tasks_seeds on tasks (lane, task) where depth = 0 and added_by is null;
