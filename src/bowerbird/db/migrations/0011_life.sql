-- When a wait was decided: only a good answer to a call sent later ends it.

alter table ledgers add column backoff_since bigint;

-- Who works now, among all who ever did: asked again and again while a crawl runs.

create index workers_living on workers (worker) where ended_at is null;
