-- A service's refusal of a credential is its own: another may well accept it. What was noted before is dropped, for every start
-- tries all credentials again.
drop table credentials;

create table credentials (
    service bigint not null,
    credential text not null,
    state text not null,              -- good, refused
    reason text,
    since bigint not null,
    primary key (service, credential)
);
