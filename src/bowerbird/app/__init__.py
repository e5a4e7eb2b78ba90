"""The composition root: the only package that knows every concrete class. It lists parts and decides nothing.

`crawls.py` says what a crawl is opened with and what one gets; `opening.py` puts it together; `services.py`, `charges.py` and
`seeds.py` turn the services, budgets and seeds of a plan into lanes, charges and targets.
"""

from bowerbird.app.crawls import NO_EXTENSIONS, NOT_ASKED, Crawl, Outside
from bowerbird.app.opening import CALL_TIME, open_crawl
from bowerbird.app.seeds import seed_meanings
from bowerbird.app.services import unknown_servers
from bowerbird.store.opening import open_store
from bowerbird.vocabulary import vocabulary

__all__ = [
    "CALL_TIME",
    "NOT_ASKED",
    "NO_EXTENSIONS",
    "Crawl",
    "Outside",
    "open_crawl",
    "open_store",
    "seed_meanings",
    "unknown_servers",
    "vocabulary",
]
