-- How many results a stream brought in its busiest second: whoever opens it next sets aside as much, where each of them costs.

alter table streams add column busiest bigint not null default 0;
