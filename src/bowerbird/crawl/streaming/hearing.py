"""What all streams of a process share."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from bowerbird.crawl.access.signing import Signer
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.streaming.stream import Stream
from bowerbird.crawl.work.bookkeeping import Bookkeeping
from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.targets import Targets
from bowerbird.errors import UserError
from bowerbird.ports import Store, StreamTransport


class Hearing(Struct, frozen=True):
    """Where connections are written down, what they bring is saved, and who signs for them."""

    books: Bookkeeping
    store: Store
    targets: Targets
    signer: Signer
    tally: Tally

    def lanes_of(self, stream: Stream) -> Iterator[Lane]:
        """The lanes of the stream's own service, which may fetch what it misses or only announces."""
        return (lane for lane in self.targets.lanes.asked.values() if lane.service.name == stream.service.name)

    @property
    def transport(self) -> StreamTransport:
        carried = self.signer.transport
        if not isinstance(carried, StreamTransport):
            raise UserError(
                "this transport cannot hold a connection open, so the crawl's streams cannot be heard", code="unsupported"
            )
        return carried
