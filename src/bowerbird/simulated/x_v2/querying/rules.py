"""The rules of the filtered stream: listed, added, checked and deleted by each app for itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.simulated.wire import RefusedError, Reply, reply
from bowerbird.simulated.world.posts.crowd import Mask
from bowerbird.simulated.world.posts.rows import number_of
from bowerbird.simulated.x_v2.call import Call, page_token
from bowerbird.simulated.x_v2.payloads import Item, stamp
from bowerbird.simulated.x_v2.problems import duplicate_rule, invalid, invalid_rule, too_many_rules
from bowerbird.simulated.x_v2.querying.queries import Queries

MOST_RULES = 1_000
LONGEST_RULE = 1_024
_PAGE = 1_000


class Rule(Struct, frozen=True):
    """One rule of an app, ready to select posts."""

    id: str
    value: str
    tag: str
    mask: Mask

    def shown(self) -> Item:
        return {"id": self.id, "value": self.value, **({"tag": self.tag} if self.tag else {})}


class _NewRule(Struct, frozen=True):
    value: str
    tag: str = ""


class _Deletion(Struct, frozen=True):
    ids: list[str] = []
    values: list[str] = []


class _Change(Struct, frozen=True):
    add: list[_NewRule] = []
    delete: _Deletion | None = None


class Rules:
    """Handlers of `tweets/search/stream/rules`, and the rules themselves."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        self._apps: dict[str, dict[str, Rule]] = {}
        self._made = 0

    def of(self, app: str) -> Sequence[Rule]:
        return tuple(self._apps.get(app, {}).values())

    def listed(self, call: Call) -> Reply:
        wanted = [each for each in call.params.get("ids").split(",") if each]
        rules = [rule for rule in self.of(call.token.app) if not wanted or rule.id in wanted]
        size, start = call.size(_PAGE, 1, _PAGE), call.position() or 0
        page = rules[start : start + size]
        meta: Item = {"sent": _sent(call), "result_count": len(page)}
        if start + size < len(rules):
            meta["next_token"] = page_token(start + size)
        return reply({**({"data": [rule.shown() for rule in page]} if page else {}), "meta": meta})

    def changed(self, call: Call) -> Reply:
        if call.params.flag("delete_all"):
            return self._delete(call, _Deletion(ids=list(self._apps.get(call.token.app, {}))))
        try:
            change = msgspec.json.decode(call.body, type=_Change)
        except msgspec.DecodeError as error:
            raise invalid("body", call.body[:80].decode("utf-8", "replace"), f"The body cannot be read: {error}") from None
        if change.delete is not None:
            return self._delete(call, change.delete)
        if not change.add:
            raise invalid("body", "", "Either `add` or `delete` must be there")
        return self._add(call, change.add)

    def _add(self, call: Call, wanted: list[_NewRule]) -> Reply:
        known = self._apps.setdefault(call.token.app, {})
        if len(known) + len(wanted) > MOST_RULES:
            raise too_many_rules(MOST_RULES)
        masks = {rule.value: self._read(rule.value, call.now) for rule in wanted}
        wrong = [invalid_rule(value, mask) for value, mask in masks.items() if isinstance(mask, str)]
        if wrong:
            # One rule that cannot be read keeps all of them out.
            return self._answer(call, [], wrong, len(wanted), 400)
        made, doubled = self._make(call, wanted, masks)
        if not call.params.flag("dry_run"):
            known.update({rule.id: rule for rule in made})
        return self._answer(call, made, doubled, len(wanted), 201 if made else 200)

    def _make(self, call: Call, wanted: list[_NewRule], masks: dict[str, Any]) -> tuple[list[Rule], list[Item]]:
        by_value = {rule.value: rule.id for rule in self.of(call.token.app)}
        made: list[Rule] = []
        doubled: list[Item] = []
        for rule in wanted:
            if rule.value in by_value:
                doubled.append(duplicate_rule(rule.value, by_value[rule.value]))
                continue
            self._made += 1
            made.append(Rule(str(number_of(call.now, self._made)), rule.value, rule.tag, masks[rule.value]))
            by_value[rule.value] = made[-1].id
        return made, doubled

    def _read(self, value: str, now: int) -> Mask | str:
        """The selection, or what is wrong with the rule."""
        if not 1 <= len(value) <= LONGEST_RULE:
            return f"A rule must have between 1 and {LONGEST_RULE} characters; this one has {len(value)}"
        try:
            return self._queries.mask(value, now)
        except RefusedError as refused:
            message: str = msgspec.json.decode(refused.reply.body)["errors"][0]["message"]
            return message

    def _answer(self, call: Call, made: list[Rule], errors: list[Item], asked: int, status: int) -> Reply:
        summary = {"created": len(made), "not_created": asked - len(made), "valid": len(made), "invalid": asked - len(made)}
        body: Item = {"data": [rule.shown() for rule in made]} if made else {}
        body["meta"] = {"sent": _sent(call), "summary": summary}
        return reply({**body, **({"errors": errors} if errors else {})}, status)

    def _delete(self, call: Call, wanted: _Deletion) -> Reply:
        known = self._apps.setdefault(call.token.app, {})
        by_value = {rule.value: rule.id for rule in known.values()}
        ids = [*wanted.ids, *(by_value.get(value, "") for value in wanted.values)]
        found = [each for each in dict.fromkeys(ids) if each in known]
        if not call.params.flag("dry_run"):
            for each in found:
                del known[each]
        summary = {"deleted": len(found), "not_deleted": len(ids) - len(found)}
        return reply({"meta": {"sent": _sent(call), "summary": summary}})


def _sent(call: Call) -> str:
    return stamp(int(call.arrived_at.timestamp() * 1000))
