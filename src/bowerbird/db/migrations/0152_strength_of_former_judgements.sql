-- How good the reason of a former judgement was, and which call brought it: so that it can stand again as it was.
alter table judgement_history add column strength bigint not null default 0;
alter table judgement_history add column call bigint not null default 0;
