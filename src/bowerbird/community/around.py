"""The accounts around targets, as stored, and how likely those belong by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bowerbird.community.weights import read_model
from bowerbird.model.subjects.community import NOBODY
from bowerbird.ports import Database, Transaction
from bowerbird.store.judgements.neighbours import neighbours_of, users_named


class StoredNeighbourhood:
    """Scores the targets of one service; implements `ports.Neighbourhood`."""

    def __init__(self, database: Database, service: int, network: str) -> None:
        self._database = database
        self._service = service
        self._network = network

    async def scores(self, tx: Transaction, targets: Sequence[str]) -> Mapping[str, float]:
        users = await users_named(tx, self._database, self._service, self._network, targets)
        around = await neighbours_of(tx, self._database, list(users.values())) if users else {}
        model = await read_model(tx)
        return {target: model.score(around.get(user, NOBODY)) for target, user in users.items()}
