-- What another column of the same row says is not stored again: the network of a post whose id tells it, its last sighting while
-- that is the first one, and what follows of the address of a picture from its id. No row is written anew.
-- `only sqlite`: PostgreSQL has no columns that take no room.

only sqlite: imply posts, network, seen_at, seen_by;
only sqlite: imply media, url;
