"""The frozen nouns of bowerbird: one word per concept, values only.

Ids are text and global (`https://…` for Mastodon, `x:12` for X); a `key` is what one service calls the same thing.
Times are zoned UTC `datetime`; durations are `timedelta`; nothing here reads a clock or touches I/O.
"""

from bowerbird.model.calls import Answer, Ask, Charge, Lease, Request, Saved, SavedPost, SavedUser, Service
from bowerbird.model.items import Broken, Gone, Media, Page, Place, Post, Reading, Relation, Trend, User, UserTag
from bowerbird.model.limits import Credential, Facet, Limit, Secret, WindowKind
from bowerbird.model.tasks import Arrival, Draw, Progress, Settled, Standing, Task, Turn, Visit
from bowerbird.model.times import EPOCH, from_micros, to_micros
from bowerbird.model.words import Network, Outcome, PostKind, RelationKind, Side, Subject

__all__ = [
    "EPOCH",
    "Answer",
    "Arrival",
    "Ask",
    "Broken",
    "Charge",
    "Credential",
    "Draw",
    "Facet",
    "Gone",
    "Lease",
    "Limit",
    "Media",
    "Network",
    "Outcome",
    "Page",
    "Place",
    "Post",
    "PostKind",
    "Progress",
    "Reading",
    "Relation",
    "RelationKind",
    "Request",
    "Saved",
    "SavedPost",
    "SavedUser",
    "Secret",
    "Service",
    "Settled",
    "Side",
    "Standing",
    "Subject",
    "Task",
    "Trend",
    "Turn",
    "User",
    "UserTag",
    "Visit",
    "WindowKind",
    "from_micros",
    "to_micros",
]
