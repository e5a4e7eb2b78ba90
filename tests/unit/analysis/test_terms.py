"""Terms: when two are the same, what a post is made of, and which keywords it carries."""

from __future__ import annotations

import pytest

from bowerbird.model.terms import Kind, Matcher, family, kind_of, read_text, term_form
from bowerbird.model.terms.matcher import overlapping


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("#London2012", "#london2012"),
        ("\uff03London\uff12\uff10\uff11\uff12", "#london2012"),
        ("#Inundación", "#inundacion"),
        ("#GROẞ", "#gross"),
        ("#Kraków", "#krakow"),
        ("#Łódź", "#lodz"),
        ("#наводнение", "#наводнение"),
        ("#बाढ़", "#बाढ़"),
        ("#台風", "#台風"),
        ("#ﾀｲﾌｰﾝ", "#タイフーン"),
        ("  Bow   River ", "bow river"),
        ("don\u2019t", "don't"),
        ("@Mayor", "@mayor"),
        ("@Alice@Mastodon.social", "@alice@mastodon.social"),
        ("@alice flood", ""),
        ("#1", "1"),
        ("!!!", ""),
        ("one two three four", ""),
        ("#" + "a" * 101, ""),
    ],
)
def test_case_accents_and_width_do_not_matter(written: str, form: str) -> None:
    assert term_form(written) == form


def test_a_form_is_its_own_form() -> None:
    for written in ("#Überschwemmung", "İstanbul", "#ﬂood", "Ångström", "#வெள்ளம்", "#水害"):
        assert term_form(term_form(written)) == term_form(written)


def test_the_kind_is_seen_from_the_form() -> None:
    assert [kind_of(term) for term in ("#flood", "flood", "bow river", "@mayor")] == [
        Kind.HASHTAG,
        Kind.WORD,
        Kind.PHRASE,
        Kind.ACCOUNT,
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("#flood", "#floods"),
        ("city", "cities"),
        ("#munchen", "#muenchen"),
        ("#bowriver", "bow river"),
        ("inundacao", "inundacoes"),
        ("#queenslandfloods", "queensland flood"),
    ],
)
def test_plurals_spellings_and_joined_words_are_of_one_family(one: str, other: str) -> None:
    assert family(one) == family(other)


def test_names_that_end_in_s_are_not_cut_to_pieces() -> None:
    assert family("bus") != family("bu")
    assert family("glass") != family("glas")


def test_a_post_is_read_with_links_left_out_and_tags_of_the_service_added() -> None:
    reading = read_text(
        "Rain at https://t.co/x #Flood, says @Mayor&#39; #1", tags=("BowRiver", "flood"), author="Ann.bsky.social"
    )
    assert reading.tokens == ("rain", "at", "#flood", "says", "@mayor", "39", "1", "#bowriver", "@ann.bsky.social")


def test_read_text_link_without_scheme_is_left_out() -> None:
    reading = read_text(
        "Flood and/or storm: www.river.example or news.river.example/story?id=1 today.Tomorrow https://a.example/b"
    )
    assert reading.tokens == ("flood", "and", "or", "storm", "or", "today", "tomorrow")


def test_words_tags_phrases_accounts_and_unspaced_scripts_are_matched() -> None:
    matcher = Matcher({"#sandy", "flood", "bow river", "@mayor", "@ann@b.example", "台風"})
    texts = {
        "It is #Sandy": {"#sandy"},
        "sandy beach, floods": set(),
        "FLOOD!": {"flood"},
        "#flood": {"flood"},
        "the Bow, River": {"bow river"},
        "river bow": set(),
        "dear @Mayor": {"@mayor"},
        "dear @mayor@city.example": {"@mayor"},
        "@ann@b.example and @ann@c.example": {"@ann@b.example"},
        "大型台風が来る": {"台風"},
        "#Sandysandy": set(),
        "e-mail@mayor": set(),
    }
    assert {text: matcher.matched(read_text(text)) for text in texts} == texts
    assert matcher.matches("nothing", author="mayor")
    assert not Matcher(()).matches("anything")


def test_terms_that_always_come_together_overlap() -> None:
    assert overlapping("#flood", "flood")
    assert overlapping("bow river", "river")
    assert not overlapping("#flood", "#floods")
    assert not overlapping("river", "flood")
