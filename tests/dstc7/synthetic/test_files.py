"""The generator: the forms and proportions of the recipe, and the same bytes for the same seed."""

from __future__ import annotations

import json
import re
from collections import Counter
from math import log, sqrt
from pathlib import Path
from statistics import fmean, median

import numpy as np
import pytest

from mwzeval.dstc7.baselines.knowledge_files import (
    by_name,
    read_courses,
    read_man_pages,
    relevant,
)
from mwzeval.dstc7.reading.dialogues import Example, read_examples, read_pool
from mwzeval.dstc7.reading.submission import write_submission
from mwzeval.dstc7.reading.targets import read_targets
from mwzeval.dstc7.reading.tracks import TRACK_NAMES, Track, track_of
from mwzeval.dstc7.scoring.evaluation import Gold, Options, evaluate, validate
from mwzeval.dstc7.synthetic import Recipe, Sizes, World, write_track
from mwzeval.dstc7.synthetic.files import identities
from mwzeval.dstc7.synthetic.world import Zipf, vocabulary
from mwzeval.errors import UsageError
from mwzeval.scores.findings import Findings

SMALL = Recipe(vocabulary=3_000, topics=20, pool=1_000)
SIZES = Sizes(train=3, dev=4, test=30)


@pytest.fixture(scope="module")
def world() -> World:
    return World(SMALL)


def written(name: str, world: World, folder: Path) -> dict[str, Path]:
    return write_track(folder, track_of(name), SIZES, world=world)


@pytest.mark.parametrize(
    "name",
    [
        name if number < 2 else pytest.param(name, marks=pytest.mark.integration)
        for number, name in enumerate(TRACK_NAMES)
    ],
)
def test_a_perfect_submission_for_each_track_is_strictly_valid(
    name: str, world: World, tmp_path: Path
) -> None:
    track = track_of(name)
    files = written(name, world, tmp_path)
    targets = read_targets(files["targets"])
    pool = list(read_pool(files["pool"], Findings())) if track.has_pool else []
    rankings = []
    for example in read_examples(files["test"]):
        right = targets[example.example_id]
        ids = list(dict.fromkeys([*right, *(c.candidate_id for c in example.candidates), *pool]))
        ids = ids[: 101 if "NONE" in right else 100]
        pairs = [(identity, 1 - place / 200) for place, identity in enumerate(ids)]
        rankings.append((example.example_id, pairs))
    path = tmp_path / track.file_name
    write_submission(path, rankings)
    gold = Gold(files["targets"], files["test"], files.get("pool"))
    assert {p.kind for p in validate(path, gold, track, Options(strict=True))} <= {"pool-size"}
    assert evaluate(path, gold).report().metrics["ranking"]["recall"]["1"] == 1


@pytest.mark.parametrize("name", ["dstc7-ubuntu-1", "dstc7-advising-3"])
def test_the_same_seed_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    contents = []
    for run in ("one", "two"):
        folder = tmp_path / run
        folder.mkdir()
        files = write_track(folder, track_of(name), Sizes(2, 2, 2), SMALL)
        contents.append({key: path.read_bytes() for key, path in files.items()})
    assert contents[0] == contents[1]
    folder = tmp_path / "other"
    folder.mkdir()
    recipe = Recipe(seed=8, vocabulary=3_000, topics=20, pool=1_000)
    files = write_track(folder, track_of(name), Sizes(2, 2, 2), recipe)
    assert files["dev"].read_bytes() != contents[0]["dev"]


def test_more_examples_leave_the_first_ones_as_they_are(world: World, tmp_path: Path) -> None:
    examples = []
    for size in (2, 5):
        folder = tmp_path / str(size)
        folder.mkdir()
        files = write_track(folder, Track("ubuntu", 1), Sizes(0, 0, size), world=world)
        examples.append(read_examples(files["test"]))
    assert examples[1][:2] == examples[0]


def test_ubuntu_alternates_and_ends_with_who_asked(world: World, tmp_path: Path) -> None:
    for example in read_examples(written("dstc7-ubuntu-1", world, tmp_path)["test"]):
        speakers = [message.speaker for message in example.messages]
        assert len(speakers) % 2 == 1
        assert 3 <= len(speakers) <= 43
        assert set(speakers[::2]) == {"participant_1"}
        assert set(speakers[1::2]) == {"participant_2"}
        assert len({c.candidate_id for c in example.candidates}) == 100
        assert all(re.fullmatch("[A-Z0-9]{12}", c.candidate_id) for c in example.candidates)


def test_train_and_dev_have_the_answers_and_preferences_but_test_has_not(
    world: World, tmp_path: Path
) -> None:
    files = written("dstc7-advising-1", world, tmp_path)
    for split in ("train", "dev", "test"):
        for example in read_examples(files[split]):
            assert (example.correct is None) == (split == "test")
            assert example.profile is not None
            assert ("Aggregated" in example.profile) == (split != "test")
            assert all(int(c.candidate_id) < 10**9 for c in example.candidates)


def test_subtask_3_has_two_to_six_answers_and_their_groups(world: World, tmp_path: Path) -> None:
    files = written("dstc7-advising-3", world, tmp_path)
    counts = Counter(len(correct) for correct in read_targets(files["targets"]).values())
    assert set(counts) <= {2, 3, 4, 5, 6}
    assert len(counts) > 2
    groups = json.loads(files["paraphrases"].read_text("utf-8"))
    assert len(groups) == SIZES.train + SIZES.dev + SIZES.test
    assert all(isinstance(text, str) for group in groups for text in group)


def test_subtask_4_has_none_in_a_fifth(world: World, tmp_path: Path) -> None:
    files = write_track(tmp_path, Track("ubuntu", 4), Sizes(0, 0, 300), world=world, listed=20)
    answers = list(read_targets(files["targets"]).values())
    assert 0.12 < answers.count(("NONE",)) / len(answers) < 0.28


def test_subtask_5_names_what_can_be_looked_up(world: World, tmp_path: Path) -> None:
    files = written("dstc7-ubuntu-5", world, tmp_path)
    pages = by_name(read_man_pages(files["man_pages"]))
    for example in read_examples(files["test"]):
        assert relevant(pages, example.context.split())
    courses = read_courses(written("dstc7-advising-5", world, tmp_path)["courses"])
    known = {course.course for course in courses.values()}
    for example in read_examples(files["test"].parent / "advising_test_subtask_1.json"):
        assert known & set(example.context.split())


@pytest.mark.integration
def test_full_scale_texts_are_as_long_and_as_rare_as_real_ones(tmp_path: Path) -> None:
    files = write_track(tmp_path, Track("ubuntu", 1), Sizes(0, 0, 150))
    examples = read_examples(files["test"])
    replies = [len(c.utterance.split()) for e in examples for c in e.candidates]
    messages = [len(m.utterance.split()) for e in examples for m in e.messages]
    assert 10 < fmean(replies) < 12.5
    assert 7 <= median(replies) <= 10
    assert 14 < fmean(messages) < 17.5
    assert 11 <= median(messages) <= 13
    assert 3 <= median(len(e.messages) for e in examples) <= 7
    short = sum(length <= 2 for length in replies) / len(replies)
    assert 0.04 < short < 0.1
    texts = Counter(c.utterance for e in examples for c in e.candidates)
    assert max(texts.values()) > 10
    assert 0.2 <= _found_by_shared_words(examples, read_targets(files["targets"])) <= 0.45


def _found_by_shared_words(examples: tuple[Example, ...], targets: object) -> float:
    """Recall@1 of the sum of inverse document frequencies of shared words, by length."""
    assert isinstance(targets, dict)
    spread = Counter(
        word for e in examples for c in e.candidates for word in set(c.utterance.split())
    )
    total = sum(len(e.candidates) for e in examples)
    hits = 0
    for example in examples:
        said = set(example.context.split())
        best = max(
            example.candidates,
            key=lambda c: (
                sum(log(total / spread[w]) for w in set(c.utterance.split()) & said)
                / sqrt(len(c.utterance.split()))
            ),
        )
        hits += best.candidate_id == targets[example.example_id][0]
    return hits / len(examples)


def test_frequent_words_are_as_frequent_as_zipf_has_them() -> None:
    generator = np.random.default_rng(3)
    drawn = Counter(Zipf(1_000, 1.05).draw(200_000, generator).tolist())
    assert drawn[0] / drawn[9] == pytest.approx(10**1.05, rel=0.1)
    words = vocabulary(20_000, generator)
    assert len(set(words)) == 20_000


@pytest.mark.parametrize("dataset", ["ubuntu", "advising"])
def test_ids_never_come_twice(dataset: str) -> None:
    made = identities("ubuntu" if dataset == "ubuntu" else "advising", 0, 50_000)
    assert len(set(made)) == 50_000
    assert identities("ubuntu", 10, 5) == identities("ubuntu", 0, 15)[10:]


def test_a_split_has_no_negative_size() -> None:
    with pytest.raises(UsageError, match="train"):
        Sizes(train=-1)
