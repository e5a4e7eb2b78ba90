"""`baseline`: the seeds and nothing else, as most collections of events were made."""

from __future__ import annotations

from bowerbird.model.terms import Kind
from bowerbird.policies.keywords.members import begun, counted
from bowerbird.policies.keywords.values import Decision, Frame, Settings, State


class Baseline:
    name = "baseline"
    kinds = frozenset[Kind]()

    def begins(self, seeds: tuple[str, ...], settings: Settings) -> State:
        return begun(self.name, seeds, settings)

    def decides(self, state: State, frame: Frame, settings: Settings) -> Decision:
        return Decision(state=counted(state, frame, settings))
