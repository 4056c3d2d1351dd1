"""Dialogues as numbers, and joint accuracy as the public code may be read."""

from __future__ import annotations

import copy
import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from mwzeval.crosswoz.corpus.dialogues import Dialogue, dialogue_from_json
from mwzeval.crosswoz.corpus.file_shapes import ShapeError
from mwzeval.crosswoz.predictions.reading import Predicted
from mwzeval.crosswoz.scoring.baselines import gold_exchanges, sparse
from mwzeval.crosswoz.scoring.scopes import TYPE_SCOPES, turn_scopes
from mwzeval.crosswoz.scoring.state_scores import StateScores
from mwzeval.crosswoz.trade.conventions import CONVENTIONS, accuracies_document, joint_accuracies
from mwzeval.crosswoz.trade.examples import (
    SLOTS,
    SPECIAL,
    SYSTEM,
    UNKNOWN,
    USER,
    Example,
    Text,
    TradeSettings,
    Vocabulary,
    filled,
)
from mwzeval.scores.sheets import to_text
from tests.crosswoz.real_data import fold
from tests.crosswoz.small_world import DEPENDENT, small_gold

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
        examples = list(vocabulary.examples([dialogue], 40))
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
    vocabulary = Vocabulary(("a", "b"), characters=True, longest_history=100)
    dialogue = DIALOGUES[1]  # "有暖气的酒店？什么类型？", 酒店设施: 暖气, 酒店类型: 经济
    (example,) = vocabulary.examples([dialogue], 40)
    assert example.unknown == tuple(dict.fromkeys("有暖气的酒店？什么类型？"))
    size = SPECIAL + 2
    assert example.words.tolist()[:4] == [USER, size, size + 1, size + 2]
    assert example.values[SLOTS.index(("酒店", "酒店设施"))] == (size + 1, size + 2)
    assert example.values[SLOTS.index(("酒店", "酒店类型"))] == (UNKNOWN, UNKNOWN)


def test_only_the_last_words_and_the_first_of_values_are_kept() -> None:
    short = TradeSettings(characters=True, longest_history=5)
    vocabulary = Vocabulary.of(DIALOGUES, short)
    for example, whole in zip(
        vocabulary.examples(DIALOGUES, 1),
        Vocabulary.of(DIALOGUES, CHARACTERS).examples(DIALOGUES, 40),
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


def test_settings_are_part_of_a_vocabulary() -> None:
    settings = replace(CHARACTERS, longest_history=7)
    vocabulary = Vocabulary.checked(["a"], settings)
    assert (vocabulary.characters, vocabulary.longest_history) == (True, 7)


FIRST, NO_BLANKS, TEN_WORDS, NO_SERVICES, LAST, PUBLIC, LAST_TURN = (
    each.label for each in CONVENTIONS
)
BY_NAME = small_gold().fold.dialogues
PAPER = {
    **{"total": 36.08, "S": 71.67, "M": 45.29, "M+T": 37.98, "CM": 30.77, "CM+T": 25.65},
    "Select turns": 12.0,
}
"""TRADE in Table 8."""


def gold() -> dict[str, list[Predicted]]:
    return {name: list(gold_exchanges(of)) for name, of in BY_NAME.items()}


def accuracies(predicted: dict[str, Any]) -> dict[str, float]:
    return {label: of["total"] for label, of in joint_accuracies(BY_NAME, predicted).items()}


def test_gold_is_right_but_for_relaxed_queries_and_services() -> None:
    """Of five turns one has services, and its first query is not the last."""
    by_type = joint_accuracies(BY_NAME, gold())
    assert {label: of["total"] for label, of in by_type.items()} == {
        FIRST: 100,
        NO_BLANKS: 100,
        TEN_WORDS: 100,
        NO_SERVICES: 80,
        LAST: 80,
        PUBLIC: 80,
        LAST_TURN: 100,
    }
    assert by_type[LAST] == {"total": 80, "S": 0, "CM": 100, "Select turns": 100}


def test_blanks_matter_to_the_letter_alone() -> None:
    predicted = gold()
    state = copy.deepcopy(predicted["1"][0].state)
    assert state is not None
    state["景点"]["门票"] = "免 费"
    predicted["1"][0] = Predicted(state=state)
    assert accuracies(predicted) == {
        FIRST: 80,
        NO_BLANKS: 100,
        TEN_WORDS: 80,
        NO_SERVICES: 60,
        LAST: 60,
        PUBLIC: 60,
        LAST_TURN: 100,
    }


@pytest.mark.parametrize(
    ("name", "is_right"),
    [
        ("一 二 三 四 五 六 七 八 九 十", True),  # ten words, and blanks, which are none
        ("一 二 三 四 五 六 七 八 九 十 小园", False),
    ],
)
def test_the_eleventh_word_of_a_value_is_lost(name: str, is_right: bool) -> None:
    plain = json.loads(json.dumps(DEPENDENT, ensure_ascii=False).replace("小园", name))
    dialogue = dialogue_from_json("1", plain)
    found = joint_accuracies({"1": dialogue}, {"1": list(gold_exchanges(dialogue))})
    assert found[FIRST]["total"] == 100
    for label in (TEN_WORDS, PUBLIC):
        assert found[label]["total"] == (100 if is_right else 50)


def test_the_last_turn_alone_is_that_of_each_dialogue() -> None:
    predicted = gold()
    predicted["1"][-1] = Predicted(state={})
    found = joint_accuracies(BY_NAME, predicted)
    assert found[FIRST]["total"] == 80
    assert found[LAST_TURN] == {"total": 50, "S": 100, "CM": 0}


def test_dialogues_that_are_not_predicted_do_not_count() -> None:
    predicted = {"1": gold()["1"]}
    assert accuracies(predicted) == dict.fromkeys((each.label for each in CONVENTIONS), 100)
    assert "S" not in joint_accuracies(BY_NAME, predicted)[FIRST]


def test_a_table_has_a_line_a_convention() -> None:
    lines = to_text(accuracies_document(joint_accuracies(BY_NAME, gold()))).splitlines()
    assert lines[0].split() == ["total", "S", "CM", "Select", "turns"]
    assert lines[1].startswith(FIRST)
    assert lines[5].split()[-4:] == ["80.00", "0.00", "100.00", "100.00"]
    assert lines[7].split()[-4:] == ["100.00", "100.00", "100.00", "–"]


@pytest.mark.integration
def test_services_bound_the_public_slots_on_the_test_fold() -> None:
    """In 30.2 % of all turns the state has services, which 38 slots of one embedding cannot say."""
    dialogues = fold().dialogues
    predicted = {name: gold_exchanges(of) for name, of in dialogues.items()}
    found = joint_accuracies(dialogues, predicted)
    assert found[FIRST]["total"] == 100
    assert found[LAST]["total"] == pytest.approx(89.5, abs=0.05)
    assert found[NO_SERVICES]["total"] == pytest.approx(69.80, abs=0.005)
    assert found[NO_SERVICES]["S"] == pytest.approx(95.0)
    assert found[NO_SERVICES]["CM+T"] == pytest.approx(60.39, abs=0.005)
    assert found[TEN_WORDS]["total"] == pytest.approx(98.21, abs=0.005)


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


@pytest.mark.integration
def test_the_first_convention_is_the_score() -> None:
    """Row by row, with the previous turn's gold state as the prediction."""
    dialogues = fold("val").dialogues
    scores = StateScores("predicted_history")
    right = turns = 0.0
    predicted = {}
    for name, dialogue in dialogues.items():
        before = [Predicted(state={}), *gold_exchanges(dialogue)[:-1]]
        predicted[name] = before
        row = scores.row(dialogue, before)
        right, turns = right + row.get("dst.strict@total", 0), turns + row["dst.turns@total"]
    assert joint_accuracies(dialogues, predicted)[FIRST]["total"] == 100 * right / turns
