-- What a service calls a post, found from the post's side: for `dehydrate`, query seeds and cascades.

create index post_keys_post on post_keys (post_no);

-- The domain of an account on Weibo is a name like a handle, and is marked as one.

update tasks set target = '@' || target where target like '/%' and lane in (
    select l.lane from lanes l join services s on s.service = l.service where s.network = 'weibo' and l.facet = 'profile'
);
