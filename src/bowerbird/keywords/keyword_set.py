"""The set of keywords: how it begins, what a user may change in it, and the rules that all methods share.

Rules:

- Seeds stay, except with `Settings.may_drop_seeds`. Pinned keywords always stay.
- A blocked term never enters, a blacklisted term only if it is pinned.
- A keyword leaves after `Settings.quiet_frames` frames in a row with fewer than
  `Settings.min_posts` posts each, unless it is protected.
- There are never more than `Settings.max_keywords`, except if a user pins more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from bowerbird.errors import UserError
from bowerbird.keywords.values import Change, Frame, Keyword, Settings, State
from bowerbird.model.terms import term_form


def replace_seeds(state: State, seeds: Sequence[str], settings: Settings) -> State:
    """Return the state with these seeds, which become keywords; earlier ones leave unless they are pinned.

    Seeds that were blocked, or that left before, stay out. Raises `UserError` for an invalid or blacklisted seed,
    for no seed, and for too many."""
    forms = tuple(dict.fromkeys(parse_keyword(seed) for seed in seeds))
    if not forms:
        raise UserError(
            "An event crawl needs at least one keyword.", 'Add seeds = ["#hashtag"] to the crawl file.', code="no_seeds"
        )
    if len(forms) > settings.max_keywords:
        raise UserError(f"{len(forms)} seeds, but at most {settings.max_keywords} keywords.", code="too_many")
    if listed := [form for form in forms if form in settings.blacklist]:
        raise UserError(f"The seed {listed[0]!r} is in the blacklist.", "Remove it from one of the two.")
    left = set(state.seeds) - {*forms, *state.pinned}
    keywords = {term: keyword for term, keyword in state.keywords.items() if term not in left}
    keywords |= {term: Keyword() for term in forms if term not in (*keywords, *state.seeds, *state.blocked)}
    for seed in seeds:
        keyword = keywords.get(parse_keyword(seed))
        # The user's own spelling, where it contains accents.
        if keyword is not None and not keyword.spellings and not seed.isascii():
            keywords[parse_keyword(seed)] = replace(keyword, spellings=(" ".join(seed.lower().split()),))
    return replace(state, seeds=forms, keywords=keywords)


def parse_keyword(text: str) -> str:
    """Return the normal form of a keyword that a user typed; raises `UserError` if it is invalid."""
    form = term_form(text)
    if not form:
        raise UserError(
            f"Invalid keyword {text!r}.", "Use a hashtag (#flood), a word, a phrase of up to three words, or @account."
        )
    if text.strip().startswith("#") and not form.startswith("#"):
        raise UserError(f"Invalid hashtag {text!r}.", "Use letters, digits and _, with at least one letter.")
    return form


def follow_order(state: State, order: str, term: str) -> State:
    """Return the state after an order of a user: `pin` keeps a term, `block` keeps it out, seeds included, `free` ends both.

    A seed that is no longer blocked is a keyword again."""
    keywords = {each: keyword for each, keyword in state.keywords.items() if order != "block" or each != term}
    pinned = tuple(each for each in state.pinned if each != term)
    blocked = tuple(each for each in state.blocked if each != term)
    if order == "pin":
        keywords.setdefault(term, Keyword())
        pinned = (*pinned, term)
    elif order == "block":
        blocked = (*blocked, term)
    elif term in state.blocked and term in state.seeds:
        keywords[term] = Keyword()
    return replace(state, keywords=keywords, pinned=pinned, blocked=blocked)


def is_protected(state: State, term: str, settings: Settings) -> bool:
    """True if no count or estimate removes the keyword."""
    return term in state.pinned or (term in state.seeds and not settings.may_drop_seeds)


def may_stay(state: State, term: str, settings: Settings) -> bool:
    """True unless the user blocked the term or the blacklist contains it."""
    return term not in state.blocked and (term not in settings.blacklist or term in state.pinned)


def may_enter(state: State, term: str, settings: Settings) -> bool:
    """True if the term is not a keyword yet and nothing forbids it.

    Hashtags that services name may be invalid as keywords: too long, or with a space."""
    return term not in state.keywords and may_stay(state, term, settings) and term_form(term) == term


def count_room(state: State, exits: Sequence[Change], settings: Settings) -> int:
    """Return how many keywords may enter after these exits."""
    return max(0, settings.max_keywords - len(state.keywords) + len(exits))


def add_posts(state: State, counts: Mapping[str, int], settings: Settings) -> State:
    """Return the state after a frame in which keywords collected this many posts."""
    keywords = {}
    for term, keyword in state.keywords.items():
        count = counts.get(term, 0)
        is_quiet = count < settings.min_posts
        keywords[term] = replace(keyword, posts=keyword.posts + count, quiet=keyword.quiet + 1 if is_quiet else 0)
    return replace(state, keywords=keywords, frames=state.frames + 1)


def find_quiet(state: State, settings: Settings) -> tuple[Change, ...]:
    """Return the exits of keywords that were quiet for too long."""
    return tuple(
        Change(
            term=term,
            reason=f"fewer than {settings.min_posts} posts in each of {keyword.quiet} frames",
            numbers={"quiet": keyword.quiet, "posts_collected": keyword.posts},
        )
        for term, keyword in state.keywords.items()
        if keyword.quiet >= settings.quiet_frames and not is_protected(state, term, settings)
    )


def apply_changes(
    state: State,
    frame: Frame,
    entries: Iterable[Change],
    exits: Iterable[Change],
    counts: Mapping[str, int],
) -> State:
    """Return the state with the entries, which count from the end of the frame, and no exits."""
    left = {each.term for each in exits}
    keywords = {term: keyword for term, keyword in state.keywords.items() if term not in left}
    for entry in entries:
        keywords[entry.term] = Keyword(
            since=frame.end,
            posts=counts.get(entry.term, 0),
            spellings=frame.spellings.get(entry.term, ()),
        )
    return replace(state, keywords=keywords)
