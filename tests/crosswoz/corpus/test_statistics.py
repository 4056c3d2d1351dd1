"""Tables 6 and 7 of the paper, as recomputed with the golden figures."""

from __future__ import annotations

import pytest

from mwzeval.crosswoz.corpus.statistics import corpus_statistics, statistics_text
from tests.crosswoz.real_data import figures, fold

NAMES = {
    "dialogues": "dialogues",
    "turns": "turns",
    "tokens": "tokens_jieba",
    "vocabulary": "vocab_jieba",
    "subgoals": "avg_subgoals",
    "semantic_tuples": "avg_sts_goal",
    "turns_a_dialogue": "avg_turns",
    "tokens_a_turn": "avg_tokens_jieba",
    "acts_a_turn": "avg_acts",
    "no_offer_rate": "nooffer_rate",
    "multi_query_rate": "multi_query_nosel",
    "goal_change_rate": "goal_change_rate",
}


@pytest.mark.parametrize("name", ["val", "test"])
@pytest.mark.exhaustive(but=1)
def test_statistics_are_the_golden_ones(name: str) -> None:
    golden = figures()["corpus_statistics"][name]
    found = corpus_statistics(fold(name).dialogues.values())
    assert set(found) == set(golden)
    for scope, of_scope in found.items():
        for ours, theirs in NAMES.items():
            value = getattr(of_scope, ours)
            assert value == pytest.approx(golden[scope][theirs], abs=1e-12), (scope, ours)


@pytest.mark.exhaustive
def test_the_table_for_reading_has_a_column_a_goal_type() -> None:
    text = statistics_text(corpus_statistics(fold().dialogues.values()))
    head, *lines = text.splitlines()
    assert head.split() == ["all", "S", "M", "M+T", "CM", "CM+T"]
    assert [line.split()[0] for line in lines] == list(NAMES)
    assert lines[0].split()[1:] == ["500", "35", "157", "84", "166", "58"]
