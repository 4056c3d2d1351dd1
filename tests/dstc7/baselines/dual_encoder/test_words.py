from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from mwzeval.dstc7.baselines.dual_encoder.arrays import Settings, candidate_bags, context_bags
from mwzeval.dstc7.baselines.dual_encoder.model import Vocabulary
from mwzeval.errors import UsageError

COUNTS = {"b": 3, "a": 3, "the": 9, "once": 1, "d": 2}


@pytest.mark.parametrize(
    ("minimum_count", "largest", "expected"),
    [
        (2, 100, ("the", "a", "b", "d")),
        (1, 100, ("the", "a", "b", "d", "once")),
        (2, 2, ("the", "a")),
        (10, 100, ()),
    ],
)
def test_the_most_frequent_words_are_learned(
    minimum_count: int, largest: int, expected: tuple[str, ...]
) -> None:
    vocabulary = Vocabulary.learn(COUNTS, minimum_count=minimum_count, largest=largest, buckets=4)
    assert vocabulary.words == expected
    assert len(vocabulary) == len(expected) + 4
    assert vocabulary.numbers(expected) == list(range(len(expected)))


@pytest.mark.integration
def test_unknown_words_share_buckets_that_are_the_same_in_every_process() -> None:
    vocabulary = Vocabulary(("the",), buckets=50)
    numbers = vocabulary.numbers_of("The mdadm the XORG mdadm")
    assert numbers[0] == numbers[2] == 0
    assert numbers[1] == numbers[4] != numbers[3]
    assert all(1 <= number <= 50 for number in (numbers[1], numbers[3]))
    program = (
        "from mwzeval.dstc7.baselines.dual_encoder.model import Vocabulary\n"
        "print(Vocabulary(('the',), buckets=50).numbers_of('The mdadm the XORG mdadm'))"
    )
    for hash_seed in ("1", "2"):
        ran = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stdout.strip() == str(numbers)


def test_contexts_keep_their_latest_words_and_how_old_they_are() -> None:
    bags = context_bags([[[1, 2, 3], [4], [], [5, 6]], [[7]]], most_words=4, most_ages=3)
    first = dict(zip(bags.words[: bags.starts[1]].tolist(), bags.ages.tolist(), strict=False))
    assert first == {5: 0, 6: 0, 4: 2, 3: 2}  # 2 stands for two messages ago and more
    assert bags.words[bags.starts[1] :].tolist() == [7]


def test_candidates_keep_their_first_words() -> None:
    bags = candidate_bags([[1, 2, 3], [], [4]], most_words=2)
    assert (bags.words.tolist(), bags.starts.tolist()) == ([1, 2, 4], [0, 2, 2, 3])
    assert not bags.ages.any()


def test_texts_are_taken_in_any_order() -> None:
    bags = context_bags([[[1, 2]], [[3]], [[]], [[4], [5, 6]]], 9, 9)
    taken = bags.take(np.array([3, 2, 0]))
    assert taken.words.tolist() == [5, 6, 4, 1, 2]
    assert taken.ages.tolist() == [0, 0, 1, 0, 0]
    assert taken.starts.tolist() == [0, 3, 3, 5]


@pytest.mark.parametrize(
    "wrong",
    [
        {"dimensions": 0},
        {"batch_size": 1},
        {"dropout": 1.0},
        {"learning_rate": 0},
        {"learning_rate": float("nan")},
        {"seed": -1},
        {"epochs": True},
        {"shared": 1},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Settings(**wrong)  # type: ignore[arg-type]
