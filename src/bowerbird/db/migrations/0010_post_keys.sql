-- What a service calls a post, found from the post's side: for `dehydrate`, query seeds and cascades.

create index post_keys_post on post_keys (post_no);
