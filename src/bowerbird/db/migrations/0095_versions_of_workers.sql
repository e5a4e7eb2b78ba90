-- Which bowerbird collected what: a dataset card names every version that was at work.

alter table workers add column version text;
