"""Labels accounts page by page: `yes`, `no` or `undecided`, with the signs that decided.

A page of profiles or posts is judged in the transaction that saves it. The signs of posts and of
neighbours stay in the evidence, so that a later page with the profile alone does not lose them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

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
ENOUGH_POSTS = 30
"""More posts hardly change a decision."""
_POST_CLASSES = (1, 10, ENOUGH_POSTS)
"""Numbers of posts from which a decision is a stronger one."""
MOST_POSTS = 100
"""Posts of one account that are read; more do not change the decision."""


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
        posts = _posts_by_author(seen)
        users = {id_: seen.profiles[id_] for id_ in posts if id_ in seen.profiles}
        users |= dict(seen.accounts())
        judgements: list[Judgement] = []
        for id_, user in sorted(users.items()):
            earlier = standing_judgement(seen.before.get((Subject.USER, id_), ()))
            is_by_person = earlier is not None and earlier.decided_by is not None
            if not (is_by_person or user.opts_out or id_ in seen.hidden):
                own = posts.get(id_, ())
                judgements.append(self.judgement(id_, user, own, evidence_of(earlier)))
        # Labels of the classifier that are not given again are withdrawn; a person's label is not.
        reviewed = {(Subject.USER, id_): BY_MACHINE for id_ in users}
        return Ruling(judgements=tuple(judgements), reviewed=reviewed)

    def judgement(
        self,
        id_: str,
        user: User,
        posts: Sequence[str],
        former: Evidence,
        more: Sequence[Sign] = (),
    ) -> Judgement:
        """Return the decision about one account as it is stored; `more`: signs from elsewhere."""
        verdict = self.verdict(user, posts, former, more)
        read = max(len(posts), int(number_in(former, POSTS)))
        own = [sign for sign in verdict.signs if sign.kind != RELATIONS]
        has_relations = len(own) < len(verdict.signs)
        if has_relations and decide(own, self.community, verdict.prior).value != verdict.value:
            reason = BY_RELATIONS
        else:
            reason = BY_POSTS if any(sign.kind in WRITING for sign in own) else BY_PROFILE
        return Judgement(
            subject=Subject.USER,
            id=id_,
            value=verdict.value,
            reason=reason,
            confidence=round(verdict.confidence, 4),
            strength=sum(read >= least for least in _POST_CLASSES) + 2 * has_relations,
            evidence={**verdict.evidence, POSTS: read} if read else verdict.evidence,
        )

    def verdict(
        self, user: User, posts: Sequence[str], former: Evidence, more: Sequence[Sign] = ()
    ) -> Verdict:
        """Decide about one account.

        `former`: the evidence of the earlier decision. Its signs of posts and neighbours count again
        if there are no newer ones.
        """
        earlier_signs = stored_signs(former)
        if self.community.rule == ECHO:
            return echo.classify(user, self.community, posts, earlier_signs)
        if len(posts) > number_in(former, POSTS):
            writing = self._writing.signs(posts)
        else:
            writing = [sign for sign in earlier_signs if sign.kind in WRITING]
        profile = self._profile.signs(user)
        if any(sign.kind == WRITTEN for sign in writing):
            # What an account writes replaces what its profile says about language.
            profile = [s for s in profile if s.kind not in (LANGUAGE, DESCRIPTION_LANGUAGE)]
        words = learned_words_sign(user.description or "", self.learned.words)
        kept = {SEED, RELATIONS} - {sign.kind for sign in more}
        known = [sign for sign in earlier_signs if sign.kind in kept]
        signs = [*profile, *writing, *more, *known, *([words] if words else [])]
        return decide(signs, self.community, self.learned.prior)


def standing_judgement(before: Sequence[EarlierJudgement]) -> EarlierJudgement | None:
    """Return the decision about an account that is valid now; a person's before all."""
    own = [each for each in before if each.judge == JUDGE]
    return next((each for each in own if each.decided_by is not None), own[0] if own else None)


def evidence_of(earlier: EarlierJudgement | None) -> Evidence:
    return {} if earlier is None else msgspec.json.decode(earlier.evidence, type=dict[str, Any])


def number_in(evidence: Evidence, key: str) -> float:
    """Return a number in evidence; 0 if it is not there."""
    value = evidence.get(key)
    return value if isinstance(value, int | float) else 0.0


def _posts_by_author(seen: Seen) -> Mapping[str, Sequence[str]]:
    """The texts on a page by the stored id of their author, without reposts."""
    posts: defaultdict[str, list[str]] = defaultdict(list)
    for _, author, post in seen.posts():
        if post.kind is not PostKind.REPOST and post.text:
            posts[author].append(post.text)
    return {author: texts[:MOST_POSTS] for author, texts in posts.items()}
