-- How far a sweep for the forgotten is in a table whose rows have no number: the key of the last row, as JSON.

alter table tombstone_state add column after_key text;
