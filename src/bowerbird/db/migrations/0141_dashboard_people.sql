-- Who may use the dashboard, who is logged in, and what people did there.

create table dashboard_people (
    name text primary key,
    hash text not null,               -- of the password, by argon2id
    role text not null,               -- read, steer, admin
    created_at bigint not null,
    changed_at bigint not null,       -- when the password was last set
    seen_at bigint                    -- when they last logged in
);

-- Of a session only the hash of its id is kept: who reads the database cannot take one over.
create table dashboard_sessions (
    hash text primary key,
    person text,                      -- empty: whoever had the key that the terminal showed
    opened_at bigint not null,
    seen_at bigint not null           -- to the minute
);
create index dashboard_sessions_person on dashboard_sessions (person);

-- Tries to log in within a while, so that a restart does not forgive them.
create table dashboard_tries (
    key text primary key,             -- hash of a name, an address or both
    tries bigint not null,
    since bigint not null
);
create index dashboard_tries_since on dashboard_tries (since);

create table actions (
    action {serial},
    at bigint not null,
    who text not null,
    role text not null,
    what text not null,
    subject text not null,
    detail text not null,             -- why it failed or was refused
    outcome text not null             -- done, failed, refused
);
create index actions_subject on actions (subject, action);
create index actions_who on actions (who, action);
