"""The composition root: the only package that knows every concrete class. It puts parts together, and decides nothing.

`opening.py` opens a crawl, with its engine (`engine.py`) and the list of its parts (`parts.py`); `crawls.py` is what one gets.
"""

from bowerbird.app.crawls import Crawl
from bowerbird.app.opening import NO_EXTENSIONS, NOT_ASKED, open_crawl
from bowerbird.starting.asking.views import unknown_servers
from bowerbird.starting.outside import Outside, Participation
from bowerbird.starting.seeds import SeedChanges, apply_seeds
from bowerbird.store.opening import open_store
from bowerbird.vocabulary import vocabulary

__all__ = [
    "NOT_ASKED",
    "NO_EXTENSIONS",
    "Crawl",
    "Outside",
    "Participation",
    "SeedChanges",
    "apply_seeds",
    "open_crawl",
    "open_store",
    "unknown_servers",
    "vocabulary",
]
