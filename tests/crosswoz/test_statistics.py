"""Tables 6 and 7 of the paper, as recomputed with the golden figures; task descriptions."""

from __future__ import annotations

import pytest

from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import goal_from_json
from mwzeval.crosswoz.corpus.statistics import corpus_statistics, statistics_text
from mwzeval.crosswoz.simulation.goals import GoalGenerator
from mwzeval.crosswoz.simulation.protocols import RandomDraws
from mwzeval.crosswoz.simulation.task_descriptions import task_description
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


def test_the_table_for_reading_has_a_column_a_goal_type() -> None:
    text = statistics_text(corpus_statistics(fold().dialogues.values()))
    head, *lines = text.splitlines()
    assert head.split() == ["all", "S", "M", "M+T", "CM", "CM+T"]
    assert [line.split()[0] for line in lines] == list(NAMES)
    assert lines[0].split()[1:] == ["500", "35", "157", "84", "166", "58"]


def test_a_task_description_says_all_of_a_goal() -> None:
    goal = goal_from_json(
        [
            [1, "餐馆", "推荐菜", ["烤鸭", "面"], False],
            [1, "餐馆", "名称", "", False],
            [1, "餐馆", "周边酒店", [], False],
            [2, "酒店", "名称", "出现在id=1的周边酒店里", False],
            [2, "酒店", "酒店设施-泳池", "是", False],
            [2, "酒店", "酒店设施-wifi", "", False],
            [3, "出租", "出发地", "id=1", False],
            [3, "出租", "目的地", "id=2", False],
            [3, "出租", "车型", "", False],
        ]
    )
    assert task_description(goal) == (
        "第1步：请找一家餐馆，要吃到烤鸭和面。需要问清：它的名称、有哪些周边酒店。",
        "第2步：请找一家酒店，要在第1步选定的地方附近，必须提供泳池。需要问清：是否提供wifi。",
        "第3步：请叫一辆出租车，从第1步选定的地方出发，到第2步选定的地方去。需要问清：它的车型。",
    )


def test_generated_goals_are_described_sub_goal_by_sub_goal() -> None:
    generator = GoalGenerator(Database(fold().tables))
    for seed in range(50):
        goal = generator.goal(RandomDraws(seed))
        texts = task_description(goal)
        assert len(texts) == goal[-1].subgoal
        for line in goal:
            text = texts[line.subgoal - 1]
            assert "id=" not in text
            if isinstance(line.value, str) and line.value and not line.refers:
                assert line.value in text or line.value == "是"
            if not line.value:
                assert line.slot.split("-", 1)[-1] in text
