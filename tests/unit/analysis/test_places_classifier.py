"""Areas of accounts and posts."""

from __future__ import annotations

from typing import Any

from bowerbird.analysis.places.classifier import PlaceClassifier, find_area
from bowerbird.analysis.places.resolver import open_resolver
from bowerbird.model import Page, Place, Post, Saved, Seen, User
from bowerbird.model.work.calls import SavedPost
from bowerbird.settings import load_settings

RESOLVER = open_resolver(load_settings().cache_folder)
CLASSIFIER = PlaceClassifier([find_area("Portugal", RESOLVER)], RESOLVER)
PORTO = Place(longitude=-8.61, latitude=41.15)
LISBON_USER = User(id="x:1", key="1", location="Lisboa, Portugal")


def post(**more: Any) -> Post:
    return Post(id="x:10", key="10", author="x:1", text="a word", **more)


def seen(posted: Post, hidden: frozenset[str] = frozenset()) -> Seen:
    saved = Saved(posts=(SavedPost(posted.id, posted.key, posted.author, True),))
    return Seen(page=Page(posts=(posted,)), saved=saved, hidden=hidden)


def test_judge_hidden_author_has_no_label() -> None:
    posted = post(place=PORTO)
    assert {each.id for each in CLASSIFIER.judge(seen(posted)).judgements} == {"x:1", "x:10"}
    assert CLASSIFIER.judge(seen(posted, frozenset({"x:1"}))).judgements == ()


def test_locate_post_unknown_place_falls_back_to_the_author() -> None:
    joke, elsewhere = post(place=Place(name="Home sweet home")), post(place=Place(name="Berlin"))
    assert [each.area for each in CLASSIFIER.locate_post(joke, LISBON_USER)] == ["Portugal"]
    assert CLASSIFIER.locate_post(elsewhere, LISBON_USER) == []
