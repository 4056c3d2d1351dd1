"""Dialogues as numbers for TRADE, and what its figures in the paper are counts of."""

from __future__ import annotations

from collections import Counter

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
from mwzeval.crosswoz.scoring.scores import TYPE_SCOPES, turn_scopes
from mwzeval.crosswoz.training import TradeSettings
from tests.crosswoz.real_data import fold
from tests.crosswoz.small_world import small_gold

CHARACTERS = TradeSettings(characters=True)
WORDS = TradeSettings()
DIALOGUES = list(small_gold().fold.dialogues.values())


def said(example: Example, vocabulary: Vocabulary) -> list[str]:
    """Return the utterances of a history, with who says them."""
    utterances: list[str] = []
    for number in example.words.tolist():
        if number in (USER, SYSTEM):
            utterances.append("user: " if number == USER else "system: ")
        else:
            utterances[-1] += vocabulary.value([number], example.unknown)
    return utterances


def spelled(example: Example, vocabulary: Vocabulary) -> list[str]:
    """Return the words of a history, "" for who speaks."""
    return [
        vocabulary.value([number], example.unknown) if number >= SPECIAL else ""
        for number in example.words.tolist()
    ]


@pytest.mark.parametrize("settings", [CHARACTERS, WORDS])
@pytest.mark.parametrize("known", [DIALOGUES, DIALOGUES[:1], []])
def test_histories_and_states_can_be_read_back(
    settings: TradeSettings, known: list[Dialogue]
) -> None:
    vocabulary = Vocabulary.of(known, settings)
    for dialogue in DIALOGUES:
        heard: list[str] = []
        examples = list(vocabulary.examples([dialogue]))
        for example, exchange in zip(examples, dialogue.exchanges, strict=True):
            heard.append(f"user: {exchange.user.utterance}")
            assert said(example, vocabulary) == heard
            heard.append(f"system: {exchange.system.utterance}")
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


def test_a_word_that_is_not_known_has_a_number_of_its_own() -> None:
    vocabulary = Vocabulary(("a", "b"), CHARACTERS)
    dialogue = DIALOGUES[1]  # "有暖气的酒店？什么类型？", 酒店设施: 暖气, 酒店类型: 经济
    (example,) = vocabulary.examples([dialogue])
    assert example.unknown == tuple(dict.fromkeys("有暖气的酒店？什么类型？"))
    size = SPECIAL + 2
    assert example.words.tolist()[:4] == [USER, size, size + 1, size + 2]
    assert example.values[SLOTS.index(("酒店", "酒店设施"))] == (size + 1, size + 2)
    assert example.values[SLOTS.index(("酒店", "酒店类型"))] == (UNKNOWN, UNKNOWN)


def test_only_the_last_words_and_the_first_of_values_are_kept() -> None:
    short = TradeSettings(characters=True, longest_history=5, longest_value=1)
    vocabulary = Vocabulary.of(DIALOGUES, short)
    for example, whole in zip(
        vocabulary.examples(DIALOGUES),
        Vocabulary.of(DIALOGUES, CHARACTERS).examples(DIALOGUES),
        strict=True,
    ):
        kept, all_words = spelled(example, vocabulary), spelled(whole, vocabulary)
        assert kept == all_words[-5:]
        assert all(len(words) == 1 for words in example.values.values())


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("北京", ["北京"]),
        ("京饭", []),  # not at the borders of words
        ("饭店", ["饭", "店"]),  # the last place counts
        ("店北京", []),  # of two utterances
        ("无", []),
    ],
)
def test_values_are_found_in_the_words_of_a_history(value: str, words: list[str]) -> None:
    assert Text([USER, "北京", "饭店", SYSTEM, "饭", "店", USER, "北京"]).words_of(value) == words


def test_words_of_values_are_known_and_rare_words_of_utterances_are_not() -> None:
    vocabulary = Vocabulary.of(DIALOGUES, CHARACTERS)
    values = {
        character
        for dialogue in DIALOGUES
        for exchange in dialogue.exchanges
        for value in filled(exchange.system.first_query).values()
        for character in value
    }
    assert values <= set(vocabulary.words)
    assert "荐" in vocabulary.words  # twice
    assert "气" in values
    assert "您" not in vocabulary.words  # once
    assert list(vocabulary.words) == sorted(set(vocabulary.words))


@pytest.mark.parametrize("words", [None, "ab", ["a", 1], ["a", "a"], ["a", ""]])
def test_a_list_that_is_no_vocabulary_is_refused(words: object) -> None:
    with pytest.raises(ShapeError):
        Vocabulary.checked(words, WORDS)


PAPER = {
    **{"total": 36.08, "S": 71.67, "M": 45.29, "M+T": 37.98, "CM": 30.77, "CM+T": 25.65},
    "Select turns": 12.0,
}
"""TRADE in Table 8."""


@pytest.mark.integration
def test_the_papers_figures_are_counts_of_all_test_turns() -> None:
    """Each is a whole number of turns of its type, and together they are the paper's total."""
    turns = Counter(
        scope
        for dialogue in fold().dialogues.values()
        for exchange in dialogue.exchanges
        for scope in ("total", *turn_scopes(dialogue, exchange))
    )
    right = {scope: round(turns[scope] * printed / 100) for scope, printed in PAPER.items()}
    for scope, printed in PAPER.items():
        assert 100 * right[scope] / turns[scope] == pytest.approx(printed, abs=0.005)
    assert sum(right[scope] for scope in TYPE_SCOPES) == right["total"] == 1529
