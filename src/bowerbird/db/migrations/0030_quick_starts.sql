-- Whether a service ever gave a good answer, and what a crawl was begun with: asked at every start, of logs and queues of any length.
create index calls_good on calls (lane) where outcome = 'ok';
create index tasks_of_seeds on tasks (lane, added_by) where depth = 0;
