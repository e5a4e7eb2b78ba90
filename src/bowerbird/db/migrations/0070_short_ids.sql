-- Ids of posts, and those that posts refer to, are kept without what is the same in all ids of a network, and read whole.
-- `only sqlite`: PostgreSQL has no columns that take no room.

only sqlite: shorten posts, id, reply_to, repost_of, quote_of, root, via;
