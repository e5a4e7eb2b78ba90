-- What a service has billed today: where the same item is paid once per UTC day, its next sighting that day is free.

create table bills (
    payer text not null,              -- the bucket's owner, such as x/app:mine
    day bigint not null,              -- days since the epoch, UTC; earlier days are deleted
    item text not null,               -- such as user:12
    primary key (payer, day, item)
);
