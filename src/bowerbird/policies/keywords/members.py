"""The set of keywords and its rules: who may come in, who stays whatever happens, who leaves, how many there may be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from bowerbird.errors import UserError
from bowerbird.model.terms import term_form
from bowerbird.policies.keywords.values import Change, Decision, Frame, Keyword, Settings, State


def begun(method: str, seeds: Sequence[str], settings: Settings) -> State:
    """The state before the first frame: the seeds in normal form are the keywords. Raises `UserError` for what is no term."""
    forms = tuple(dict.fromkeys(checked(seed) for seed in seeds))
    if not forms:
        raise UserError("Keywords must begin with something: name at least one seed, such as a hashtag.")
    if len(forms) > settings.most:
        raise UserError(f"There are {len(forms)} seeds, and at most {settings.most} keywords are allowed.")
    return State(method=method, seeds=forms, keywords={form: Keyword(is_seed=True) for form in forms})


def checked(written: str) -> str:
    """The normal form of a term that a person wrote; raises `UserError` if it is none."""
    if not (form := term_form(written)):
        raise UserError(
            f"{written!r} is no keyword: write a hashtag (#flood), a word, a phrase of up to three words, or @account."
        )
    return form


def spelled(state: State, written: Iterable[str]) -> State:
    """The same with the spellings that the user has for keywords: a server that tells accents apart is asked for these too."""
    forms = {checked(each): " ".join(each.lower().split()) for each in written if not each.isascii()}
    keywords = {
        term: replace(keyword, written=(forms[term],)) if term in forms and not keyword.written else keyword
        for term, keyword in state.keywords.items()
    }
    return replace(state, keywords=keywords)


def pinned(state: State, term: str) -> State:
    """The same with a term that stays from now on, as the user wishes."""
    form = checked(term)
    keywords = {**state.keywords, form: state.keywords.get(form, Keyword())}
    return replace(
        state,
        keywords=keywords,
        pinned=tuple(dict.fromkeys((*state.pinned, form))),
        blocked=tuple(each for each in state.blocked if each != form),
    )


def blocked(state: State, term: str) -> State:
    """The same without a term, which stays out from now on, as the user wishes; a seed too."""
    form = checked(term)
    return replace(
        state,
        keywords={each: keyword for each, keyword in state.keywords.items() if each != form},
        pinned=tuple(each for each in state.pinned if each != form),
        blocked=tuple(dict.fromkeys((*state.blocked, form))),
    )


def freed(state: State, term: str) -> State:
    """The same with a term that the method decides about again."""
    form = checked(term)
    return replace(
        state,
        pinned=tuple(each for each in state.pinned if each != form),
        blocked=tuple(each for each in state.blocked if each != form),
    )


def is_kept(state: State, term: str, settings: Settings) -> bool:
    """Whether a keyword stays whatever the counts say."""
    return term in state.pinned or (term in state.seeds and not settings.may_lose_seeds)


def may_enter(state: State, term: str, settings: Settings) -> bool:
    return term not in state.keywords and may_stay(state, term, settings)


def may_stay(state: State, term: str, settings: Settings) -> bool:
    """Whether neither the user nor the blacklist keeps it out; what the user pinned may stay in spite of a blacklist."""
    return term not in state.blocked and (term not in settings.blacklist or term in state.pinned)


def counted(state: State, frame: Frame, settings: Settings) -> State:
    """The same after a frame: posts of the whole period are added up, and quiet frames in a row are counted."""
    keywords = {
        term: replace(
            keyword,
            posts=keyword.posts + (count := frame.count(term)),
            quiet=0 if count >= settings.minimum else keyword.quiet + 1,
        )
        for term, keyword in state.keywords.items()
    }
    return replace(state, keywords=keywords, frames=state.frames + 1)


def quiet_exits(state: State, settings: Settings) -> tuple[Change, ...]:
    """Keywords that had too few posts for too long."""
    return tuple(
        Change(
            term=term,
            reason=f"fewer than {settings.minimum} posts in each of {keyword.quiet} frames in a row",
            numbers={"quiet": keyword.quiet, "posts": keyword.posts},
        )
        for term, keyword in state.keywords.items()
        if keyword.quiet >= settings.quiet_frames and not is_kept(state, term, settings)
    )


def changed(state: State, frame: Frame, entries: Iterable[Change], exits: Iterable[Change]) -> State:
    """The same with keywords that came in, since the end of the frame, and without those that left."""
    gone = {each.term for each in exits}
    stay = {term: keyword for term, keyword in state.keywords.items() if term not in gone}
    came = {
        each.term: Keyword(since=frame.ended, posts=frame.count(each.term), written=frame.written.get(each.term, ()))
        for each in entries
    }
    return replace(state, keywords={**stay, **came})


def room(state: State, exits: Sequence[Change], settings: Settings) -> int:
    return max(0, settings.most - len(state.keywords) + len(exits))


def changes_between(before: Mapping[str, Keyword], decision: Decision) -> tuple[set[str], set[str]]:
    """The terms that are new in a decision's state, and those that are no longer there."""
    after = decision.state.keywords.keys()
    return set(after - before.keys()), set(before.keys() - after)
