-- References to words over time, beside a series of the user's own: one look through the stored posts each, whose result is kept.

create table word_studies (
    study {serial},
    name text not null,               -- what its maker calls it
    words text not null,              -- JSON: words and spellings that are looked for
    unit text not null,               -- hour, day, month
    since bigint,                     -- written from then on
    until bigint,                     -- written before
    who text not null,
    made_at bigint not null,
    state text not null,              -- waiting, done, failed
    token bigint not null default 0,  -- of the process that looks
    held_until bigint not null default 0,
    through bigint not null default 0, -- post up to which was looked
    top bigint not null default 0,
    ended_at bigint,
    result text,                      -- JSON: posts and people by stretch of time; numbers alone
    spellings text,                   -- JSON: spellings that several people used, with how many
    series_name text,                 -- of what the user uploaded
    series text,                      -- JSON: times and numbers
    error text
);

-- Posts that were drawn by lot from those that mention a word, in the order in which they are shown.
create table word_study_posts (
    study bigint not null,
    place bigint not null,
    post_no bigint not null,
    primary key (study, place)
);
create index word_study_posts_post on word_study_posts (post_no);

create table word_study_labels (
    study bigint not null,
    post_no bigint not null,
    who text not null,
    label text not null,              -- yes, no, unsure
    at bigint not null,
    primary key (study, post_no, who)
);
create index word_study_labels_post on word_study_labels (post_no);
