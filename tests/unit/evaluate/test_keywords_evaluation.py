"""The evaluation of adaptive keywords, on small made-up recordings with known numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from bowerbird.cli.commands.trying.evaluate import app
from bowerbird.errors import UserError
from bowerbird.evaluate.keywords.comparison import (
    check_targets,
    choose_leave_one_out,
    list_training_events,
)
from bowerbird.evaluate.keywords.published_rkwa import label_keywords
from bowerbird.evaluate.keywords.replay import (
    Replay,
    choose_best_keywords,
    measure,
    rate,
    replay,
    search,
    summarise,
)
from bowerbird.evaluate.keywords.streams import (
    FRAMES,
    Conditions,
    Data,
    Half,
    OrdinaryPost,
    Recording,
    Stream,
    build_stream,
    read_data,
    read_ordinary_posts,
)
from bowerbird.keywords.methods import make_method
from bowerbird.keywords.values import Decision, Estimate, Frame, Settings, State
from bowerbird.model.terms import read_text

DAY = 86_400_000


def make_recording(name: str, begin: int, topic: str, language: str = "eng") -> Recording:
    """A hundred posts in a day: every second one belongs to the event, one in four has the seed."""
    texts = [
        f"{topic} near us {number}" + (f" #{topic}" if number % 4 == 0 else "")
        if number % 2 == 0
        else f"lunch with friends {number}"
        for number in range(100)
    ]
    return Recording(
        name=name,
        language=language,
        seeds=(f"#{topic}",),
        times=tuple(begin * DAY + number * 600_000 for number in range(100)),
        texts=tuple(texts),
        labels=tuple(number % 2 == 0 for number in range(100)),
    )


@pytest.fixture
def data() -> Data:
    recordings = [
        make_recording("flood", 0, "flood"),
        make_recording("same day", 0, "fire"),
        make_recording("quake", 10, "quake"),
        make_recording("terremoto", 20, "terremoto", "spa"),
    ]
    unrelated = [OrdinaryPost(f"ordinary post {number}", "eng") for number in range(3_000)]
    return Data(recordings, unrelated)


def make_stream(posts: Sequence[tuple[float, str, bool]], seeds: tuple[str, ...]) -> Stream:
    """A stream without unrelated posts; times in frames."""
    recording = Recording(name="small", language="eng", seeds=seeds, times=(), texts=(), labels=())
    return Stream(
        recording,
        [read_text(text) for _, text, _ in posts],
        np.array([time for time, _, _ in posts]),
        np.arange(len(posts), dtype=np.int32),
        np.array([is_event for _, _, is_event in posts]),
        np.ones(len(posts), dtype=np.bool_),
        1.0,
        {},
    )


SMALL = (
    (0.1, "#a #b rain", True),
    (0.2, "#b rain", True),
    (1.5, "#b sun", False),
    (2.5, "#c snow", False),
    (59.9, "#a sun", True),
)


def test_measure_known_collection_returns_figures_by_hand() -> None:
    stream = make_stream(SMALL, ("#a",))
    claim = Estimate(mean=0.5, low=0.4, high=0.6)
    collected = np.array([0, 2], dtype=np.int32)
    figures = measure(stream, Replay(collected=collected, keywords=(frozenset({"#a"}),), claims=(claim,)))
    assert (figures["precision"], figures["recall"]) == (0.5, 0.3333)
    assert figures["f1"] == 0.4
    assert figures["noise_over_time"] == [0.5] + [None] * 9
    assert figures["claim_error"] == 0.0


def test_rate_empty_collection_returns_zeros() -> None:
    assert rate(0, 0, 5) == {"f1": 0.0, "precision": 0.0, "recall": 0.0, "collected": 0}


def test_replay_baseline_collects_what_seeds_match() -> None:
    stream = make_stream(SMALL, ("#a", "snow"))
    result = replay(stream, make_method("baseline"))
    assert result.collected.tolist() == [0, 3, 4]
    assert len(result.keywords) == FRAMES + 1


def test_search_never_returns_later_posts() -> None:
    stream = make_stream(SMALL, ("#a",))
    assert [post.reading.tokens for post in search(stream, "b", 0)] == [
        ("#a", "#b", "rain"),
        ("#b", "rain"),
    ]
    assert len(search(stream, "#b", 1)) == 3
    assert search(stream, "#c", 1) == ()


def test_texts_with_phrase_or_account_follows_matcher() -> None:
    posts = [
        (0.0, "bow river rises", True),
        (0.1, "river bow", False),
        (0.2, "thanks @mayor", True),
    ]
    stream = make_stream(posts, ("#a",))
    assert stream.texts_with("bow river").tolist() == [0]
    assert stream.texts_with("@mayor").tolist() == [2]


class Recorder:
    """Asks for one search per frame and remembers what it was given."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def __call__(self, state: State, frame: Frame, settings: Settings) -> Decision:
        self.frames.append(frame)
        return Decision(state=state, probes=("near us",))


def test_replay_shows_no_frame_anything_later(data: Data) -> None:
    stream = build_stream(data, data.recordings["flood"], Conditions(ratio=20))
    recorder = Recorder()
    replay(stream, recorder)
    assert len(recorder.frames) == FRAMES
    for before, frame in zip(recorder.frames, recorder.frames[1:], strict=False):
        shown = [*frame.posts, *frame.earlier, *frame.background]
        assert all(post.at < frame.end for post in shown)
        assert all(frame.start <= post.at for post in frame.posts)
        assert all(post.at < before.end for probe in frame.probes for post in probe.posts)
    assert any(probe.posts for frame in recorder.frames for probe in frame.probes)


def test_replay_without_probes_answers_no_search(data: Data) -> None:
    stream = build_stream(data, data.recordings["flood"], Conditions(ratio=20))
    recorder = Recorder()
    replay(stream, recorder, probes=0)
    assert not any(frame.probes for frame in recorder.frames)


def test_volumes_estimate_the_traffic_of_each_frame(data: Data) -> None:
    stream = build_stream(data, data.recordings["flood"], Conditions(ratio=20, share=1.0))
    recorder = Recorder()
    replay(stream, recorder)
    counts = [end - first for first, end in zip(stream.starts, stream.starts[1:], strict=False)]
    assert recorder.frames[-1].volumes == tuple(counts[-20:])
    assert recorder.frames[0].volumes == (counts[0],)


def test_background_does_not_depend_on_labels(data: Data) -> None:
    flood = data.recordings["flood"]
    shuffled = Recording(
        name=flood.name,
        language=flood.language,
        seeds=flood.seeds,
        times=flood.times,
        texts=flood.texts,
        labels=flood.labels[::-1],
    )
    one, other = (build_stream(data, each, Conditions(ratio=20)) for each in (flood, shuffled))
    assert one.is_event.tolist() != other.is_event.tolist()
    assert one.texts.tolist() == other.texts.tolist()
    assert one.in_background.tolist() == other.in_background.tolist()


def test_stream_has_the_ratio_and_spreads_unrelated_posts_evenly(data: Data) -> None:
    stream = build_stream(data, data.recordings["flood"], Conditions(ratio=20))
    assert (stream.event_size, stream.facts["unrelated"]) == (50, 1_000)
    quarters = np.histogram(stream.times, bins=4, range=(0, FRAMES))[0]
    assert quarters.min() > 0.8 * quarters.max()
    assert abs(stream.in_background.mean() - 0.25) < 0.05


def test_stream_samples_recording_if_texts_are_few(data: Data) -> None:
    stream = build_stream(data, data.recordings["flood"], Conditions(ratio=360))
    assert stream.facts["recording_share"] == 0.5
    assert stream.facts["unrelated"] == 360 * stream.event_size
    assert stream.facts["frames_between_uses"] > 15  # type: ignore[operator]


def test_crowded_stream_keeps_the_shape_of_each_event(data: Data) -> None:
    flood = data.recordings["flood"]
    stream = build_stream(data, flood, Conditions(ratio=20, is_crowded=True))
    assert sorted(stream.facts["other_events"]) == ["quake", "terremoto"]  # type: ignore[call-overload]
    recorded = [time - flood.times[0] for time in flood.times]
    for topic in ("flood", "quake"):
        times = stream.times[stream.positions_with(topic)]
        shape = [time for number, time in enumerate(recorded) if number % 2 == 0]
        assert np.allclose(times, np.array(shape) / (recorded[-1] + 1) * FRAMES)


def test_own_language_takes_off_topic_posts_of_events_at_other_times(data: Data) -> None:
    stream = build_stream(data, data.recordings["flood"], Conditions(ratio=60, language="own"))
    texts = {" ".join(reading.tokens) for reading in stream.readings}
    assert any(text.startswith("ordinary post") for text in texts)
    assert not any("fire" in text or "quake" in text for text in texts)
    spanish = build_stream(data, data.recordings["terremoto"], Conditions(ratio=20))
    assert spanish.facts["unrelated"] == 1_000
    with pytest.raises(UserError):
        build_stream(data, data.recordings["terremoto"], Conditions(ratio=20, language="own"))


def test_best_keywords_cover_the_event() -> None:
    stream = make_stream((*SMALL, (59.95, "the rain stops", True)), ("#a",))
    chosen, figures = choose_best_keywords(stream)
    assert set(chosen) == {"rain", "a"} or set(chosen) == {"rain", "#a"}
    assert figures["f1"] == 1.0
    chosen, figures = choose_best_keywords(stream, hashtags_only=True)
    assert set(chosen) == {"#a", "#b"}
    assert (figures["precision"], figures["recall"]) == (0.75, 0.75)


def test_label_keywords_by_share_of_event_posts() -> None:
    stream = make_stream(SMALL, ("#a",))
    labels = label_keywords(stream, frozenset({"#a", "#b", "#c"}))
    assert {term: label.value for term, label in labels.items()} == {
        "#a": "C1",
        "#b": "C2",
        "#c": "C3",
    }


def test_summarise_counts_missing_claims_as_uncalibrated() -> None:
    figures: dict[str, Any] = {"f1": 0.5, "precision": 0.6, "recall": 0.4, "noise_over_time": [0.1]}
    summary = summarise(
        {
            "a": {**figures, "claim_error": 0.05},
            "b": {**figures, "f1": 0.3, "claim_error": 0.2},
            "c": {**figures, "claim_error": None},
            "d": {**figures, "claim_error": -0.1},
        }
    )
    assert summary["calibrated_share"] == 0.5
    assert summary["worst"] == {"event": "b", "f1": 0.3}
    assert summary["f1"] == 0.45


def test_leave_one_out_never_uses_the_event_or_its_period(data: Data) -> None:
    training = list_training_events(list(data.recordings.values()))
    assert training["flood"] == ["quake", "terremoto"]
    scores = [
        {"flood": 0.9, "same day": 0.9, "quake": 0.1, "terremoto": 0.1},
        {"flood": 0.0, "same day": 0.0, "quake": 0.2, "terremoto": 0.2},
    ]
    chosen = choose_leave_one_out(scores, training)
    assert (chosen["flood"], chosen["quake"]) == (1, 0)


def test_check_targets_compares_each_figure() -> None:
    good = {"f1": 0.81, "precision": 0.9, "calibrated_share": 0.8, "best_other_f1": 0.5}
    crowded = {"f1": 0.7, "precision": 0.6}
    targets = check_targets({**good, "worst_gap": 0.06, "crowded": crowded})
    missed = [name for name, target in targets.items() if not target["is_met"]]
    assert missed == ["crowded precision", "worst_gap"]


def write_folder(folder: Path) -> Path:
    """Two small recordings and ordinary posts, in the layout of the evaluation data."""
    first = (1_366_000_000_000 - 1_288_834_974_657) << 22
    step = 60_000 << 22
    t6 = folder / "events-crisislex-t6" / "2013_Boston_Bombings"
    nlp = folder / "events-crisisnlp"
    tweets = folder / "language-tweets-15"
    for each in (t6, nlp, tweets):
        each.mkdir(parents=True)
    rows = [
        f"'{first + number * step}',\"boston, now #bostonmarathon {number}\",on-topic"
        if number % 2
        else f"'{first + number * step}',lunch {number},off-topic"
        for number in range(20)
    ]
    (t6 / "posts.csv").write_text("tweet id, tweet, label\n" + "\n".join(rows) + "\n")
    rows = [
        f"{first + (10**5 + number) * step}\tpray #napa {number}\tcaution_and_advice"
        if number % 2
        else f"{first + (10**5 + number) * step}\twine {number}\tnot_related_or_irrelevant"
        for number in range(20)
    ]
    (nlp / "2014_California_Earthquake.tsv").write_text("tweet_id\ttext\tlabel\n" + "\n".join(rows) + "\n")
    rows = [f"eng\t{number}\t\t\tplain words {number}" for number in range(2_000)]
    (tweets / "tweets.tsv").write_text("lang\ttweet_id\tsentiment\ttime_utc\ttext\n" + "\n".join(rows) + "\n")
    return folder


def test_read_data_reads_labels_times_and_one_half(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    data = read_data(folder)
    boston = data.recordings["2013_Boston_Bombings"]
    assert (len(boston.texts), sum(boston.labels)) == (20, 10)
    assert boston.texts[1] == "boston, now #bostonmarathon 1"
    assert boston.times[1] - boston.times[0] == 60_000
    halves: Mapping[Half, set[str]] = {half: set() for half in Half}
    for post in read_ordinary_posts(folder):
        halves[Half.of(post.text)].add(post.text)
    assert halves[Half.REFERENCE].isdisjoint(halves[Half.EVALUATION])
    assert {post.text for post in data.unrelated} == halves[Half.EVALUATION]
    assert 0.4 < len(data.unrelated) / 2_000 < 0.6


def test_command_reports_the_agreed_keys(tmp_path: Path) -> None:
    arguments = ["keywords", "--data", str(write_folder(tmp_path)), "--ratio", "20", "--json"]
    result = CliRunner().invoke(app, [*arguments, "--method", "baseline", "--method", "skwa"])
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    keys = {"f1", "precision", "recall", "best_other_f1", "worst_gap", "calibrated_share"}
    assert keys < report.keys()
    assert keys < report["crowded"].keys()
    assert {"methods", "events", "conditions", "published_rkwa"} < report.keys()
    seeds = report["methods"]["baseline"]["alone"]["by_event"]["2014_California_Earthquake"]
    assert (seeds["precision"], seeds["recall"]) == (1.0, 1.0)


def test_command_below_target_exits_with_1(tmp_path: Path) -> None:
    """The seeds alone collect all of these events: nothing can be much better."""
    arguments = ["keywords", "--data", str(write_folder(tmp_path)), "--json"]
    result = CliRunner().invoke(app, [*arguments, "--method", "baseline", "--method", "burst"])
    assert result.exit_code == 1
    targets = json.loads(result.stdout)["targets"]
    assert not targets["f1 above the best other method"]["is_met"]
    assert targets["precision"]["is_met"]


def test_command_without_data_or_with_unknown_names_is_refused(tmp_path: Path) -> None:
    runner = CliRunner()
    missing = runner.invoke(app, ["keywords", "--data", str(tmp_path / "nothing")])
    assert isinstance(missing.exception, UserError)
    folder = str(write_folder(tmp_path))
    for extra in (["--events", "x"], ["--method", "x"], ["--language", "x"]):
        result = runner.invoke(app, ["keywords", "--data", folder, *extra])
        assert isinstance(result.exception, UserError)
