-- What a network says of an account's gender (Weibo): `m` or `f`; others do not say.
alter table users add column gender text;
