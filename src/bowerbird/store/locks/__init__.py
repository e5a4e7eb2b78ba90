"""What a page locks on PostgreSQL, so that many processes save pages at once and the result is that of some order.

1. Names that the store does not know yet (keys and addresses of accounts, ids and keys of posts): a lock of the transaction on
   each, in sorted order, after which the store is read again. Who is second finds what the first has added.
2. The rows of known accounts, in the order of their numbers; then those of known posts, in theirs.
A page with too many unknown names, and whoever saves several pages in one transaction, waits until it saves alone.
SQLite has one writer and needs none of this. docs/decisions/0007-concurrent-saves-on-postgresql.md gives the reasons.
"""

from bowerbird.store.locks.taking import MOST_NAMES, Locks
from bowerbird.store.locks.touched import Firmness

__all__ = ["MOST_NAMES", "Firmness", "Locks"]
