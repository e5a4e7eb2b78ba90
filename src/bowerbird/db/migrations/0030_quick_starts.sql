-- Whether a service ever gave a good answer, what a crawl was begun with, and which of its seeds led to nobody: asked at every
-- start and by `status`, of logs and queues of any length.
create index calls_good on calls (lane) where outcome = 'ok';
create index calls_in_vain on calls (call)
    where objects = 1 and outcome in ('not_found', 'suspended', 'deactivated', 'protected', 'blocked');
create index tasks_of_seeds on tasks (lane, added_by) where depth = 0;
