"""Conversion of dialogues to TRADE's inputs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.file_shapes import ShapeError
from mwzeval.crosswoz.models.trade import (
    SLOTS,
    SPECIAL,
    SYSTEM,
    UNKNOWN,
    USER,
    Example,
    Text,
    Vocabulary,
    filled,
)
from mwzeval.crosswoz.scoring.baselines import sparse
from mwzeval.crosswoz.training import TradeSettings
from tests.crosswoz.small_world import small_gold

CHARACTERS = TradeSettings(characters=True)
WORDS = TradeSettings()
DIALOGUES = list(small_gold().fold.dialogues.values())


def spelled(example: Example, vocabulary: Vocabulary) -> list[str]:
    """Return the words and the speaker marks of a history."""
    marks = {USER: "user: ", SYSTEM: "system: "}
    return [
        marks.get(number) or vocabulary.value([number], example.unknown)
        for number in example.words.tolist()
    ]


@pytest.mark.parametrize("settings", [CHARACTERS, WORDS])
@pytest.mark.parametrize("known", [DIALOGUES, DIALOGUES[:1], []])
def test_encoded_histories_and_states_can_be_decoded(
    settings: TradeSettings, known: list[Dialogue]
) -> None:
    vocabulary = Vocabulary.of(known, settings)
    for dialogue in DIALOGUES:
        heard = ""
        examples = list(vocabulary.examples([dialogue]))
        for example, exchange in zip(examples, dialogue.exchanges, strict=True):
            heard += f"user: {exchange.user.utterance}"
            assert "".join(spelled(example, vocabulary)) == heard
            heard += f"system: {exchange.system.utterance}"
            state = {
                (*SLOTS[slot], vocabulary.value(words, example.unknown))
                for slot, words in example.values.items()
                if UNKNOWN not in words
            }
            gold = {
                (domain, slot, value)
                for domain, slots in sparse(exchange.system.first_query).items()
                for slot, value in slots.items()
            }
            assert state == gold if known == DIALOGUES else state <= gold


def test_unknown_words_of_a_history_get_their_own_numbers() -> None:
    vocabulary = Vocabulary(("a", "b"), CHARACTERS)
    dialogue = DIALOGUES[1]  # "有暖气的酒店？什么类型？", 酒店设施: 暖气, 酒店类型: 经济
    (example,) = vocabulary.examples([dialogue])
    assert example.unknown == tuple(dict.fromkeys("有暖气的酒店？什么类型？"))
    size = SPECIAL + 2
    assert example.words.tolist()[:4] == [USER, size, size + 1, size + 2]
    assert example.values[SLOTS.index(("酒店", "酒店设施"))] == (size + 1, size + 2)
    assert example.values[SLOTS.index(("酒店", "酒店类型"))] == (UNKNOWN, UNKNOWN)


def test_long_histories_and_values_are_truncated() -> None:
    vocabulary = Vocabulary.of(DIALOGUES, CHARACTERS)
    short = replace(vocabulary, settings=replace(CHARACTERS, longest_history=5, longest_value=1))
    pairs = zip(short.examples(DIALOGUES), vocabulary.examples(DIALOGUES), strict=True)
    for example, whole in pairs:
        assert spelled(example, short) == spelled(whole, vocabulary)[-5:]
        assert all(len(words) == 1 for words in example.values.values())


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("北京", ["北京"]),
        ("京饭", []),  # does not begin and end at word borders
        ("饭店", ["饭", "店"]),  # the last occurrence counts
        ("店北京", []),  # spans two utterances
        ("无", []),
    ],
)
def test_values_are_found_in_the_words_of_a_history(value: str, words: list[str]) -> None:
    assert Text([USER, "北京", "饭店", SYSTEM, "饭", "店", USER, "北京"]).words_of(value) == words


def test_vocabulary_includes_value_words_and_excludes_rare_words() -> None:
    known = Vocabulary.of(DIALOGUES, CHARACTERS).words
    states = [e.system.first_query for dialogue in DIALOGUES for e in dialogue.exchanges]
    assert set(known) >= {c for state in states for value in filled(state).values() for c in value}
    assert ("荐" in known, "您" in known) == (True, False)  # they occur twice and once
    assert list(known) == sorted(set(known))


@pytest.mark.parametrize("words", [None, "ab", ["a", 1], ["a", "a"], ["a", ""]])
def test_invalid_vocabularies_are_refused(words: object) -> None:
    with pytest.raises(ShapeError):
        Vocabulary.checked(words, WORDS)
