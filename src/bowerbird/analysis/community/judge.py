"""Who belongs to a crawl's community, judged page by page: a profile and the posts of its owner together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from bowerbird.analysis.community.echo import proved
from bowerbird.analysis.community.profile import ProfileReader
from bowerbird.analysis.community.signs import RELATIONS, VERSION, WRITING, Sign, Verdict, signs_in, weighed
from bowerbird.analysis.community.writing import WritingReader
from bowerbird.analysis.places.opened import resolver_in
from bowerbird.model import EarlierJudgement, Judgement, PostKind, Ruling, Seen, Subject, User
from bowerbird.model.subjects.community import JUDGE, NO, YES, Community

BY_PROFILE, BY_POSTS, BY_RELATIONS, BY_PERSON = "profile", "posts", "relations", "person"
BY_MACHINE = frozenset({BY_PROFILE, BY_POSTS, BY_RELATIONS})
POSTS = "posts"
"""In evidence: how many posts were read."""
_CLASSES = (1, 10, 30)
"""From so many posts on a judgement is a stronger one."""
_ENOUGH = 100
"""Posts of one person that are read at most; who was judged by as many is not read again."""

Evidence = Mapping[str, str | float | None]


class Written(Struct, frozen=True):
    """What one person wrote, as far as it is at hand."""

    texts: tuple[str, ...] = ()
    times: tuple[datetime, ...] = ()


NOTHING = Written()


class Examiner:
    """Puts together what is known of one person. Pure: the same is said of the same."""

    def __init__(self, community: Community, cache: Path) -> None:
        """`cache`: where the index of place names is kept."""
        self.community = community
        resolver = resolver_in(cache) if community.countries else None
        self._profile = ProfileReader(community, resolver)
        self._writing = WritingReader(community)

    def verdict(self, user: User, written: Written, former: Evidence, relations: Sign | None = None) -> tuple[Verdict, int]:
        """What is said of somebody, and of how many posts; `former`: the evidence of before, of which posts and neighbours count
        again where there are no more of them now."""
        if self.community.rule == "echo":
            return proved(user, self.community, written.texts), len(written.texts)
        posts, signs = self._of_posts(written, former)
        neighbours = [relations] if relations is not None else signs_in(former, (RELATIONS,))
        used = neighbours if self.community.uses_relations else []
        return weighed((*self._profile.signs(user), *signs, *used), self.community), posts

    def _of_posts(self, written: Written, former: Evidence) -> tuple[int, Sequence[Sign]]:
        before = former.get(POSTS)
        known = int(before) if isinstance(before, int | float) else 0
        texts = written.texts[:_ENOUGH]
        if len(texts) <= known:
            return known, signs_in(former, WRITING)
        return len(texts), list(self._writing.signs(texts, written.times))


class CommunityJudge:
    """Says `yes`, `no` or `undecided` of people; implements `ports.Judge`. A person's word stands: it says nothing then."""

    name = JUDGE

    def __init__(self, examiner: Examiner) -> None:
        self.version = f"{examiner.community.rule} {VERSION}"
        self._examiner = examiner

    def judge(self, seen: Seen) -> Ruling:
        written = _written(seen)
        people = {known: seen.profiles[known] for known in written if known in seen.profiles} | dict(seen.accounts())
        judgements: list[Judgement] = []
        reviewed: dict[tuple[Subject, str], frozenset[str]] = {}
        for known, user in sorted(people.items()):
            item = (Subject.USER, known)
            earlier = earlier_of(seen.before.get(item, ()))
            if earlier is not None and earlier.decided_by is not None:
                continue
            if user.opts_out or known in seen.hidden:
                reviewed[item] = BY_MACHINE
                continue
            said = judgement_of(self._examiner, known, user, written.get(known, NOTHING), earlier)
            if not self._stands(said, earlier):
                reviewed[item] = BY_MACHINE
                judgements.append(said)
        return Ruling(judgements=tuple(judgements), reviewed=reviewed)

    def _stands(self, said: Judgement, earlier: EarlierJudgement | None) -> bool:
        """Whether the same was said before, by the same rules and for as good a reason."""
        if earlier is None or (earlier.value, earlier.version) != (said.value, self.version):
            return False
        return earlier.strength >= said.strength


def community_judge(community: Community, cache: Path) -> CommunityJudge:
    """The judge of a community."""
    return CommunityJudge(Examiner(community, cache))


def judgement_of(
    examiner: Examiner, known: str, user: User, written: Written, earlier: EarlierJudgement | None, relations: Sign | None = None
) -> Judgement:
    """What is said of one account, as it is kept."""
    verdict, posts = examiner.verdict(user, written, evidence_of(earlier), relations)
    kinds = {sign.kind for sign in verdict.signs}
    reason = BY_RELATIONS if RELATIONS in kinds else BY_POSTS if kinds & WRITING else BY_PROFILE
    evidence = {**verdict.evidence, POSTS: posts} if posts else verdict.evidence
    return Judgement(
        subject=Subject.USER,
        id=known,
        value=verdict.value,
        reason=reason,
        confidence=_confidence(verdict),
        strength=sum(posts >= least for least in _CLASSES) + 2 * (RELATIONS in kinds),
        evidence=evidence,
    )


def earlier_of(before: Sequence[EarlierJudgement]) -> EarlierJudgement | None:
    """What stands of somebody's belonging; a person's word before all."""
    own = [each for each in before if each.judge == JUDGE]
    return next((each for each in own if each.decided_by is not None), own[0] if own else None)


def evidence_of(earlier: EarlierJudgement | None) -> Evidence:
    found: Evidence = msgspec.json.decode(earlier.evidence) if earlier is not None else {}
    return found


def is_by_neighbours(evidence: Evidence) -> bool:
    """Whether a judgement rests on the accounts around, so that it is no example for how these count."""
    return isinstance(evidence.get(RELATIONS), int | float)


def _confidence(verdict: Verdict) -> float:
    return (
        verdict.score
        if verdict.value == YES
        else 1 - verdict.score
        if verdict.value == NO
        else max(verdict.score, 1 - verdict.score)
    )


def _written(seen: Seen) -> Mapping[str, Written]:
    """By stored id of the author, what the page shows that people wrote themselves."""
    found: dict[str, list[tuple[str, datetime | None]]] = {}
    for author, text, at in _own_posts(seen):
        found.setdefault(author, []).append((text, at))
    return {
        author: Written(tuple(text for text, _ in posts), tuple(at for _, at in posts if at is not None))
        for author, posts in found.items()
    }


def _own_posts(seen: Seen) -> Iterator[tuple[str, str, datetime | None]]:
    for _, author, post in seen.posts():
        if post.kind is not PostKind.REPOST and post.text:
            yield author, post.text, post.created_at
