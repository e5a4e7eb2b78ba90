-- How often a task was leased, which is the fencing token of its lease: every task counts for itself, so that workers who
-- lease different tasks never wait for one row that all of them change.
alter table tasks add column fence bigint not null default 0;
update tasks set fence = token where token is not null;
