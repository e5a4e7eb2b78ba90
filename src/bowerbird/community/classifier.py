"""Labels accounts page by page: `yes`, `no` or `undecided`, with the signs that decided.

A page of profiles or posts is judged in the transaction that saves it. The signs of posts and of
neighbours stay in the evidence, so that a later page with the profile alone does not lose them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.community import echo
from bowerbird.community.membership import (
    VERSION,
    Evidence,
    Learned,
    Sign,
    Verdict,
    decide,
    stored_signs,
)
from bowerbird.community.profiles import DESCRIPTION_LANGUAGE, LANGUAGE, ProfileReader
from bowerbird.community.relations import RELATIONS
from bowerbird.community.words import learned_words_sign
from bowerbird.community.writing import WRITING, WRITTEN, WritingReader
from bowerbird.model import EarlierJudgement, Judgement, PostKind, Ruling, Seen, Subject, User
from bowerbird.model.subjects.community import ECHO, JUDGE, Community

BY_PROFILE, BY_POSTS, BY_RELATIONS, BY_PERSON = "profile", "posts", "relations", "person"
BY_MACHINE = frozenset({BY_PROFILE, BY_POSTS, BY_RELATIONS})
POSTS = "posts"
"""In evidence: how many posts were read."""
SEED = "seed"
"""The kind of the sign that an account was named when the crawl was made."""
_POST_CLASSES = (1, 10, 30)
"""Numbers of posts from which a decision is a stronger one."""
MOST_POSTS = 100
"""Posts of one account that are read; more do not change the decision."""


class Written(Struct, frozen=True):
    """Posts of one account, as far as they are known."""

    texts: tuple[str, ...] = ()
    times: tuple[datetime, ...] = ()


NO_POSTS = Written()


class CommunityClassifier:
    """Decides who is a member of one community; implements `ports.Judge`.

    Decisions are a pure function of what is seen and of `learned`, which the process that runs the
    crawl replaces now and then (`review.py`). Accounts that a person decided are left alone.
    """

    name = JUDGE

    def __init__(self, community: Community, cache: Path) -> None:
        """`cache`: the folder of the place index, which is built there if it is missing."""
        self.community = community
        self.version = f"{community.rule} {VERSION}"
        self.learned = Learned()
        self._profile = ProfileReader(community, cache)
        self._writing = WritingReader(community)

    def judge(self, seen: Seen) -> Ruling:
        """Judge every account that a page has a profile or posts of."""
        written = _posts_by_author(seen)
        users = {id_: seen.profiles[id_] for id_ in written if id_ in seen.profiles}
        users |= dict(seen.accounts())
        judgements: list[Judgement] = []
        reviewed: dict[tuple[Subject, str], frozenset[str]] = {}
        for id_, user in sorted(users.items()):
            item = (Subject.USER, id_)
            earlier = standing_judgement(seen.before.get(item, ()))
            if user.opts_out or id_ in seen.hidden or (earlier and earlier.decided_by):
                # Labels of the classifier are withdrawn; a person's label is not.
                reviewed[item] = BY_MACHINE
                continue
            judgement = self.judgement(id_, user, written.get(id_, NO_POSTS), evidence_of(earlier))
            if (
                earlier is None
                or (earlier.value, earlier.version) != (judgement.value, self.version)
                or earlier.strength < judgement.strength
            ):
                reviewed[item] = BY_MACHINE
                judgements.append(judgement)
        return Ruling(judgements=tuple(judgements), reviewed=reviewed)

    def judgement(
        self,
        id_: str,
        user: User,
        written: Written,
        former: Evidence,
        more: Sequence[Sign] = (),
    ) -> Judgement:
        """Return the decision about one account as it is stored; `more`: signs from elsewhere."""
        verdict, posts = self.verdict(user, written, former, more)
        kinds = {sign.kind for sign in verdict.signs}
        reason = BY_POSTS if kinds & WRITING else BY_PROFILE
        if RELATIONS in kinds:
            own = [sign for sign in verdict.signs if sign.kind != RELATIONS]
            if decide(own, self.community, verdict.prior).value != verdict.value:
                reason = BY_RELATIONS
        evidence = {**verdict.evidence, POSTS: posts} if posts else verdict.evidence
        strength = sum(posts >= least for least in _POST_CLASSES)
        return Judgement(
            subject=Subject.USER,
            id=id_,
            value=verdict.value,
            reason=reason,
            confidence=round(verdict.confidence, 4),
            strength=strength + 2 * (RELATIONS in kinds),
            evidence=evidence,
        )

    def verdict(
        self, user: User, written: Written, former: Evidence, more: Sequence[Sign] = ()
    ) -> tuple[Verdict, int]:
        """Decide about one account; also return the number of posts that were read.

        `former`: the evidence of the earlier decision. Its signs of posts and neighbours count again
        if there are no newer ones.
        """
        if self.community.rule == ECHO:
            return echo.classify(user, self.community, written.texts), len(written.texts)
        earlier_signs = stored_signs(former)
        known = former.get(POSTS)
        posts = int(known) if isinstance(known, int | float) else 0
        texts = written.texts[:MOST_POSTS]
        if len(texts) > posts:
            posts = len(texts)
            writing = self._writing.signs(texts, written.times)
        else:
            writing = [sign for sign in earlier_signs if sign.kind in WRITING]
        profile = self._profile.signs(user)
        if any(sign.kind == WRITTEN for sign in writing):
            # What an account writes replaces what its profile says about language.
            profile = [s for s in profile if s.kind not in (LANGUAGE, DESCRIPTION_LANGUAGE)]
        words = learned_words_sign(user.description or "", self.learned.words)
        from_elsewhere = {SEED, RELATIONS} if self.community.uses_relations else {SEED}
        newer = {sign.kind for sign in more}
        known_signs = [s for s in earlier_signs if s.kind in from_elsewhere - newer]
        signs = [*profile, *writing, *more, *known_signs, *([words] if words else [])]
        return decide(signs, self.community, self.learned.prior), posts


def standing_judgement(before: Sequence[EarlierJudgement]) -> EarlierJudgement | None:
    """Return the decision about an account that is valid now; a person's before all."""
    own = [each for each in before if each.judge == JUDGE]
    return next((each for each in own if each.decided_by is not None), own[0] if own else None)


def evidence_of(earlier: EarlierJudgement | None) -> Evidence:
    return {} if earlier is None else msgspec.json.decode(earlier.evidence, type=dict[str, Any])


def _posts_by_author(seen: Seen) -> dict[str, Written]:
    """The posts on a page by the stored id of their author, without reposts."""
    posts: dict[str, list[tuple[str, datetime | None]]] = {}
    for _, author, post in seen.posts():
        if post.kind is not PostKind.REPOST and post.text:
            posts.setdefault(author, []).append((post.text, post.created_at))
    return {
        author: Written(
            tuple(text for text, _ in own), tuple(at for _, at in own if at is not None)
        )
        for author, own in posts.items()
    }
